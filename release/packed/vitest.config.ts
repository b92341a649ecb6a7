/**
 * The tests of what is published on npm (`npm run test:packed`): the installed packages themselves, and those
 * end-to-end tests that tell most of how the service starts, reads its files and begins its threads.
 */
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const root = fileURLToPath(new URL('../../', import.meta.url))
const endToEnd = [
  ...['start', 'refused-start', 'first-user', 'restart', 'rotate-secrets', 'main-job', 'content'],
  ...['tracking', 'inbound', 'mailboxes', 'relays', 'reference', 'dashboard/serving'],
]

export default defineConfig({
  root,
  test: {
    include: ['release/packed/**/*.test.ts', ...endToEnd.map((name) => `e2e/${name}.test.ts`)],
    globalSetup: ['packages/server/test/global-setup.ts', 'release/packed/install.ts'],
    pool: 'forks',
    maxWorkers: availableParallelism() + 1,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { interval: 10, timeout: 20_000 } },
  },
})
