/**
 * A private Postfix that relays all it accepts to one SMTP server: queue, configuration and log in a
 * directory of its own, loopback only, nothing of the system's Postfix touched. Its master must be
 * started by root.
 */
import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export interface PostfixServer {
  readonly port: number
  readonly masterPid: number
  stop(): void
}

/** Why it cannot be measured here, or undefined. */
export function postfixHindrance(): string | undefined {
  if (!existsSync('/usr/sbin/postfix')) return 'not installed'
  if (process.getuid?.() !== 0) return 'installed, but its master must be started by root'
  return undefined
}

export function startPostfix(o: { dir: string; port: number; relayPort: number }): PostfixServer {
  const [config, queue, data] = ['config', 'queue', 'data'].map((name) => join(o.dir, name))
  if (!config || !queue || !data) throw new Error('no directory')
  for (const path of [o.dir, config, queue, data]) {
    mkdirSync(path, { recursive: true })
    chmodSync(path, 0o755)
  }
  execFileSync('chown', ['postfix', data])
  writeFileSync(join(config, 'main.cf'), mainCf({ ...o, queue, data }))
  writeFileSync(join(config, 'master.cf'), masterCf(o.port))
  const postfix = (command: string) =>
    execFileSync('/usr/sbin/postfix', ['-c', config, command], { stdio: 'pipe' })
  postfix('start')
  const pidFile = join(queue, 'pid', 'master.pid')
  return {
    port: o.port,
    masterPid: Number(readFileSync(pidFile, 'utf8')),
    stop: () => void postfix('stop'),
  }
}

function mainCf(o: { dir: string; queue: string; data: string; relayPort: number }): string {
  return `
compatibility_level = 3.6
queue_directory = ${o.queue}
data_directory = ${o.data}
maillog_file = ${o.dir}/maillog
maillog_file_prefixes = ${o.dir}
command_directory = /usr/sbin
daemon_directory = /usr/lib/postfix/sbin
meta_directory = /etc/postfix
shlib_directory = /usr/lib/postfix
mail_owner = postfix
setgid_group = postdrop
myhostname = bench.test
mydestination =
alias_maps =
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
mynetworks = 127.0.0.0/8
smtp_dns_support_level = disabled
smtp_tls_security_level = none
smtpd_tls_security_level = none
relayhost = [127.0.0.1]:${o.relayPort}
`.trimStart()
}

function masterCf(port: number): string {
  return `
127.0.0.1:${port} inet n - n - - smtpd
pickup unix n - n 60 1 pickup
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
verify unix - - n - 1 verify
flush unix n - n 1000? 0 flush
proxymap unix - - n - - proxymap
smtp unix - - n - - smtp
relay unix - - n - - smtp
error unix - - n - - error
retry unix - - n - - error
anvil unix - - n - 1 anvil
scache unix - - n - 1 scache
postlog unix-dgram n - n - 1 postlogd
`.trimStart()
}
