/**
 * Reads a database URL that may name several hosts, in the two ways of libpq: a comma list where the
 * host stands, or comma lists in the parameters `host` and `port`. The driver knows one host alone,
 * so it gets a URL without them.
 *
 * Source: PostgreSQL documentation, "Connection URIs" and "Specifying Multiple Hosts". No message
 * here repeats user, password or the whole URL.
 */

export interface DatabaseHost {
  /** A name, an address, or the directory of a Unix socket. */
  readonly host: string
  /** Without one, the driver's default. */
  readonly port: number | undefined
}

export interface DatabaseTarget {
  /** For the driver: everything but hosts, ports and `target_session_attrs`. */
  readonly url: string
  /** In the order in which they are tried. Empty: the driver's default host. */
  readonly hosts: readonly DatabaseHost[]
  /** A server that refuses to write by its configuration is passed over, too. */
  readonly mustWrite: boolean
}

export class DatabaseUrlError extends Error {}

/** Each host may take a time-out of its own, and all of them have to fit into one wait. */
export const databaseHostsMax = 8

const SHAPE =
  /^(?<scheme>postgres(?:ql)?:\/\/)(?<user>[^@/?#\s]*@)?(?<hosts>[^@/?#\s]*)(?<path>\/[^?#\s]*)?(?:\?(?<query>[^\s]*))?$/
const HOST = /^(?:\[(?<v6>[0-9a-f:.%]+)\]|(?<name>[^:[\]]*))(?::(?<port>\d*))?$/i
const OWN = new Set(['host', 'port', 'target_session_attrs'])
/** Postrider writes, so a standby is never what is wanted. */
const SESSIONS = ['read-write', 'primary', 'any']

export function readDatabaseUrl(text: string): DatabaseTarget {
  const { scheme, user = '', hosts = '', path = '', query = '' } = SHAPE.exec(text)?.groups ?? {}
  if (scheme === undefined)
    throw new DatabaseUrlError('must look like postgres://user:password@host:5432/database')
  const parameters = new URLSearchParams(query)
  const named = listOf(parameters, 'host')
  const ports = listOf(parameters, 'port')
  const found = named === undefined ? readHosts(hosts) : named.map((host) => ({ host, port: '' }))
  const rest = query.split('&').filter((pair) => !OWN.has(nameOf(pair)) && pair !== '')
  const search = rest.length === 0 ? '' : `?${rest.join('&')}`
  const isHostGiven = found.length > 0 || ports !== undefined
  return {
    url: `${scheme}${user}${isHostGiven ? 'localhost' : ''}${path}${search}`,
    hosts: isHostGiven ? withPorts(found, ports) : [],
    mustWrite: readSession(parameters),
  }
}

function nameOf(pair: string): string {
  return pair.split('=', 1)[0] ?? ''
}

/** The last one counts, as with libpq. */
function listOf(parameters: URLSearchParams, name: string): string[] | undefined {
  const text = parameters.getAll(name).at(-1)
  return text === undefined || text === '' ? undefined : text.split(',')
}

function readHosts(text: string): { host: string; port: string }[] {
  if (text === '') return []
  return text.split(',').map((item) => {
    const { v6, name = '', port = '' } = HOST.exec(item)?.groups ?? { name: '' }
    return { host: v6 ?? decoded(name), port }
  })
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name)
  } catch {
    return ''
  }
}

function withPorts(
  found: readonly { host: string; port: string }[],
  ports: readonly string[] | undefined,
): DatabaseHost[] {
  const hosts = found.length === 0 ? [{ host: 'localhost', port: '' }] : found
  if (hosts.length > databaseHostsMax)
    throw new DatabaseUrlError(`names ${hosts.length} hosts: at most ${databaseHostsMax} can be`)
  if (ports !== undefined && ports.length !== 1 && ports.length !== hosts.length)
    throw new DatabaseUrlError(
      `names ${hosts.length} hosts and ${ports.length} ports: give one port for all or one for each`,
    )
  return hosts.map(({ host, port }, index) => {
    if (!isHost(host))
      throw new DatabaseUrlError(
        `has a host that is none (number ${index + 1}): write several as host1:5432,host2:5432`,
      )
    const given = ports === undefined ? port : (ports[ports.length === 1 ? 0 : index] ?? '')
    return { host, port: readPort(given, index) }
  })
}

function isHost(host: string): boolean {
  return host.startsWith('/') || /^[\w.:%-]+$/.test(host)
}

function readPort(text: string, index: number): number | undefined {
  if (text === '') return undefined
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0
  if (port < 1 || port > 65_535)
    throw new DatabaseUrlError(`has a port that is none (of host number ${index + 1})`)
  return port
}

function readSession(parameters: URLSearchParams): boolean {
  const session = parameters.getAll('target_session_attrs').at(-1) ?? 'read-write'
  if (!SESSIONS.includes(session))
    throw new DatabaseUrlError(
      `has target_session_attrs other than ${SESSIONS.join(', ')}: Postrider needs the primary`,
    )
  return session === 'read-write'
}
