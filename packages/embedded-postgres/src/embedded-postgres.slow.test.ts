import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { copyPreparedData, type RunningProcess, startProcess } from '@postrider/testkit'
import pg from 'pg'
import pino from 'pino'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createEmbeddedPostgres, type EmbeddedPostgres } from './embedded-postgres.ts'
import { findPostmaster, removeStalePidFile, stopPostmaster } from './postmaster.ts'
import { isAlive, ownNamespace } from './process-identity.ts'

const log = pino({ level: 'silent' })
let root: string
let dataDir: string
let cleanUp: (() => Promise<unknown>)[]

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'postrider-embedded-'))
  dataDir = join(root, 'data')
  cleanUp = []
})
afterEach(async () => {
  for (const step of cleanUp.reverse()) await step()
  const left = findPostmaster(join(dataDir, 'postgres'))
  if (left) await stopPostmaster(left.pid)
  rmSync(root, { recursive: true, force: true })
})

const script = new URL('../test/service-main.ts', import.meta.url).pathname

async function startService(dir = dataDir): Promise<{ service: RunningProcess; url: string }> {
  const service = await startProcess({ script, args: [dir] })
  cleanUp.push(() => service.kill('SIGKILL'))
  const line = await service.waitForLine(/^(ready|refused) /, 45_000)
  return { service, url: line.replace(/^ready /, '') }
}

function embed(dir = dataDir, logger = log): EmbeddedPostgres {
  const embedded = createEmbeddedPostgres({ dataDir: dir, log: logger })
  cleanUp.push(() => embedded.stop())
  return embedded
}

function open(url: string): pg.Pool {
  const db = new pg.Pool({ connectionString: url, max: 2 })
  // A server that ends takes its idle connections with it.
  db.on('error', () => undefined)
  cleanUp.push(async () => {
    if (!db.ended) await db.end()
  })
  return db
}

/** The data of an earlier start, where the run has made them: a database that is made anew takes much longer. */
function startedBefore(): void {
  mkdirSync(dataDir)
  copyPreparedData(dataDir)
}

const serverPid = () => findPostmaster(join(dataDir, 'postgres'))?.pid ?? 0
const isRunning = () => serverPid() !== 0

/** A log that tells when a line was written. */
function watchedLog() {
  const waiting: { name: string; resolve: () => void }[] = []
  const write = (line: string) => {
    for (const one of waiting) if (line.includes(`"${one.name}"`)) one.resolve()
  }
  return {
    log: pino({ level: 'info' }, { write }),
    once: (name: string) =>
      new Promise<void>((resolve) => {
        waiting.push({ name, resolve })
      }),
  }
}

describe('a fresh data directory', () => {
  it('[contract 1] becomes a durable server, private to its user, that keeps stored data', async () => {
    const first = embed()
    await first.start()
    const db = open(first.url())
    const { rows } = await db.query(
      `select current_setting('server_encoding') as encoding, current_setting('data_checksums') as checksums,
              current_setting('listen_addresses') as addresses, current_setting('fsync') as fsync,
              current_setting('synchronous_commit') as synchronous_commit, current_setting('full_page_writes') as full_page_writes, current_setting('is_superuser') as is_superuser,
              (select datcollate from pg_database where datname = current_database()) as locale`,
    )
    expect(rows).toEqual([
      {
        ...{ encoding: 'UTF8', checksums: 'on', addresses: '', is_superuser: 'off', locale: 'C' },
        ...{ fsync: 'on', synchronous_commit: 'on', full_page_writes: 'on' },
      },
    ])
    await db.query('create table kept (id int)')
    await db.query('insert into kept values (1)')
    for (const file of ['postgres.json', 'postgres.log', 'lock'])
      expect(statSync(join(dataDir, file)).mode & 0o077).toBe(0)
    await db.end()
    await first.stop()
    expect(isRunning()).toBe(false)

    const second = embed()
    await second.start()
    expect(second.url()).toBe(first.url())
    expect((await open(second.url()).query('select id from kept')).rows).toEqual([{ id: 1 }])
    await second.stop()
    await second.stop()
  })

  it('has the library links, and replaces those of another installation', async () => {
    const link = join(dataDir, 'libraries', 'libpq.so.5')
    mkdirSync(join(dataDir, 'libraries'), { recursive: true })
    symlinkSync('/nonexistent/libpq.so.5.1', link)
    const embedded = embed()
    await embedded.start()
    expect(readlinkSync(link)).toMatch(/\/@embedded-postgres\/.*\/native\/lib\/libpq\.so\.5\.\d+$/)
    await embedded.stop()
  })

  it('is refused where its path would divide the search path of libraries', async () => {
    dataDir = join(root, 'a:b')
    await expect(embed().start()).rejects.toThrow(/a:b.*POSTRIDER_DATA_DIR/)
  })

  it('may have a path that is too long for a socket', async () => {
    dataDir = join(root, 'long'.repeat(40))
    const embedded = embed()
    await embedded.start()
    expect(embedded.url()).not.toContain('longlong')
    expect((await open(embedded.url()).query('select 1 as one')).rows).toEqual([{ one: 1 }])
    const socketDir = new URL(embedded.url().replace('@/', '@host/')).searchParams.get('host') ?? ''
    expect(statSync(socketDir).mode & 0o077).toBe(0)
    await embedded.stop()
    rmSync(socketDir, { recursive: true })
  })
})

describe('exclusive use', () => {
  it('refuses a second start with the pid of the first, which goes on', async () => {
    startedBefore()
    const { service, url } = await startService()
    const pid = serverPid()
    await expect(embed().start()).rejects.toThrow(`is in use by process ${service.pid}`)
    // The database's own lock proves it also when someone removed the file.
    rmSync(join(dataDir, 'lock'))
    await expect(embed().start()).rejects.toThrow(`is in use by process ${service.pid}`)
    expect(serverPid()).toBe(pid)
    expect((await open(url).query('select 1 as one')).rows).toEqual([{ one: 1 }])
    await service.kill('SIGTERM')
    expect(isRunning()).toBe(false)
  })

  it('admits one of several concurrent starts, and tells the others', async () => {
    const services = Array.from({ length: 4 }, () => embed())
    const results = await Promise.allSettled(services.map((service) => service.start()))
    expect(results.filter((result) => result.status === 'fulfilled')).toHaveLength(1)
    for (const result of results)
      if (result.status === 'rejected') expect(String(result.reason)).toContain('is in use')
  })
})

describe('a killed service', () => {
  beforeEach(startedBefore)

  it('leaves a server that the next start finds, takes over and stops', async () => {
    const { service, url } = await startService()
    const db = open(url)
    await db.query('create table kept (id int)')
    await db.query('insert into kept values (1)')
    const leftover = serverPid()
    await service.kill('SIGKILL')
    expect(serverPid()).toBe(leftover)

    const next = embed()
    await next.start()
    expect(serverPid()).not.toBe(leftover)
    expect((await open(next.url()).query('select id from kept')).rows).toEqual([{ id: 1 }])
    await next.stop()
    expect(isRunning()).toBe(false)
  })

  it('a killed service with a killed server is followed by a start that recovers committed data', async () => {
    const { service, url } = await startService()
    const db = open(url)
    await db.query('create table kept (id int)')
    await db.query('insert into kept values (1)')
    const pid = serverPid()
    await service.kill('SIGKILL')
    process.kill(pid, 'SIGKILL')

    const next = embed()
    await next.start()
    expect((await open(next.url()).query('select id from kept')).rows).toEqual([{ id: 1 }])
    await next.stop()
  })

  it('a killed service whose pid belongs to another process after a reboot does not block the next start', async () => {
    const first = embed()
    await first.start()
    await first.stop()
    const stranger = { pid: process.pid, startedAt: '1', namespace: ownNamespace() }
    writeFileSync(join(dataDir, 'lock'), JSON.stringify(stranger))
    writeFileSync(
      join(dataDir, 'postgres', 'postmaster.pid'),
      `${process.pid}\n${join(dataDir, 'postgres')}\n1700000000\n5432\n\n\n`,
    )
    const second = embed()
    await second.start()
    await second.stop()
  })
})

describe('a server that dies', () => {
  it('is started again while the service runs, and serves the same pool', async () => {
    startedBefore()
    const watched = watchedLog()
    const embedded = embed(dataDir, watched.log)
    await embedded.start()
    const db = open(embedded.url())
    await db.query('create table kept (id int)')
    await db.query('insert into kept values (1)')
    const died = serverPid()
    const isBack = watched.once('embedded_postgres.restarted')
    process.kill(died, 'SIGKILL')
    await isBack
    expect(serverPid()).not.toBe(died)
    expect((await db.query('select id from kept')).rows).toEqual([{ id: 1 }])
    await embedded.stop()
    expect(isRunning()).toBe(false)
  })
})

it.runIf(process.platform === 'linux')(
  'ends a frozen server with all its children, and starts another on its data',
  async () => {
    startedBefore()
    const embedded = embed()
    await embedded.start()
    const db = open(embedded.url())
    await db.query('create table kept (id int)')
    await db.query('insert into kept values (1)')
    const pid = serverPid()
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')
    const frozen = [pid, ...children.map(Number)]
    for (const one of frozen) process.kill(one, 'SIGSTOP')
    await stopPostmaster(pid, { fast: 50, immediate: 50 })
    await embedded.stop()

    const next = embed()
    await next.start()
    for (const one of frozen) expect(isAlive(one)).toBe(false)
    expect((await open(next.url()).query('select id from kept')).rows).toEqual([{ id: 1 }])
    await next.stop()
  },
)

describe('a start that cannot succeed', () => {
  it('names the version of data that another PostgreSQL made', async () => {
    startedBefore()
    const first = embed()
    await first.start()
    await first.stop()
    writeFileSync(join(dataDir, 'postgres', 'PG_VERSION'), '12\n')
    await expect(embed().start()).rejects.toThrow('made by PostgreSQL 12')
  })

  it('names the missing password of an existing database, and releases the directory', async () => {
    startedBefore()
    const first = embed()
    await first.start()
    await first.stop()
    rmSync(join(dataDir, 'postgres.json'))
    for (let time = 0; time < 2; time += 1)
      await expect(embed().start()).rejects.toThrow('postgres.json')
  })

  it('starts over after an interrupted first initialisation', async () => {
    mkdirSync(join(dataDir, 'postgres.new'), { recursive: true })
    writeFileSync(join(dataDir, 'postgres.new', 'half'), '')
    const embedded = embed()
    await embedded.start()
    await embedded.stop()
  })

  it('leaves nothing running when it is stopped meanwhile', async () => {
    const embedded = embed()
    const starting = embedded.start().catch(() => undefined)
    await embedded.stop()
    await starting
    expect(isRunning()).toBe(false)
    await embed().start()
  })
})

it('keeps a pid file whose server may still have orphans', () => {
  const database = join(dataDir, 'postgres')
  mkdirSync(database, { recursive: true })
  const pidFile = join(database, 'postmaster.pid')
  // No such process: PostgreSQL itself judges it by the shared memory that the file names.
  writeFileSync(pidFile, '4194305\n\n\n\n\n')
  removeStalePidFile(database)
  expect(readFileSync(pidFile, 'utf8')).toContain('4194305')
  expect(findPostmaster(database)).toBeUndefined()
})
