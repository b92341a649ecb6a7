/** smtp-server alone, offering what the service's listener offers: takes each message, and keeps none. */
import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'
import { serveParent } from './worker.ts'

const pem = (name: string): string =>
  readFileSync(new URL(`../packages/testkit/certs/${name}`, import.meta.url), 'utf8')
const server = new SMTPServer({
  key: pem('localhost.key'),
  cert: pem('localhost.pem'),
  disabledCommands: ['AUTH'],
  authOptional: true,
  size: 25 * 1024 * 1024,
  disableReverseLookup: true,
  logger: false,
  onData(stream, _session, done) {
    stream.on('data', () => undefined)
    stream.on('end', () => done())
  },
})
server.on('error', () => undefined)
const listening = server.listen(0, '127.0.0.1')
await new Promise((resolve) => listening.once('listening', resolve))

serveParent({ port: () => (listening.address() as AddressInfo).port })
