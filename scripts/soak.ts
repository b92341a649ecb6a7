/**
 * `npm run test:soak`: tests that go on for as long as they are told, from a seed.
 *
 *   npm run test:soak -- [--minutes 10] [--seed 1234] [--only parsers,doors] [--report file]
 *
 * Parts: `parsers` gives hostile input to every parser, `doors` sends it into a running service, `crash`
 * kills a running service and counts what was lost. `cases` runs, for as long as that takes, the tests that have
 * fewer cases in `npm test`, with all of them. All but crash run unless others are named, and
 * share the time; what is found is printed with how to find it again. What it finds becomes an entry of
 * `packages/server/test/bombs/found.fixture.ts`. The report is JSON: `{ passed, failed }`.
 */
import { spawn } from 'node:child_process'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1e9)) },
    only: { type: 'string', default: 'parsers,doors,cases' },
    report: { type: 'string' },
  },
})

interface Part {
  readonly script: string
  args(o: { readonly seconds: number; readonly seed: string }): readonly string[]
  /** How long it may take; its share of the time and a while, unless named. */
  readonly timeoutMs?: number
}

const forSeconds: Part['args'] = ({ seconds, seed }) => [
  '--seconds',
  String(seconds),
  '--seed',
  seed,
]
/** By the functions that choose among cases (`packages/testkit/src/cases.ts`), or among themes of the dashboard. */
const filesWithCases = () =>
  globSync(['packages/*/{src,test}/**/*.test.ts', 'e2e/**/*.test.ts']).filter((file) =>
    /\b(?:casesOf|findBarriers)\(/.test(readFileSync(file, 'utf8')),
  )
const PARTS: Readonly<Record<string, Part>> = {
  parsers: { script: 'packages/server/test/bombs/soak-main.ts', args: forSeconds },
  doors: { script: 'e2e/bombs/soak-main.ts', args: forSeconds },
  cases: {
    script: 'node_modules/vitest/vitest.mjs',
    args: () => ['run', ...filesWithCases()],
    timeoutMs: 3_600_000,
  },
  // About ten kills a minute.
  crash: {
    script: 'e2e/crash/kills-main.ts',
    args: ({ seconds, seed }) => ['--kills', String(Math.ceil(seconds / 6)), '--seed', seed],
  },
}
/** Of the doors, the time to start and to end a service comes on top. */
const GRACE_S = 180

const minutes = Number(values.minutes)
const names = values.only.split(',')
const unknown = names.filter((name) => PARTS[name] === undefined)
if (!(minutes > 0) || unknown.length > 0) {
  const problem =
    unknown.length > 0 ? `no part is called ${unknown.join(', ')}` : 'is not a number of minutes'
  process.stderr.write(
    `${minutes > 0 ? '' : `--minutes ${values.minutes} `}${problem}; parts: ${Object.keys(PARTS).join(', ')}\n`,
  )
  process.exit(2)
}

process.env.ALL_CASES = '1'
const timed = names.filter((name) => PARTS[name]?.timeoutMs === undefined)
const seconds = Math.ceil((minutes * 60) / Math.max(1, timed.length))
process.stdout.write(`soak: ${minutes} minutes, seed ${values.seed}\n`)
const total = { passed: 0, failed: 0 }
for (const name of names) {
  const part = PARTS[name]
  if (part === undefined) continue
  const { passed, failed } = await run(part, seconds)
  process.stdout.write(`soak: ${name}: ${passed} passed, ${failed} failed\n`)
  total.passed += passed
  total.failed += failed
}
process.stdout.write(`soak: ${total.passed} passed, ${total.failed} failed, seed ${values.seed}\n`)
if (values.report !== undefined) writeFileSync(values.report, JSON.stringify(total))
process.exitCode = total.failed === 0 ? 0 : 1

/** A part that says no numbers counts as one. */
async function run(part: Part, partSeconds: number) {
  const args = part.args({ seconds: partSeconds, seed: values.seed })
  const child = spawn(process.execPath, [part.script, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: part.timeoutMs ?? (partSeconds + GRACE_S) * 1_000,
  })
  let last = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    process.stdout.write(text)
    last = (last + text).slice(-2_000)
  })
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve))
  const [, passed, failed] = /\{"passed":(\d+),"failed":(\d+)\}\s*$/.exec(last) ?? []
  if (passed === undefined) return { passed: code === 0 ? 1 : 0, failed: code === 0 ? 0 : 1 }
  return { passed: Number(passed), failed: Math.max(Number(failed), code === 0 ? 0 : 1) }
}
