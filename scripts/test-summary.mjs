/**
 * The closing line of a CI run, from vitest's JSON report: `N passed, N failed`. Fails when a test
 * failed, when one was skipped (CI has all that the tests need), and when there was none. The second
 * argument is the report of a soak run, `{ passed, failed }`; each of its findings is a failure.
 */
import { existsSync, readFileSync } from 'node:fs'

const [file, soakFile] = process.argv.slice(2)
if (!file || !existsSync(file)) {
  console.error('The tests ended without a report.')
  process.exit(1)
}

const report = JSON.parse(readFileSync(file, 'utf8'))
const tests = report.testResults.flatMap((suite) =>
  suite.assertionResults.map((test) => ({ suite: suite.name, ...test })),
)
const passed = tests.filter((test) => test.status === 'passed')
const failed = tests.filter((test) => test.status === 'failed')
const skipped = tests.filter((test) => !['passed', 'failed'].includes(test.status))
/** A file that failed to load, or whose set-up failed, has no failed test of its own. */
const broken = report.testResults.filter(
  (suite) =>
    suite.status === 'failed' && !suite.assertionResults.some((test) => test.status === 'failed'),
)

for (const test of [...failed, ...skipped]) {
  console.log(`${test.status}: ${test.suite}: ${test.fullName}`)
}
for (const suite of broken) console.log(`failed to run: ${suite.name}: ${suite.message}`)

const failures = failed.length + broken.length + soakFailures(soakFile)
const closing = `${passed.length} passed, ${failures} failed`
console.log(`\n${closing}${skipped.length > 0 ? `, ${skipped.length} skipped` : ''}`)
process.exitCode = failures + skipped.length > 0 || passed.length === 0 || !report.success ? 1 : 0

/** The run counts as one test that failed when it left no report, or tried nothing. */
function soakFailures(soak) {
  if (soak === undefined) return 0
  if (!existsSync(soak)) {
    console.log('failed to run: the soak run left no report')
    return 1
  }
  const { passed: tried, failed: found } = JSON.parse(readFileSync(soak, 'utf8'))
  console.log(`soak run: ${tried} passed, ${found} failed`)
  return tried === 0 ? Math.max(1, found) : found
}
