/**
 * A private Dovecot: loopback only, everything in a directory of its own, nothing of the system's
 * touched. Each user has Maildirs and a password; it offers STARTTLS on one port and TLS on another.
 * Started by root it runs as the users that Debian's package has made, else as the user that starts it.
 */
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findFreePort } from '../free-port.ts'
import { findProgram, startServer } from './mail-server.ts'

export interface DovecotOptions {
  /** Passwords by username. */
  readonly users: Readonly<Record<string, string>>
  /** PEM. */
  readonly certificate: { readonly key: string; readonly cert: string }
  /** Of logins at a time. */
  readonly connectionsMax?: number
  /** Where the system does not tell it of changes, for want of inotify instances, it looks so often. */
  readonly idleCheckS?: number
}

export interface Dovecot {
  /** With STARTTLS. */
  readonly port: number
  readonly tlsPort: number
  /** Puts a message into a mailbox, as delivery does. */
  append(username: string, raw: string | Buffer, folder?: string): void
  /** Runs `doveadm` with these arguments and answers what it prints. */
  doveadm(arguments_: readonly string[], input?: string | Buffer): string
  /** What it logged, for when a test fails. */
  log(): string
  start(): Promise<void>
  /** Its mailboxes stay. */
  stop(): Promise<void>
  destroy(): Promise<void>
}

const NOBODY = 65_534
const CONNECTIONS_MAX = 100
const IDLE_CHECK_S = 30

const findDovecot = () => findProgram('dovecot-core', '/usr/sbin/dovecot')

/** Why it cannot run here; undefined when it can. */
export function dovecotHindrance(): string | undefined {
  if (findDovecot() === undefined) return 'Dovecot is not installed'
  if (!existsSync('/usr/lib/dovecot/imap')) return "Dovecot's IMAP server is not installed"
  return undefined
}

export async function createDovecot(o: DovecotOptions): Promise<Dovecot> {
  const directory = mkdtempSync(join(tmpdir(), 'postrider-dovecot-'))
  const path = (name: string): string => join(directory, name)
  const [port, tlsPort] = await Promise.all([findFreePort(), findFreePort()])
  const isRoot = process.getuid?.() === 0
  chmodSync(directory, 0o755)
  for (const name of ['mail', 'run', 'state']) mkdirSync(path(name), { mode: 0o755 })
  if (isRoot) chownSync(path('mail'), NOBODY, NOBODY)
  writeFileSync(path('key.pem'), o.certificate.key, { mode: 0o600 })
  writeFileSync(path('cert.pem'), o.certificate.cert)
  const passwords = Object.entries(o.users).map(([name, word]) => `${name}:{PLAIN}${word}\n`)
  writeFileSync(path('users'), passwords.join(''))
  const connectionsMax = o.connectionsMax ?? CONNECTIONS_MAX
  const file = path('dovecot.conf')
  const idleCheckS = o.idleCheckS ?? IDLE_CHECK_S
  const paths = { directory, port, tlsPort, isRoot }
  writeFileSync(file, configuration({ ...paths, connectionsMax, idleCheckS }))

  let running: Awaited<ReturnType<typeof startServer>> | undefined
  const doveadm = (arguments_: readonly string[], input?: string | Buffer): string =>
    execFileSync('/usr/bin/doveadm', ['-c', file, ...arguments_], {
      input: input ?? '',
      stdio: ['pipe', 'pipe', 'pipe'],
    }).toString()
  const stop = async (): Promise<void> => {
    await running?.stop()
    running = undefined
  }
  return {
    port,
    tlsPort,
    doveadm,
    append: (username, raw, folder = 'INBOX') =>
      void doveadm(['save', '-u', username, '-m', folder], raw),
    log: () => (existsSync(path('log')) ? readFileSync(path('log'), 'utf8') : ''),
    async start() {
      running = await startServer(findDovecot() ?? '', ['-F', '-c', file], port)
    },
    stop,
    async destroy() {
      await stop()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

function configuration(o: {
  readonly directory: string
  readonly port: number
  readonly tlsPort: number
  readonly isRoot: boolean
  readonly connectionsMax: number
  readonly idleCheckS: number
}): string {
  const mailIds = o.isRoot
    ? `uid=${NOBODY} gid=${NOBODY}`
    : `uid=${process.getuid?.()} gid=${process.getgid?.()}`
  return `base_dir = ${o.directory}/run
state_dir = ${o.directory}/state
instance_name = ${o.directory}
log_path = ${o.directory}/log
protocols = imap
listen = 127.0.0.1
${o.isRoot ? '' : asItself()}first_valid_uid = 1
ssl = yes
ssl_cert = <${o.directory}/cert.pem
ssl_key = <${o.directory}/key.pem
disable_plaintext_auth = no
auth_mechanisms = plain login
auth_failure_delay = 0
mail_location = maildir:${o.directory}/mail/%u
mail_max_userip_connections = 0
mailbox_idle_check_interval = ${o.idleCheckS} secs
passdb {
  driver = passwd-file
  args = ${o.directory}/users
}
userdb {
  driver = static
  args = ${mailIds} home=${o.directory}/mail/%u
}
service anvil {
  chroot =
  client_limit = ${3 * o.connectionsMax + 100}
  # Logins after a refused one are not made to wait.
  unix_listener anvil-auth-penalty {
    mode = 0
  }
}
service auth {
  client_limit = ${3 * o.connectionsMax + 100}
}
service imap-login {
  chroot =
  service_count = 0
  client_limit = ${2 * o.connectionsMax}
  process_limit = 2
  inet_listener imap {
    port = ${o.port}
  }
  inet_listener imaps {
    port = ${o.tlsPort}
    ssl = yes
  }
}
service imap {
  process_limit = ${o.connectionsMax}
}
namespace inbox {
  inbox = yes
  separator = /
  mailbox Sent {
    auto = subscribe
    special_use = \\Sent
  }
}
`
}

function asItself(): string {
  const [user, group] = ['-un', '-gn'].map((what) => execFileSync('id', [what]).toString().trim())
  return `default_internal_user = ${user}
default_login_user = ${user}
default_internal_group = ${group}
`
}
