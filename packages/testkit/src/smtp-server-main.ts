/**
 * The scripted SMTP server as a process of its own, for tests that kill everything around it:
 *
 *   node smtp-server-main.ts --log facts.ndjson [--port n] [--script table.json]
 *
 * `table.json` is an `SmtpScriptTable`. Every fact is appended to the log before its effect can be
 * seen; the bytes of a message stand in it as a Latin-1 string. Prints `listening on <port>`.
 */
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { openNdjsonLog } from './ndjson.ts'
import type { SmtpScriptTable } from './smtp-script.ts'
import { createSmtpServer } from './smtp-server.ts'

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '0' },
    log: { type: 'string' },
    script: { type: 'string' },
  },
})
if (values.log === undefined) throw new Error('--log is required')
const log = openNdjsonLog(values.log)
const script =
  values.script === undefined
    ? {}
    : { script: JSON.parse(readFileSync(values.script, 'utf8')) as SmtpScriptTable }

const server = await createSmtpServer({
  port: Number(values.port),
  ...script,
  onFact: (fact) =>
    log.append(
      fact.fact === 'message.received' ? { ...fact, raw: fact.raw.toString('latin1') } : fact,
    ),
})
log.append({ fact: 'listening', port: server.port })
process.once('SIGTERM', () => void server.close().then(() => log.close()))
process.stdout.write(`listening on ${server.port}\n`)
