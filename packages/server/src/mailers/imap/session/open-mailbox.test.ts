import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { createImapServer, type ImapServer } from '@postrider/testkit'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { createEgress, type Egress } from '../../../platform/egress/index.ts'
import { refusalOfImap } from '../configure/refuse-login.ts'
import { type MailboxLogin, openMailbox } from './open-mailbox.ts'

let imap: ImapServer
let egress: Egress
beforeAll(async () => {
  imap = await createImapServer()
  egress = createEgress({ allowNetworks: ['127.0.0.0/8'] })
})
afterEach(() => imap.setScript(undefined))
afterAll(async () => {
  await imap.close()
  await egress.close()
})

const login = (): MailboxLogin => ({
  host: '127.0.0.1',
  port: imap.port,
  secure: 'Auto',
  tlsVerify: true,
  username: 'ada',
  password: 'canary',
})

async function messageOf(): Promise<string> {
  const opened = await openMailbox({ egress }, login(), { timeoutMs: 1_000 })
  if (opened.ok) throw new Error('it was opened')
  return refusalOfImap(opened.failure).message
}

it('[contract 3.3] says whether a silent port may be a TLS port', async () => {
  imap.setScript(({ command }) => (command === 'GREETING' ? 'hang' : undefined))
  expect(await messageOf()).toBe('Connected, but no IMAP greeting came: is this a TLS port?')
})

it('[B9] does not suspect a TLS port when a server has greeted', async () => {
  imap.setScript(({ command }) => (command === 'GREETING' ? undefined : 'hang'))
  expect(await messageOf()).toBe('Could not connect to the mail server')
})

it('[E1] reports a connection without a file descriptor as not tried', async () => {
  const fixture = fileURLToPath(new URL('./descriptors.fixture.ts', import.meta.url))
  const server = await createImapServer({ auth: { users: { ada: 'right' } } })
  const command = `ulimit -n 100; exec "${process.execPath}" "${fixture}" ${server.port}`
  const child = spawn('bash', ['-c', command], { stdio: ['ignore', 'pipe', 'pipe'] })
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)])
  await server.close()
  expect(err).toBe('')
  expect(JSON.parse(out)).toEqual({
    before: 'opened',
    without: 'busy',
    after: 'opened',
    noted: 1,
  })
})
