/**
 * The closing line of a CI run, from vitest's JSON reports: `N passed, N failed`, alone on its line. Fails when a test
 * failed, when one was skipped (CI has all that the tests need), and when there was none.
 *
 * Arguments: the report of all tests; the report of the second try, if there was one; the report of a
 * soak run, `{ passed, failed }`, of which each finding is a failure; the report of the tests of the packed
 * packages, and that of the tests of the release, which have no second try. With `--again REPORT`: the files that deserve a second try, one a
 * line (docs/testing.md#a-second-try).
 */
import { existsSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'

/** More failures than this are no accident. */
const AGAIN_MAX = 5
/** Characters. */
const REASON_MAX = 500
/** A failed property has found an input; kills and faults are about what is lost when the time is bad. */
const NO_SECOND_TRY = /^e2e\/(?:crash|faults)\//
const FOUND_INPUT = /Property failed after/
const PACKED = '(packed)'
const RELEASE = '(release)'

if (process.argv[2] === '--again') printAgain(process.argv[3])
else summarise(process.argv.slice(2))

function printAgain(file) {
  if (!existsSync(file)) return
  const failed = failedOf(read(file))
  const files = [...new Set(failed.map(({ file }) => file))]
  if (failed.length > AGAIN_MAX || !failed.every(deservesSecondTry)) return
  for (const name of files) console.log(name)
}

function summarise([file, againFile, soakFile, packedFile, releaseFile]) {
  if (!file || !existsSync(file)) {
    console.error('The tests ended without a report.')
    process.exit(1)
  }
  const packed = withOther(read(file), packedFile, PACKED)
  const report = withOther(packed, releaseFile, RELEASE)
  const tests = testsOf(report)
  const skipped = tests.filter(({ status }) => !['passed', 'failed'].includes(status))
  const secondTry = againFile && existsSync(againFile) ? read(againFile) : undefined
  const [unsteady, failed] = divide(failedOf(report), (test) => passedAlone(test, secondTry))
  for (const test of failed) console.log(`failed: ${test.file}: ${test.name}${reasonOf(test)}`)
  for (const test of skipped) console.log(`${test.status}: ${test.file}: ${test.name}`)
  for (const test of unsteady)
    console.log(`passed at the second try only: ${test.file}: ${test.name}${reasonOf(test)}`)
  const passed = tests.filter(({ status }) => status === 'passed').length + unsteady.length
  const failures = failed.length + soakFailures(soakFile)
  const closing = `${passed} passed, ${failures} failed`
  console.log(`\n${closing}${skipped.length > 0 ? `, ${skipped.length} skipped` : ''}`)
  const isRefused = failures + skipped.length > 0 || passed === 0
  // A run may fail without a failed test, for example by an error that nobody caught.
  const isBroken = !report.success && failedOf(report).length === 0
  process.exitCode = isRefused || isBroken || secondTry?.success === false ? 1 : 0
}

function read(file) {
  return JSON.parse(readFileSync(file, 'utf8'))
}

/** Run apart, some of the same files: of another name here, since a second try is without them. */
function withOther(report, file, prefix) {
  if (file === undefined) return report
  const missing = [
    { name: process.cwd(), status: 'failed', message: 'left no report', assertionResults: [] },
  ]
  const other = existsSync(file) ? read(file) : { success: false, testResults: missing }
  const renamed = other.testResults.map((suite) => ({
    ...suite,
    name: join(process.cwd(), prefix, relative(process.cwd(), suite.name)),
  }))
  return {
    success: report.success && other.success,
    testResults: [...report.testResults, ...renamed],
  }
}

function testsOf(report) {
  return report.testResults.flatMap((suite) =>
    suite.assertionResults.map((test) => ({
      file: relative(process.cwd(), suite.name),
      name: test.fullName,
      status: test.status,
      messages: test.failureMessages ?? [],
    })),
  )
}

/** With the files that failed to load, or whose set-up failed: they have no failed test of their own. */
function failedOf(report) {
  const tests = testsOf(report).filter(({ status }) => status === 'failed')
  const files = new Set(tests.map(({ file }) => file))
  const broken = report.testResults
    .map((suite) => ({ ...suite, file: relative(process.cwd(), suite.name) }))
    .filter(({ status, file }) => status === 'failed' && !files.has(file))
    .map(({ file, message }) => ({ file, name: '(the file)', messages: [String(message)] }))
  return [...tests, ...broken]
}

function deservesSecondTry({ file, messages }) {
  return (
    !NO_SECOND_TRY.test(file) &&
    !file.startsWith(PACKED) &&
    !file.startsWith(RELEASE) &&
    !messages.some((text) => FOUND_INPUT.test(text))
  )
}

function passedAlone(test, secondTry) {
  if (secondTry === undefined || !deservesSecondTry(test)) return false
  const again = testsOf(secondTry).filter(({ file }) => file === test.file)
  return again.length > 0 && again.every(({ status }) => status === 'passed')
}

/** The beginning of its message: an output that somebody cuts still ends with it. */
function reasonOf({ messages }) {
  const text = (messages[0] ?? '').trim().slice(0, REASON_MAX)
  return text === '' ? '' : `\n  ${text.replaceAll('\n', '\n  ')}`
}

function divide(all, fits) {
  return [all.filter(fits), all.filter((one) => !fits(one))]
}

/** The run counts as one test that failed when it left no report, or tried nothing. */
function soakFailures(soak) {
  if (soak === undefined) return 0
  if (!existsSync(soak)) {
    console.log('failed to run: the soak run left no report')
    return 1
  }
  const { passed: tried, failed: found } = read(soak)
  console.log(`soak run: ${tried} passed, ${found} failed`)
  return tried === 0 ? Math.max(1, found) : found
}
