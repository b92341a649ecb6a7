/**
 * Connections to the primary alone, of a database that may have several hosts.
 *
 * - Every new connection asks whether its server is the primary. A standby is left at once: what it
 *   does not have yet would be taken for absent, and nothing can be written there.
 * - The host of the last primary is remembered. When a connection to it fails, the hosts are tried in
 *   turn, once for all who wait, within one bounded time.
 * - A server that no longer answers looks like silence. With several hosts one connection watches it, and
 *   when another host has become the primary, `onMoved` is called.
 *
 * Two servers that both say they are the primary cannot be told apart here: fencing the old one is
 * the task of the failover manager.
 */
import pg from 'pg'
import { wireOf } from './connection.ts'
import { type DatabaseHost, readDatabaseUrl } from './database-url.ts'
import { DatabaseUnavailableError, isServerError, isUnavailableState } from './errors.ts'
import { firstOf } from './first-of.ts'

/** A database answers, or several do, and none of them is the primary. */
export class NoPrimaryError extends DatabaseUnavailableError {
  override readonly name = 'NoPrimaryError'
}

export interface PrimariesTiming {
  /** For one host: to connect, and to say what it is. */
  readonly hostMs: number
  /** A host without an answer delays the next one by this. */
  readonly nextAfterMs: number
  readonly watchMs: number
  /** Without a primary, this long nobody is asked again: callers must not flood a standby with logins. */
  readonly holdMs: number
}

const TIMING: PrimariesTiming = { hostMs: 2_000, nextAfterMs: 250, watchMs: 1_000, holdMs: 200 }

export interface Primaries {
  /** A connection of it is to the primary, or fails. */
  readonly Client: new (
    config?: pg.ClientConfig,
  ) => pg.Client
  /** For the driver: without hosts. */
  readonly url: string
  /** Whether another try may lead to another host. */
  mayMove(): boolean
  /** With several hosts: whether its server is the primary that was found last. */
  isCurrent(client: pg.Client): boolean
  /** Until it is stopped; only with several hosts there is anything to watch. */
  watch(onMoved: (from: string, to: string) => void): () => void
}

const ASK = `select pg_is_in_recovery() as is_standby,
  current_setting('transaction_read_only') = 'on' as is_read_only`

export function createPrimaries(o: {
  readonly url: string
  readonly timing?: Partial<PrimariesTiming>
}): Primaries {
  const timing = { ...TIMING, ...o.timing }
  const { hosts, mustWrite, url } = readDatabaseUrl(o.url)
  const isSeveral = hosts.length > 1
  const { ask, reach } = createProbe({ url, mustWrite, hostMs: timing.hostMs })
  let current: DatabaseHost | undefined
  /** The last one that was found. */
  let known: DatabaseHost | undefined
  let looking: Promise<DatabaseHost> | undefined
  const hostOf = new WeakMap<pg.Client, DatabaseHost>()
  let onMoved: (from: string, to: string) => void = () => undefined
  let refusal: { readonly error: unknown; readonly untilMs: number } | undefined

  /** Remembers for a moment that there is no primary. */
  function refuse(error: unknown): unknown {
    if (error instanceof NoPrimaryError)
      refusal = { error, untilMs: performance.now() + timing.holdMs }
    return error
  }

  async function look(): Promise<DatabaseHost> {
    try {
      const found = await firstOf(hosts, {
        nextAfterMs: timing.nextAfterMs,
        async attempt(host, signal) {
          const client = await reach(host, signal)
          wireOf(client).stream.destroy()
          return host
        },
      })
      const before = known
      current = found
      known = found
      if (before !== undefined && before !== found) onMoved(nameOf(before), nameOf(found))
      return found
    } catch (error) {
      throw refuse(explain(hosts, error))
    }
  }

  /** One look for all who wait. */
  function choose(): Promise<DatabaseHost> {
    if (current !== undefined) return Promise.resolve(current)
    looking ??= look().finally(() => {
      looking = undefined
    })
    return looking
  }

  function giveUp(host: DatabaseHost | undefined): void {
    if (current === host) current = undefined
  }

  async function connect(client: pg.Client, open: () => Promise<unknown>): Promise<pg.Client> {
    if (refusal !== undefined && performance.now() < refusal.untilMs) throw refusal.error
    const host = isSeveral ? await choose() : hosts[0]
    if (host !== undefined) lead(client, host)
    if (host !== undefined) hostOf.set(client, host)
    try {
      await open()
      await ask(client)
    } catch (error) {
      wireOf(client).stream.destroy()
      giveUp(host)
      if (isSeveral || !(error instanceof NoPrimaryError)) throw error
      throw refuse(explain(hosts, error))
    }
    if (!isSeveral || host === known) return client
    // It took so long that another host has become the primary: this one may be the old one, come back.
    wireOf(client).stream.destroy()
    throw new Error('The primary has moved')
  }

  return {
    // Each host has its own time-out; where there is one host, it has all of the caller's.
    Client: clientOf(connect, isSeveral ? timing.hostMs : undefined),
    url,
    mayMove: () => isSeveral && current === undefined,
    isCurrent: (client) => hostOf.get(client) === known,
    watch(listener) {
      onMoved = listener
      if (!isSeveral) return () => undefined
      return watchPrimary({ choose, reach, ask, giveUp, everyMs: timing.watchMs })
    },
  }
}

/** Asks servers whether they are the primary. */
function createProbe({
  url,
  mustWrite,
  hostMs,
}: {
  readonly url: string
  readonly mustWrite: boolean
  readonly hostMs: number
}) {
  async function ask(client: pg.Client): Promise<void> {
    const question = { text: ASK, query_timeout: hostMs }
    const { rows } = await client.query<{ is_standby: boolean; is_read_only: boolean }>(question)
    if (rows[0]?.is_standby !== false) throw new NoPrimaryError('it is a standby')
    if (mustWrite && rows[0].is_read_only) throw new NoPrimaryError('it is read-only')
  }

  /** Asks one host and leaves it again, or keeps the connection. */
  async function reach(host: DatabaseHost, signal?: AbortSignal): Promise<pg.Client> {
    const client = new pg.Client({
      connectionString: url,
      application_name: 'postrider primary',
      connectionTimeoutMillis: hostMs,
    })
    client.on('error', () => undefined)
    lead(client, host)
    const cut = () => wireOf(client).stream.destroy()
    signal?.addEventListener('abort', cut, { once: true })
    try {
      await client.connect()
      await ask(client)
      return client
    } catch (error) {
      cut()
      throw error
    } finally {
      signal?.removeEventListener('abort', cut)
    }
  }

  return { ask, reach }
}

/** The driver's client, which connects as it is told to. */
function clientOf(
  connectToPrimary: (client: pg.Client, open: () => Promise<unknown>) => Promise<pg.Client>,
  connectionTimeoutMillis: number | undefined,
): Primaries['Client'] {
  return class PrimaryClient extends pg.Client {
    constructor(config?: pg.ClientConfig) {
      super(connectionTimeoutMillis === undefined ? config : { ...config, connectionTimeoutMillis })
      // Between the connection and its first user nobody else listens, and the statement fails anyway.
      this.on('error', () => undefined)
    }

    override connect(): Promise<pg.Client>
    override connect(callback: (error: Error) => void): void
    override connect(callback?: (error: Error) => void): Promise<pg.Client> | undefined {
      const connected = connectToPrimary(this, () => super.connect())
      if (callback === undefined) return connected
      const done = callback as (error: Error | null, client?: pg.Client) => void
      connected.then(
        (client) => process.nextTick(done, null, client),
        (error: unknown) => process.nextTick(done, error),
      )
      return undefined
    }
  }
}

/** Asks the primary again and again, over one connection; when it does not answer, another is looked for. */
function watchPrimary(o: {
  readonly choose: () => Promise<DatabaseHost>
  readonly reach: (host: DatabaseHost) => Promise<pg.Client>
  readonly ask: (client: pg.Client) => Promise<void>
  readonly giveUp: (host: DatabaseHost) => void
  readonly everyMs: number
}): () => void {
  let watcher: { readonly host: DatabaseHost; readonly client: pg.Client } | undefined
  let isStopped = false
  let timer: NodeJS.Timeout | undefined

  function leave(): void {
    if (watcher !== undefined) wireOf(watcher.client).stream.destroy()
    watcher = undefined
  }

  async function check(): Promise<void> {
    const host = await o.choose()
    try {
      if (watcher?.host !== host) {
        leave()
        watcher = { host, client: await o.reach(host) }
      } else await o.ask(watcher.client)
      if (isStopped) leave()
    } catch {
      leave()
      o.giveUp(host)
      if (!isStopped) await o.choose()
    }
  }

  function checkLater(): void {
    timer = setTimeout(
      () =>
        check()
          .catch(() => undefined) // Without a primary there is nothing to watch; the next round looks again.
          .finally(() => {
            if (!isStopped) checkLater()
          }),
      o.everyMs,
    ).unref()
  }

  checkLater()
  return () => {
    isStopped = true
    clearTimeout(timer)
    leave()
  }
}

/** A connection of its own to the primary, for what a pool is not for. */
export async function connectToPrimary(
  o: { readonly url: string },
  config: pg.ClientConfig,
): Promise<pg.Client> {
  const { Client, url } = createPrimaries(o)
  const client = new Client({ ...config, connectionString: url })
  await client.connect()
  return client
}

/** Where the driver goes when it connects; `pgpass` looks at the same. */
function lead(client: pg.Client, { host, port }: DatabaseHost): void {
  const { connectionParameters } = client as unknown as {
    connectionParameters: { host: string; port: number }
  }
  for (const target of [client, connectionParameters]) {
    target.host = host
    if (port !== undefined) target.port = port
  }
}

function nameOf({ host, port }: DatabaseHost): string {
  const name = host.includes(':') ? `[${host}]` : host
  return port === undefined ? name : `${name}:${port}`
}

/** What each host said. A refusal that is no outage, such as a wrong password by all, is told as it is. */
function explain(hosts: readonly DatabaseHost[], error: unknown): unknown {
  const failures: readonly unknown[] = error instanceof AggregateError ? error.errors : [error]
  const [refusal] = failures
  if (failures.every((one) => isServerError(one) && !isUnavailableState(one))) return refusal
  const told = hosts.map((host, index) => `${nameOf(host)}: ${reasonOf(failures[index])}`)
  return new NoPrimaryError(`No primary of the database can be reached (${told.join('; ')})`)
}

function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return reasonOf(error.errors[0])
  return error instanceof Error ? error.message : String(error)
}
