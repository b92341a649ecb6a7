/**
 * OpenSMTPD, as Debian builds it: queue, control socket and the folder it locks itself into are fixed
 * at /var/spool/smtpd, /var/run/smtpd.sock and /var/lib/opensmtpd/empty, so that there is one of it
 * on a machine; it needs the users opensmtpd and opensmtpq. Without STARTTLS: its private keys are kept by
 * a process of its own, which does not work with OpenSSL 3.
 */
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findFreePort } from '../free-port.ts'
import {
  findProgram,
  hindranceOf,
  type MailServer,
  type MailServerOptions,
  startServer,
} from './mail-server.ts'

const CHROOT = '/var/lib/opensmtpd/empty'
const SYSTEMS_OWN = '/etc/smtpd.conf'

const findOpenSmtpd = () => findProgram('opensmtpd', '/usr/sbin/smtpd')

export function openSmtpdHindrance(): string | undefined {
  if (existsSync(SYSTEMS_OWN)) return 'an OpenSMTPD of the system uses the only queue there is'
  return hindranceOf(findOpenSmtpd(), 'OpenSMTPD')
}

export async function createOpenSmtpd({
  relayPort,
}: Pick<MailServerOptions, 'relayPort'>): Promise<MailServer> {
  const directory = mkdtempSync(join(tmpdir(), 'postrider-opensmtpd-'))
  const port = await findFreePort()
  mkdirSync(CHROOT, { recursive: true, mode: 0o755 })
  const file = join(directory, 'smtpd.conf')
  writeFileSync(
    file,
    `listen on 127.0.0.1 port ${port} hostname mx.recipient.test
smtp max-message-size 200000
action "onward" relay host smtp://127.0.0.1:${relayPort}
match from any for domain "recipient.test" action "onward"
`,
  )
  const server = await startServer(findOpenSmtpd() ?? '', ['-d', '-f', file], port)
  return {
    port,
    log: server.output,
    async stop() {
      await server.stop()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}
