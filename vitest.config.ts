import { existsSync, statfsSync } from 'node:fs'
import { availableParallelism, freemem } from 'node:os'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * Three tiers, told apart by the name of the file:
 * - `*.test.ts` needs neither database nor process of its own.
 * - `*.db.test.ts` needs PostgreSQL, which the global set-up starts once for a run.
 * - `*.slow.test.ts`, and all of `e2e/`, starts processes or mail servers, or takes long. Those of `e2e/dashboard/` are
 *   a project of their own: they share browsers and services (e2e/dashboard/house.ts).
 * Those of them that build what is published are a tier of their own, `release` (docs/testing.md#tests-of-a-release).
 *
 * Many files share one process, so a file must leave nothing behind: no variable of the environment, no fake
 * clock, nothing closed that a shared module keeps. (Threads would start faster, but a thread has no time zone and
 * no working directory of its own.)
 */
const roots = 'packages/*/{src,test}/**'
const common = {
  testTimeout: 30_000,
  hookTimeout: 60_000,
  expect: { poll: { interval: 10, timeout: 20_000 } },
  pool: 'forks' as const,
}
const builds = [
  'release/{deb,image,npm}/*.slow.test.ts',
  'release/release.slow.test.ts',
  'site/test/*.slow.test.ts',
  'packages/client/test/package.slow.test.ts',
  'scripts/build-dashboard.slow.test.ts',
]
const globalSetup = ['packages/server/test/global-setup.ts']
const ofProcesses = {
  globalSetup: [...globalSetup, 'packages/server/test/prepare-service.ts'],
  // Processes start, and a busy machine takes its time for that.
  testTimeout: 120_000,
  hookTimeout: 120_000,
  // A look asks a service or a browser, which have the same processor.
  expect: { poll: { interval: 50, timeout: 20_000 } },
}

// Workers, and the services and servers that tests start, load compiled modules instead of compiling them.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(
  new URL('node_modules/.cache/node-compile/', import.meta.url),
)

// A database of the tests has 1,700 files; a disk takes ten times as long to make and drop them. Containers
// give this directory 64 MB, if they are not told otherwise: then the tests use the disk.
const memory = '/dev/shm'
const memoryBytesMin = 6 * 1024 ** 3
if (process.env.TMPDIR === undefined && existsSync(memory)) {
  const { bavail, bsize } = statfsSync(memory)
  if (Math.min(bavail * bsize, freemem()) >= memoryBytesMin) process.env.TMPDIR = memory
}

/**
 * The longest files first: one that starts last is waited for alone. Those of the dashboard come in a row: a process
 * goes on with the next file only if that is of the same project.
 */
const LONGEST = new RegExp(
  [
    '/e2e/(?:crash|bombs|faults)/',
    '/e2e/(?:traces|start|refused-start|send-queue|reference|first-user|inbound)\\.test',
    '/server/test/bombs/',
    '/(?:[a-z]+-plans|find-logs)\\.slow\\.test',
  ].join('|'),
)
const DASHBOARD = 'dashboard'
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId, project }: TestSpecification): number =>
      LONGEST.test(moduleId) ? 0 : project.name === DASHBOARD ? 1 : 2
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b))
  }
}

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    // Tests wait for timers, sockets and PostgreSQL in turn with computing: one more than there are cores.
    maxWorkers: availableParallelism() + 1,
    projects: [
      {
        test: {
          ...common,
          name: 'unit',
          include: [`${roots}/*.test.ts`, '{scripts,release}/**/*.test.ts', 'site/test/*.test.ts'],
          exclude: ['**/*.{db,slow}.test.ts', '**/node_modules/**', 'release/packed/**'],
          isolate: false,
        },
      },
      {
        test: {
          ...common,
          name: 'database',
          include: [`${roots}/*.db.test.ts`],
          globalSetup,
          isolate: false,
        },
      },
      {
        test: {
          ...common,
          name: 'slow',
          include: [
            `${roots}/*.slow.test.ts`,
            '{scripts,release}/**/*.slow.test.ts',
            'bench/*.slow.test.ts',
            'e2e/**/*.test.ts',
          ],
          exclude: ['**/node_modules/**', 'e2e/dashboard/**', ...builds],
          // A process for each took half a second of processor time, and imported the same again.
          isolate: false,
          ...ofProcesses,
          // They wait for leases, deadlines and sweeps: the longest compute for a quarter of their time. So they
          // run after all others, and more at once.
          maxWorkers: availableParallelism() * 2,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          ...common,
          name: DASHBOARD,
          include: ['e2e/dashboard/*.test.ts'],
          ...ofProcesses,
          isolate: false,
          environment: './e2e/dashboard/environment.ts',
        },
      },
      { test: { ...common, name: 'release', include: builds, ...ofProcesses } },
    ],
  },
})
