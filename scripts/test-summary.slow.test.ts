import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))
const script = join(root, 'scripts/test-summary.mjs')

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'postrider-summary-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

type Outcome = 'passed' | 'failed' | 'skipped'
interface Suite {
  readonly file: string
  readonly tests: readonly (readonly [name: string, status: Outcome, message?: string])[]
  /** It failed to load. */
  readonly isBroken?: boolean
}

let written = 0
/** The path of a report as vitest writes it. */
function writeReport(suites: readonly Suite[], o: { readonly success?: boolean } = {}): string {
  const path = join(folder, `${++written}.json`)
  const hasFailed = ({ tests, isBroken }: Suite) =>
    isBroken === true || tests.some(([, status]) => status === 'failed')
  const report = {
    success: o.success ?? !suites.some(hasFailed),
    testResults: suites.map((suite) => ({
      name: join(root, suite.file),
      status: hasFailed(suite) ? 'failed' : 'passed',
      message: suite.isBroken === true ? 'cannot be loaded' : '',
      assertionResults: suite.tests.map(([fullName, status, message]) => ({
        fullName,
        status,
        failureMessages: message === undefined ? [] : [message],
      })),
    })),
  }
  writeFileSync(path, JSON.stringify(report))
  return path
}

function summarise(...args: readonly string[]) {
  const { status, stdout } = spawnSync(process.execPath, [script, ...args], { cwd: root })
  const lines = stdout.toString().trim().split('\n')
  return { status, lines, closing: lines.at(-1) }
}

const NONE = '/nonexistent/report.json'
const failing = (file: string, message = 'after 60000 ms: two are missing'): Suite => ({
  file,
  tests: [
    ['arrives', 'failed', message],
    ['is told', 'passed'],
  ],
})
const passing = (file: string): Suite => ({
  file,
  tests: [
    ['arrives', 'passed'],
    ['is told', 'passed'],
  ],
})

describe('the closing line of a CI run', () => {
  it('counts what passed', () => {
    const report = writeReport([passing('a.test.ts')])
    expect(summarise(report, NONE)).toMatchObject({ status: 0, closing: '2 passed, 0 failed' })
  })

  it.each([
    ['the packed packages', '(packed)', (file: string) => [file]],
    ['the release', '(release)', (file: string) => [writeReport([passing('a.test.ts')]), file]],
  ])('counts the tests of %s, which have no second try', (_, prefix, reports) => {
    const [report, again] = [
      writeReport([passing('a.test.ts')]),
      writeReport([passing('a.test.ts')]),
    ]
    const soak = join(folder, 'soak.json')
    writeFileSync(soak, JSON.stringify({ passed: 1, failed: 0 }))
    const before = 2 * reports('').length
    const sound = summarise(report, NONE, soak, ...reports(writeReport([passing('a.test.ts')])))
    expect(sound).toMatchObject({ status: 0, closing: `${before + 2} passed, 0 failed` })
    const failed = summarise(report, again, soak, ...reports(writeReport([failing('a.test.ts')])))
    expect(failed).toMatchObject({ status: 1, closing: `${before + 1} passed, 1 failed` })
    expect(failed.lines).toContain(`failed: ${prefix}/a.test.ts: arrives`)
    const absent = summarise(report, again, soak, ...reports(NONE))
    expect(absent).toMatchObject({ status: 1, closing: `${before} passed, 1 failed` })
  })

  it('fails and names the test when there was no second try', () => {
    const { status, lines, closing } = summarise(writeReport([failing('a.test.ts')]), NONE)
    expect({ status, closing }).toEqual({ status: 1, closing: '1 passed, 1 failed' })
    expect(lines).toContain('failed: a.test.ts: arrives')
    expect(lines).toContain('  after 60000 ms: two are missing')
  })

  it('passes and names the test when its file passed at the second try', () => {
    const first = writeReport([failing('a.test.ts'), passing('b.test.ts')])
    const { status, lines, closing } = summarise(first, writeReport([passing('a.test.ts')]))
    expect(status).toBe(0)
    expect(closing).toBe('4 passed, 0 failed')
    expect(lines).toContain('passed at the second try only: a.test.ts: arrives')
  })

  it('fails when another test of the file failed at the second try', () => {
    const again: Suite = {
      file: 'a.test.ts',
      tests: [
        ['arrives', 'passed'],
        ['is told', 'failed'],
      ],
    }
    const { status } = summarise(writeReport([failing('a.test.ts')]), writeReport([again]))
    expect(status).toBe(1)
  })

  it('fails when the second try left out a file', () => {
    const first = writeReport([failing('a.test.ts'), failing('b.test.ts')])
    expect(summarise(first, writeReport([passing('a.test.ts')]))).toMatchObject({
      status: 1,
      closing: '3 passed, 1 failed',
    })
  })

  it.each([
    ['a test was skipped', { file: 'a.test.ts', tests: [['waits', 'skipped']] } as const],
    ['a file failed to load', { file: 'a.test.ts', tests: [], isBroken: true } as const],
  ])('fails when %s', (_title, suite) => {
    expect(summarise(writeReport([suite, passing('b.test.ts')]), NONE).status).toBe(1)
  })

  it('fails when the run failed although no test did', () => {
    const report = writeReport([passing('a.test.ts')], { success: false })
    expect(summarise(report, NONE).status).toBe(1)
  })

  it('fails without a report, and when nothing was run', () => {
    expect(summarise(NONE, NONE).status).toBe(1)
    expect(summarise(writeReport([]), NONE).status).toBe(1)
  })

  it('counts what the soak run found', () => {
    const soak = join(folder, 'soak.json')
    const report = writeReport([passing('a.test.ts')])
    writeFileSync(soak, JSON.stringify({ passed: 10, failed: 0 }))
    expect(summarise(report, NONE, soak).status).toBe(0)
    writeFileSync(soak, JSON.stringify({ passed: 10, failed: 2 }))
    expect(summarise(report, NONE, soak).closing).toBe('2 passed, 2 failed')
    writeFileSync(soak, JSON.stringify({ passed: 0, failed: 0 }))
    expect(summarise(report, NONE, soak).status).toBe(1)
    expect(summarise(report, NONE, NONE).status).toBe(1)
  })
})

describe('a second try', () => {
  const again = (suites: readonly Suite[]) =>
    summarise('--again', writeReport(suites)).lines.filter((line) => line !== '')

  it('is for the files of failed tests', () => {
    const suites = [failing('a.test.ts'), passing('b.test.ts'), failing('e2e/c.test.ts')]
    expect(again(suites)).toEqual(['a.test.ts', 'e2e/c.test.ts'])
  })

  it.each([
    ['kills', failing('e2e/crash/kills.test.ts')],
    ['faults', failing('e2e/faults/hits.test.ts')],
    ['properties', failing('a.test.ts', 'Error: Property failed after 17 tests')],
  ])('is not for %s', (_title, suite) => {
    expect(again([suite, failing('b.test.ts')])).toEqual([])
    const second = writeReport([passing(suite.file)])
    expect(summarise(writeReport([suite]), second).status).toBe(1)
  })

  it('is not given when many failed', () => {
    const many = Array.from({ length: 6 }, (_, i) => failing(`${i}.test.ts`))
    expect(again(many)).toEqual([])
  })
})
