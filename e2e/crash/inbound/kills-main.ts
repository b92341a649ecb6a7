/**
 * `npm run bench:crash:inbound`: kills with SIGKILL what receives mail while 2,000 messages arrive by
 * SMTP and in a mailbox, and prints what was lost, invented, changed or reported twice.
 *
 *   npm run bench:crash:inbound -- [--messages 2000] [--pause-ms 400] [--seed 1234]
 *
 * Ends with 1 unless every message was reported once; then its logs are left.
 */
import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { forget, runInboundRound } from './run-round.ts'

const { values } = parseArgs({
  options: {
    messages: { type: 'string', default: '2000' },
    'pause-ms': { type: 'string', default: '400' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1e9)) },
  },
})
const say = (line: string): void => {
  process.stdout.write(`${line}\n`)
}
const parent = mkdtempSync(join(tmpdir(), 'postrider-inbound-kills-'))
// PostgreSQL runs as another user where this runs as root.
chmodSync(parent, 0o711)
say(`${values.messages} messages, seed ${values.seed}`)
const round = await runInboundRound({
  seed: Number(values.seed),
  messages: Number(values.messages),
  pauseMs: Number(values['pause-ms']),
  parent,
})
const { counts, violations } = round.report
const kills = Object.entries(round.kills).map(([name, count]) => `${name} ${count}`)
say(`killed: ${kills.join(', ')}; faults of the IMAP server: ${round.imapFaults}`)
say(`attempts to hand over by SMTP: ${round.attempts}`)
say(
  `to be reported: ${counts.expected}; requests: ${counts.requests}, taken again with the same body: ${counts.repeated}; word of the mailbox's troubles: ${counts.imapErrors}`,
)
say(`lost, invented, changed or reported twice: ${violations.length}`)
for (const violation of violations.slice(0, 20)) say(`  ${violation}`)
if (violations.length === 0) forget(round)
else say(`  its logs: ${round.directory}`)
if (readdirSync(parent).length === 0) rmSync(parent, { recursive: true })
process.exitCode = violations.length === 0 ? 0 : 1
