/**
 * The scripted SMTP server as a process of its own, for tests that kill everything around it:
 *
 *   node smtp-server-main.ts --log facts.ndjson [--port n] [--script table.json] [--users users.json]
 *
 * `table.json` is an `SmtpScriptTable`, `users.json` the passwords by name that a login is required
 * with. Every fact is appended to the log before its effect can be
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
    users: { type: 'string' },
  },
})
if (values.log === undefined) throw new Error('--log is required')
const log = openNdjsonLog(values.log)
const readJson = (path: string): unknown => JSON.parse(readFileSync(path, 'utf8'))
const script =
  values.script === undefined ? {} : { script: readJson(values.script) as SmtpScriptTable }
const auth =
  values.users === undefined
    ? {}
    : { auth: { users: readJson(values.users) as Record<string, string> } }

const server = await createSmtpServer({
  port: Number(values.port),
  ...script,
  ...auth,
  onFact: (fact) =>
    log.append(
      fact.fact === 'message.received' ? { ...fact, raw: fact.raw.toString('latin1') } : fact,
    ),
})
log.append({ fact: 'listening', port: server.port })
process.once('SIGTERM', () => void server.close().then(() => log.close()))
process.stdout.write(`listening on ${server.port}\n`)
