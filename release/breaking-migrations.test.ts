/** The migrations of this repository, beside those that release.slow.test.ts scripts. */
import { expect, it } from 'vitest'
import { migrationProblems } from './breaking-migrations.ts'

it('breaking migrations are marked and named in CHANGELOG.md, and released ones are as they were', () => {
  expect(migrationProblems(new URL('../', import.meta.url).pathname)).toEqual([])
})
