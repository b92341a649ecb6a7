/** Exim 4, as Debian builds it: its daemon needs the user Debian-exim. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
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

const findExim = () => findProgram('exim4-daemon-light', '/usr/sbin/exim4')

export const eximHindrance = (): string | undefined => hindranceOf(findExim(), 'Exim')

export async function createExim({
  relayPort,
  certificate,
}: MailServerOptions): Promise<MailServer> {
  const program = findExim() ?? ''
  const directory = mkdtempSync(join(tmpdir(), 'postrider-exim-'))
  const port = await findFreePort()
  for (const name of ['spool', 'log']) mkdirSync(join(directory, name))
  writeFileSync(join(directory, 'conf'), configuration({ program, directory, port, relayPort }))
  writeFileSync(join(directory, 'key.pem'), certificate.key, { mode: 0o600 })
  writeFileSync(join(directory, 'cert.pem'), certificate.cert)
  execFileSync('chown', ['-R', 'Debian-exim', directory])
  execFileSync('chown', ['root', join(directory, 'conf')])
  const args = ['-C', join(directory, 'conf'), '-bdf', '-q1s']
  const server = await startServer(program, args, port)
  const logOf = (name: string): string => {
    const path = join(directory, 'log', name)
    return existsSync(path) ? readFileSync(path, 'utf8') : ''
  }
  return {
    port,
    log: () => `${server.output()}${logOf('mainlog')}${logOf('rejectlog')}${logOf('paniclog')}`,
    async stop() {
      await server.stop()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

function configuration(o: {
  readonly program: string
  readonly directory: string
  readonly port: number
  readonly relayPort: number
}): string {
  return `exim_path = ${o.program}
spool_directory = ${o.directory}/spool
log_file_path = ${o.directory}/log/%slog
pid_file_path = ${o.directory}/pid
primary_hostname = mx.recipient.test
daemon_smtp_ports = ${o.port}
local_interfaces = 127.0.0.1
host_lookup =
rfc1413_query_timeout = 0s
keep_environment =
tls_advertise_hosts = *
tls_certificate = ${o.directory}/cert.pem
tls_privatekey = ${o.directory}/key.pem
smtputf8_advertise_hosts = *
dsn_advertise_hosts = *
message_size_limit = 200000
queue_only
acl_smtp_rcpt = check_rcpt
acl_smtp_data = accept_all

begin acl
check_rcpt:
  accept domains = recipient.test
  deny message = 5.7.1 relay not permitted
accept_all:
  accept

begin routers
onward:
  driver = manualroute
  route_list = * 127.0.0.1::${o.relayPort}
  transport = onward
  self = send

begin transports
onward:
  driver = smtp
  allow_localhost = true
  hosts_avoid_tls = *
`
}
