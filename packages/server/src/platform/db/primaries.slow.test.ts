import { mkdtempSync, rmSync } from 'node:fs'
import { connect as connectTo, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSignal, findFreePort } from '@postrider/testkit'
import { createReplica, replicatedSettings } from '@postrider/testkit/postgres-replica'
import { createPostgresServer, type PostgresServer } from '@postrider/testkit/postgres-server'
import pino from 'pino'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createDb } from './db.ts'
import { DatabaseUnavailableError } from './errors.ts'
import { createListener } from './listen.ts'
import { migrate } from './migrate.ts'
import { dropPartitions } from './partitions/partitions-drop.ts'
import { connectToPrimary, createPrimaries, NoPrimaryError } from './primaries.ts'
import type { Db } from './statement.ts'

const log = pino({ level: 'silent' })
const directories: string[] = []
const open: { close(): Promise<void> }[] = []
let primary: PostgresServer
let standby: PostgresServer
/** Accepts connections and never says a word. */
let silent: Server
const silentSockets = new Set<Socket>()
let closedPort: number

beforeAll(async () => {
  const newDirectory = () => {
    const directory = mkdtempSync(join(tmpdir(), 'postrider-primaries-'))
    directories.push(directory)
    return directory
  }
  primary = createPostgresServer({
    directory: newDirectory(),
    port: await findFreePort(),
    settings: replicatedSettings,
  })
  await primary.start()
  standby = await createReplica(primary, { directory: newDirectory(), port: await findFreePort() })
  await standby.start()
  silent = createServer((socket) => silentSockets.add(socket.on('error', () => undefined)))
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  closedPort = await findFreePort()
}, 120_000)

afterEach(async () => {
  for (const one of open.splice(0)) await one.close()
})

afterAll(async () => {
  for (const socket of silentSockets) socket.destroy()
  silent.close()
  await standby.stop()
  await primary.stop()
  for (const directory of directories) rmSync(directory, { recursive: true, force: true })
})

const silentPort = () => (silent.address() as { port: number }).port
const urlOf = (ports: readonly number[], more = '') =>
  `postgres://postgres@${ports.map((port) => `127.0.0.1:${port}`).join(',')}/postgres${more}`

function openDb(url: string, o: { poolMax?: number; log?: pino.Logger } = {}): Db {
  const db = createDb({ url, poolMax: o.poolMax ?? 2, log: o.log ?? log, applicationName: 'test' })
  open.push(db)
  return db
}

async function portOf(db: Db): Promise<number> {
  const { rows } = await db.query<{ port: string }>(`select current_setting('port') as port`)
  return Number(rows[0]?.port)
}

/** A line to a server that passes, hangs or cuts new connections. */
async function startLine(to: number) {
  const changed = createSignal()
  const sockets = new Set<Socket>()
  const held: (() => void)[] = []
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined))
    if (line.mode === 'cut') return void socket.destroy()
    const pass = () => {
      const upstream = connectTo(to, '127.0.0.1')
      sockets.add(upstream.on('error', () => undefined))
      socket.pipe(upstream).pipe(socket)
    }
    if (line.mode === 'pass') return pass()
    held.push(pass)
    changed.notify()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const line = {
    mode: 'pass' as 'pass' | 'hang' | 'cut',
    port: (server.address() as { port: number }).port,
    get hanging() {
      return held.length
    },
    until: (isMet: () => boolean) =>
      changed.until(isMet, { describe: () => 'no connection hangs' }),
    release() {
      for (const pass of held.splice(0)) pass()
    },
    /** Those that are open stay so, and say no more. */
    fallSilent() {
      line.mode = 'hang'
      for (const socket of sockets) socket.unpipe().pause()
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return line
}

describe('the primary among several hosts', () => {
  it.each([
    ['behind a standby', () => [standby.port, primary.port]],
    ['behind a port where nobody listens', () => [closedPort, primary.port]],
    ['behind a host that never answers', () => [silentPort(), primary.port]],
    ['before all of them', () => [primary.port, standby.port, silentPort(), closedPort]],
  ])('is found %s', async (_, ports) => {
    expect(await portOf(openDb(urlOf(ports())))).toBe(primary.port)
  })

  it('is found by the parameters host and port of the URL', async () => {
    const url = `postgres://postgres@/postgres?host=127.0.0.1,127.0.0.1&port=${standby.port},${primary.port}`
    expect(await portOf(openDb(url))).toBe(primary.port)
  })

  it('is found by migrations, retention and the listener as well', async () => {
    const url = urlOf([standby.port, primary.port])
    const dir = new URL('../../../migrations/', import.meta.url)
    expect((await migrate({ url, dir, log })).applied).toContain('0001_baseline.sql')
    const found = await dropPartitions({ url, log }, (dropper) =>
      dropper.listOlderThan({ tables: ['email'], ageMs: 0, now: new Date(0) }),
    )
    expect(found).toEqual([])
    const told = createSignal()
    const payloads: string[] = []
    let isListening = false
    const listener = createListener({
      url,
      applicationName: 'test',
      channels: ['postrider_x'],
      log,
      onListening() {
        isListening = true
        told.notify()
      },
      onNotification(_channel, payload) {
        payloads.push(payload)
        told.notify()
      },
    })
    await listener.start()
    await told.until(() => isListening, { describe: () => 'it does not listen' })
    await openDb(primary.url).query(`select pg_notify('postrider_x', '7')`)
    await told.until(() => payloads.length > 0, { describe: () => 'nothing was heard' })
    await listener.stop()
    expect(payloads).toEqual(['7'])
  })

  it('is not a server that refuses to write, unless the URL says primary', async () => {
    await openDb(primary.url).query('create database frozen')
    await openDb(primary.url).query('alter database frozen set default_transaction_read_only = on')
    const at = (more: string) =>
      urlOf([standby.port, primary.port]).replace(/\/postgres$/, `/frozen${more}`)
    await expect(openDb(at('')).query('select 1')).rejects.toThrow('it is read-only')
    expect(await portOf(openDb(at('?target_session_attrs=primary')))).toBe(primary.port)
    expect(await portOf(openDb(at('?target_session_attrs=any')))).toBe(primary.port)
  })
})

describe('[G3] a standby', () => {
  it('gets no query, even as the only host', async () => {
    for (const url of [urlOf([standby.port]), urlOf([standby.port], '?target_session_attrs=any')]) {
      const error = await openDb(url)
        .query('select 1')
        .catch((e: unknown) => e)
      expect(error).toBeInstanceOf(NoPrimaryError)
      expect(error).toBeInstanceOf(DatabaseUnavailableError)
      expect(String(error)).toContain('it is a standby')
    }
  })

  it('keeps no connection', async () => {
    const db = openDb(urlOf([standby.port]))
    await db.query('select 1').catch(() => undefined)
    expect(db.stats.connections).toBe(0)
  })
})

describe('several hosts without a primary', () => {
  it('are asked once for many concurrent callers', async () => {
    let connections = 0
    const cutting = createServer((socket) => {
      connections += 1
      socket.destroy()
    })
    await new Promise<void>((resolve) => cutting.listen(0, '127.0.0.1', resolve))
    const { port } = cutting.address() as { port: number }
    const { Client, url } = createPrimaries({
      url: urlOf([port, closedPort]),
      timing: { holdMs: 60_000 },
    })
    const connect = () =>
      new Client({ connectionString: url }).connect().catch((error: unknown) => error)
    const errors = await Promise.all(Array.from({ length: 50 }, connect))
    for (let i = 0; i < 50; i += 1) errors.push(await connect())
    expect(errors.filter((error) => error instanceof NoPrimaryError)).toHaveLength(100)
    expect(connections).toBe(1)
    cutting.close()
  })

  it('are each named with their error', async () => {
    const error = await openDb(urlOf([standby.port, closedPort]))
      .query('select 1')
      .catch((e: unknown) => e)
    expect(error).toBeInstanceOf(NoPrimaryError)
    expect(String(error)).toContain(`127.0.0.1:${standby.port}: it is a standby`)
    expect(String(error)).toMatch(new RegExp(`127.0.0.1:${closedPort}: .*ECONNREFUSED`))
  })

  it('several hosts without a primary that all refuse the login cause the error of a refused login', async () => {
    const url = urlOf([standby.port, primary.port]).replace('postgres@', 'nobody_known@')
    await expect(connectToPrimary({ url }, {})).rejects.toMatchObject({ code: '28000' })
  })
})

describe('a connection during a failover', () => {
  it('does not go to the old primary after its return', async () => {
    const line = await startLine(primary.port)
    const { Client, url } = createPrimaries({
      url: urlOf([line.port, primary.port]),
      timing: { hostMs: 20_000, nextAfterMs: 50 },
    })
    const connect = () => new Client({ connectionString: url }).connect()
    const first = await connect()
    expect(first.port).toBe(line.port)
    line.mode = 'hang'
    const late = connect().catch((error: unknown) => error)
    await line.until(() => line.hanging === 1)
    line.mode = 'cut'
    await expect(connect()).rejects.toThrow()
    const moved = await connect()
    expect(moved.port).toBe(primary.port)
    line.release()
    expect(String(await late)).toContain('The primary has moved')
    await first.end()
    await moved.end()
    await line.close()
  })
})

describe('pooled connections after a failover', () => {
  it('are destroyed where they lead to the old primary, even during a statement', async () => {
    const line = await startLine(primary.port)
    const told = createSignal()
    const lines: Record<string, unknown>[] = []
    const write = (text: string) => {
      lines.push(JSON.parse(text) as Record<string, unknown>)
      told.notify()
    }
    const db = openDb(urlOf([line.port, primary.port]), { log: pino({}, { write }) })
    await db.query('select 1')
    let ended: unknown
    line.fallSilent()
    void db.query('select 1').catch((error: unknown) => {
      ended = error
      told.notify()
    })
    const moved = () => lines.find(({ msg }) => msg === 'database.primary_moved')
    await told.until(() => moved() !== undefined, { describe: () => 'it does not move' })
    expect(moved()).toMatchObject({
      from: `127.0.0.1:${line.port}`,
      to: `127.0.0.1:${primary.port}`,
    })
    await told.until(() => ended !== undefined, { describe: () => 'the statement goes on' })
    expect(ended).toBeInstanceOf(DatabaseUnavailableError)
    expect(db.stats.connections).toBe(0)
    await db.query('select 1')
    await line.close()
  })
})

describe('a connection whose server becomes read-only', () => {
  it('is not used again', async () => {
    const db = openDb(primary.url, { poolMax: 1 })
    const pidOf = async () =>
      (await db.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]?.pid
    const before = await pidOf()
    await db.query('set default_transaction_read_only = on')
    await expect(db.query('create table never (a int)')).rejects.toBeInstanceOf(
      DatabaseUnavailableError,
    )
    expect(await pidOf()).not.toBe(before)
    await db.query('create table once (a int)')
  })
})
