/**
 * `npm run bench:crash`: kills the service with SIGKILL until it has been killed so many times, and
 * prints what was lost, invented, out of order or sent twice.
 *
 *   npm run bench:crash -- [--kills 200] [--per-round 25] [--seed 1234]
 *
 * Round after round, each with a database and a load of its own, at random: API and sender, two
 * dispatchers, and the database as a whole. A round in which something did not die or nothing was
 * done proves nothing and is not counted. Ends with 1 unless every promise was kept and the number
 * was reached; a round that is not green leaves its logs. Ctrl-C ends all and leaves nothing.
 */
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { randomNemesis } from './nemeses.ts'
import { type Report, type Rule, rules } from './report.ts'
import { runRound } from './run-round.ts'

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '200' },
    'per-round': { type: 'string', default: '25' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1e9)) },
  },
})
const killsWanted = Number(values.kills)
const perRound = Number(values['per-round'])
const firstSeed = Number(values.seed)
/** Void rounds may be made up for, not without end. */
const roundsMax = 2 * Math.ceil(killsWanted / perRound)

type Column = (report: Report) => number | string
const count =
  (name: string): Column =>
  (report) =>
    report.counts[name] ?? 0
const broken =
  (...names: readonly Rule[]): Column =>
  (report) =>
    report.violations.filter(({ rule }) => names.includes(rule)).length
const counted: readonly Rule[] = ['I1.lost', 'I5.unacknowledged', 'I5.invented', 'I6.sorted']
const others = (Object.keys(rules) as Rule[]).filter((rule) => !counted.includes(rule))

const columns: Readonly<Record<string, Column>> = {
  api: count('apiKills'),
  sender: count('senderKills'),
  'dispatch.': count('dispatcherKills'),
  database: count('databaseKills'),
  mails: count('recipients'),
  events: count('events'),
  requests: count('requests'),
  divided: count('dividedDeliveries'),
  poison: count('poisonEvents'),
  'dup.mails': count('extraCopies'),
  'dup.requ.': count('duplicateRequests'),
  'dup.events': count('duplicateEvents'),
  lost: broken('I1.lost', 'I5.unacknowledged'),
  invented: broken('I5.invented'),
  unsorted: broken('I6.sorted'),
  other: broken(...others),
}
const killColumns = ['api', 'sender', 'dispatch.', 'database']

const say = (line: string): void => {
  process.stdout.write(`${line}\n`)
}
const row = (first: string, cells: readonly (number | string)[]): string =>
  [first.padEnd(16), ...cells.map((cell) => String(cell).padStart(10))].join('')

const parent = mkdtempSync(join(tmpdir(), 'postrider-kills-'))
// PostgreSQL runs as another user where this runs as root.
chmodSync(parent, 0o711)
let isInterrupted = false
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    // The same Ctrl-C may come twice, from the terminal and through npm.
    if (isInterrupted) return
    isInterrupted = true
    // After the processes, which end with this one: what is registered last is done last.
    process.once('exit', removeAll)
    process.exit(130)
  })
}

/** Processes that have been told to end may still be writing; not every failure is thrown. */
function removeAll(): void {
  for (let tries = 0; tries < 50 && existsSync(parent); tries += 1) {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100)
    rmSync(parent, { recursive: true, force: true, maxRetries: 1 })
  }
}

const totals = new Map<string, number>()
let kills = 0
let redRounds = 0
let voidRounds = 0
say(`kills by SIGKILL, until there are ${killsWanted}; first seed ${firstSeed}`)
say(row('round', Object.keys(columns)))
for (let round = 0; round < roundsMax && kills < killsWanted; round += 1) {
  const seed = firstSeed + round
  const { report, directory } = await runRound({ seed, nemesis: randomNemesis(perRound), parent })
  const cells = Object.entries(columns).map(([name, read]) => [name, Number(read(report))] as const)
  say(
    row(
      `${seed} ${report.verdict}`,
      cells.map(([, value]) => value),
    ),
  )
  for (const reason of report.voidBecause) say(`  void: ${reason}`)
  for (const { rule, detail } of report.violations.slice(0, 10)) {
    say(`  ${rule} (${rules[rule]}): ${detail}`)
  }
  if (report.verdict !== 'green') say(`  its logs: ${directory}`)
  if (report.verdict === 'void') voidRounds += 1
  if (report.verdict === 'red') redRounds += 1
  if (report.verdict === 'void') continue
  for (const [name, value] of cells) totals.set(name, (totals.get(name) ?? 0) + value)
  kills = killColumns.reduce((sum, name) => sum + (totals.get(name) ?? 0), 0)
}
say(
  row(
    'all',
    Object.keys(columns).map((name) => totals.get(name) ?? 0),
  ),
)
say(`${kills} kills, ${redRounds} rounds red, ${voidRounds} void`)
if (readdirSync(parent).length === 0) rmSync(parent, { recursive: true })
process.exitCode = redRounds === 0 && kills >= killsWanted ? 0 : 1
