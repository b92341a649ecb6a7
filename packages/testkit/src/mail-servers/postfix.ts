/**
 * A private Postfix: loopback only, everything in a directory of its own, nothing of the system's
 * touched. It takes mail for recipient.test into one Maildir per known user, asks a policy service
 * of the test's about each recipient, and offers STARTTLS on one port and TLS on another. Mail for
 * relayed.test it hands on, by STARTTLS where that is offered, where a test says where to.
 */
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { findFreePort } from '../free-port.ts'

export const sizeMax = 200_000
export const users = ['ada', 'busy', 'jörg'] as const

/** Answers with an action of Postfix's access(5), such as `450 4.2.0 later`; undefined: no opinion. */
export type Policy = (recipient: string) => string | undefined

export interface Postfix {
  readonly port: number
  readonly tlsPort: number
  /** The messages in a user's mailbox, as they were written to disk. */
  mailbox(user: string): string[]
  setPolicy(policy: Policy): void
  /** What it logged, for when a test fails. */
  log(): string
  start(): void
  /** Tries now what it could not hand on. */
  flush(): void
  stop(): void
  destroy(): Promise<void>
}

const NOBODY = 65_534

/** Why it cannot run here; undefined when it can. */
export function postfixHindrance(): string | undefined {
  if (!existsSync('/usr/sbin/postfix')) return 'Postfix is not installed'
  if (process.getuid?.() !== 0) return 'Postfix must be started by root'
  return undefined
}

export async function createPostfix(
  certificate: { readonly key: string; readonly cert: string },
  o: {
    readonly relayPort?: number
    /** It has to log in there, over TLS. */
    readonly relayLogin?: { readonly user: string; readonly password: string }
    readonly bytesMax?: number
  } = {},
): Promise<Postfix> {
  const directory = mkdtempSync(join(tmpdir(), 'postrider-postfix-'))
  const path = (name: string): string => join(directory, name)
  const [port, tlsPort, policyServer] = await Promise.all([
    findFreePort(),
    findFreePort(),
    startPolicyServer(),
  ])
  chmodSync(directory, 0o755)
  for (const name of ['config', 'queue', 'data', 'mail']) mkdirSync(path(name), { mode: 0o755 })
  chownSync(path('mail'), NOBODY, NOBODY)
  execFileSync('chown', ['postfix', path('data')])
  writeFileSync(path('config/key.pem'), certificate.key, { mode: 0o600 })
  writeFileSync(path('config/cert.pem'), certificate.cert)
  const relay = o.relayPort === undefined ? '' : relayCf(o.relayPort, o.relayLogin)
  writeFileSync(
    path('config/main.cf'),
    `${mainCf(directory, policyServer.port, o.bytesMax)}${relay}`,
  )
  writeFileSync(path('config/master.cf'), masterCf(port, tlsPort))
  const run = (command: string): void => {
    execFileSync('/usr/sbin/postfix', ['-c', path('config'), command], { stdio: 'pipe' })
  }
  return {
    port,
    tlsPort,
    mailbox(user) {
      const folder = path(`mail/${user}/new`)
      if (!existsSync(folder)) return []
      return readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'))
    },
    setPolicy: policyServer.setPolicy,
    log: () => (existsSync(path('maillog')) ? readFileSync(path('maillog'), 'utf8') : ''),
    start: () => run('start'),
    flush: () => run('flush'),
    stop: () => run('stop'),
    async destroy() {
      run('stop')
      await policyServer.close()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

/** Speaks Postfix's policy delegation protocol: attributes and an empty line, answered by an action. */
async function startPolicyServer() {
  let policy: Policy = () => undefined
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    socket.on('error', () => socket.destroy())
    let recipient = ''
    createInterface({ input: socket }).on('line', (line) => {
      if (line.startsWith('recipient=')) recipient = line.slice('recipient='.length)
      if (line === '') socket.write(`action=${policy(recipient) ?? 'DUNNO'}\n\n`)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    setPolicy(next: Policy) {
      policy = next
    },
    close: () => {
      for (const socket of sockets) socket.destroy()
      return new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}

function mainCf(directory: string, policyPort: number, bytesMax = sizeMax): string {
  const mailboxes = users.map((user) => `{ ${user}@recipient.test = ${user}/ }`).join(', ')
  return `compatibility_level = 3.6
queue_directory = ${directory}/queue
data_directory = ${directory}/data
maillog_file = ${directory}/maillog
maillog_file_prefixes = ${directory}
command_directory = /usr/sbin
daemon_directory = /usr/lib/postfix/sbin
meta_directory = /etc/postfix
shlib_directory = /usr/lib/postfix
mail_owner = postfix
setgid_group = postdrop
myhostname = mx.recipient.test
mydestination =
alias_maps =
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
mynetworks = 127.0.0.0/8
relay_transport = error:nothing leaves this machine
default_transport = error:nothing leaves this machine
smtp_dns_support_level = disabled
smtputf8_enable = yes
message_size_limit = ${bytesMax}
virtual_mailbox_domains = recipient.test
virtual_mailbox_base = ${directory}/mail
virtual_mailbox_maps = inline:{ ${mailboxes} }
virtual_mailbox_limit = 0
virtual_uid_maps = static:${NOBODY}
virtual_gid_maps = static:${NOBODY}
smtpd_recipient_restrictions = reject_unauth_destination, check_policy_service inet:127.0.0.1:${policyPort}
smtpd_tls_security_level = may
smtpd_tls_cert_file = ${directory}/config/cert.pem
smtpd_tls_key_file = ${directory}/config/key.pem
smtpd_tls_received_header = yes
`
}

/** What it cannot hand on at once it tries again soon. */
function relayCf(
  relayPort: number,
  login?: { readonly user: string; readonly password: string },
): string {
  const loginCf =
    login === undefined
      ? 'smtp_tls_security_level = may'
      : `smtp_tls_security_level = encrypt
smtp_sasl_auth_enable = yes
smtp_sasl_security_options = noanonymous
smtp_sasl_password_maps = inline:{ { [127.0.0.1]:${relayPort} = ${login.user}:${login.password} } }`
  return `relay_domains = relayed.test
relay_transport = smtp:[127.0.0.1]:${relayPort}
${loginCf}
minimal_backoff_time = 1s
maximal_backoff_time = 2s
queue_run_delay = 1s
`
}

function masterCf(port: number, tlsPort: number): string {
  return `127.0.0.1:${port} inet n - n - - smtpd
127.0.0.1:${tlsPort} inet n - n - - smtpd -o smtpd_tls_wrappermode=yes
pickup unix n - n 60 1 pickup
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
tlsmgr unix - - n 1000? 1 tlsmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
flush unix n - n 1000? 0 flush
proxymap unix - - n - - proxymap
error unix - - n - - error
retry unix - - n - - error
smtp unix - - n - - smtp
virtual unix - n n - - virtual
anvil unix - - n - 1 anvil
postlog unix-dgram n - n - 1 postlogd
`
}
