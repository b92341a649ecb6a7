import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

/**
 * Three tiers, told apart by the name of the file:
 * - `*.test.ts` needs neither database nor process of its own. Many such files share one process, so a
 *   file must leave nothing behind: no variable of the environment, no fake clock. (Threads would start
 *   faster, but a thread has no time zone and no working directory of its own.)
 * - `*.db.test.ts` needs PostgreSQL, which the global set-up starts once for a run.
 * - `*.slow.test.ts`, and all of `e2e/`, starts processes or mail servers, or takes long.
 */
const roots = 'packages/*/{src,test}/**'
const common = {
  testTimeout: 30_000,
  hookTimeout: 60_000,
  expect: { poll: { interval: 10, timeout: 20_000 } },
}
const withDatabase = {
  ...common,
  pool: 'forks' as const,
  globalSetup: ['packages/server/test/global-setup.ts'],
}

export default defineConfig({
  test: {
    maxWorkers: availableParallelism(),
    projects: [
      {
        test: {
          ...common,
          name: 'unit',
          include: [`${roots}/*.test.ts`, 'scripts/**/*.test.ts'],
          exclude: ['**/*.{db,slow}.test.ts', '**/node_modules/**'],
          pool: 'forks',
          isolate: false,
        },
      },
      { test: { ...withDatabase, name: 'database', include: [`${roots}/*.db.test.ts`] } },
      {
        test: {
          ...withDatabase,
          name: 'slow',
          include: [`${roots}/*.slow.test.ts`, 'scripts/**/*.slow.test.ts', 'e2e/**/*.test.ts'],
        },
      },
    ],
  },
})
