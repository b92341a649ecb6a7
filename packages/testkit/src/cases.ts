/**
 * How many cases of a kind a test takes: those that `npm test` has time for, or all of them where ALL_CASES is
 * set, as `npm run test:soak` does for each file that calls it.
 */
export function casesOf(few: number, all: number): number {
  return process.env.ALL_CASES === undefined ? few : all
}
