import { type AddressInfo, createServer } from 'node:net'
import pino from 'pino'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts'
import { startDatabaseProxy } from '../../../test/database-proxy.ts'
import { type Commits, watchCommits } from './commits.ts'
import { createDb } from './db.ts'
import { DatabaseUnavailableError, isUniqueViolation } from './errors.ts'
import type { Db } from './statement.ts'
import { statement } from './statement.ts'

const log = pino({ level: 'silent' })
let database: TestDatabase
let db: Db

beforeAll(async () => {
  database = await createTestDatabase({ isMigrated: false })
  db = database.db
  await db.query('create table item (id int primary key, note text)')
})
afterAll(() => database.close())

const insertItem = statement('insert_item', 'insert into item (id, note) values ($1, $2)')

/** Of the server (PostgreSQL's protocol, version 3). */
function messageOf(type: string, content: Buffer): Buffer {
  const head = Buffer.alloc(5)
  head.write(type, 0)
  head.writeInt32BE(content.length + 4, 1)
  return Buffer.concat([head, content])
}

async function ids(from: number): Promise<number[]> {
  const { rows } = await db.query<{ id: number }>(
    'select id from item where id >= $1 and id < $2 order by id',
    [from, from + 100],
  )
  return rows.map((row) => row.id)
}

describe('values', () => {
  it('returns 64-bit integers and dates as text, timestamps as Date, and parsed JSON', async () => {
    const { rows } = await db.query(
      `select 9007199254740993::int8 as big, '2026-11-20'::date as day, 1.10::numeric as exact,
              '2026-11-20 13:01:02.123456+00'::timestamptz as at, '{"a":1}'::jsonb as json`,
    )
    expect(rows).toEqual([
      {
        big: '9007199254740993',
        day: '2026-11-20',
        exact: '1.10',
        at: new Date('2026-11-20T13:01:02.123Z'),
        json: { a: 1 },
      },
    ])
  })

  it('uses UTC whatever the time zone of the server is', async () => {
    const { rows } = await db.query(`select '2026-11-20 23:30:00+00'::timestamptz::date as day`)
    expect(rows).toEqual([{ day: '2026-11-20' }])
  })
})

describe('transaction', () => {
  it('commits its work, and returns the result', async () => {
    const result = await db.transaction(async (tx) => {
      await tx.query(insertItem, [100, 'a'])
      await tx.query(insertItem, [101, 'b'])
      return 'done'
    })
    expect(result).toBe('done')
    expect(await ids(100)).toEqual([100, 101])
  })

  it('rolls back when its work fails, and passes the error on', async () => {
    const refusal = new Error('no')
    const attempt = db.transaction(async (tx) => {
      await tx.query(insertItem, [200, null])
      throw refusal
    })
    await expect(attempt).rejects.toBe(refusal)
    expect(await ids(200)).toEqual([])
  })

  it('rolls back all pipelined statements when one of them fails', async () => {
    const attempt = db.transaction((tx) =>
      Promise.all([300, 301, 300, 302].map((id) => tx.query(insertItem, [id, null]))),
    )
    const error = await attempt.catch((reason: unknown) => reason)
    expect(isUniqueViolation(error, 'item_pkey')).toBe(true)
    expect(isUniqueViolation(error, 'another')).toBe(false)
    expect(await ids(300)).toEqual([])
  })

  it('does not report success when its work swallowed a failure', async () => {
    const attempt = db.transaction(async (tx) => {
      await tx.query(insertItem, [400, null])
      await tx.query('select 1 / 0').catch(() => undefined)
    })
    await expect(attempt).rejects.toThrow('rolled back')
    expect(await ids(400)).toEqual([])
  })

  it('refuses statements after its end', async () => {
    const tx = await db.transaction((open) => Promise.resolve(open))
    await expect(tx.query('select 1')).rejects.toThrow('over')
  })

  it('commits without a flush on request only', async () => {
    const read = () =>
      db.transaction(
        async (tx) =>
          (await tx.query<{ synchronous_commit: string }>('show synchronous_commit')).rows,
        { synchronousCommit: 'off' },
      )
    expect(await read()).toEqual([{ synchronous_commit: 'off' }])
    const { rows } = await db.query('show synchronous_commit')
    expect(rows).toEqual([{ synchronous_commit: 'on' }])
  })

  it('leaves a usable connection behind every kind of failure', async () => {
    const one = createDb({ url: database.url, poolMax: 1, log, applicationName: 'one' })
    try {
      await one.transaction((tx) => tx.query('select 1 / 0')).catch(() => undefined)
      await one.query(insertItem, [100, 'again']).catch(() => undefined)
      await one.query(statement('unknown_table', 'select * from nowhere')).catch(() => undefined)
      await one.query('select pg_terminate_backend(pg_backend_pid())').catch(() => undefined)
      const circular: { self?: unknown } = {}
      circular.self = circular
      await one.query(insertItem, [500, circular]).catch(() => undefined)
      await one.query(insertItem, [501, 'fine'])
      expect(await ids(500)).toEqual([501])
      expect(one.stats).toMatchObject({ connections: 1, idle: 1, waiting: 0, max: 1 })
    } finally {
      await one.close()
    }
  })
})

describe('watchCommits', () => {
  const isAnyAfter = async (work: () => Promise<unknown>) => {
    const commits: Commits = { isAny: false }
    await watchCommits(commits, work).catch(() => undefined)
    return commits.isAny
  }

  it('reports a transaction, and a single writing statement', async () => {
    expect(await isAnyAfter(() => db.transaction((tx) => tx.query(insertItem, [800, null])))).toBe(
      true,
    )
    expect(await isAnyAfter(() => db.query(insertItem, [801, null]))).toBe(true)
    expect(await isAnyAfter(() => db.query('update item set note = null where id = 801'))).toBe(
      true,
    )
  })

  it('does not report reads and rollbacks', async () => {
    expect(await isAnyAfter(() => db.query('select note from item'))).toBe(false)
    expect(await isAnyAfter(() => db.query(insertItem, [800, null]))).toBe(false)
    const failing = () =>
      db.transaction(async (tx) => {
        await tx.query(insertItem, [802, null])
        throw new Error('no')
      })
    expect(await isAnyAfter(failing)).toBe(false)
  })
})

describe('an unavailable database', () => {
  const options = { poolMax: 1, log, applicationName: 'away' }

  it('is recognised when nothing listens', async () => {
    for (const url of ['postgresql://a:b@127.0.0.1:1/c', 'postgresql://a:b@/c?host=/nowhere']) {
      const away = createDb({ ...options, url })
      await expect(away.query('select 1')).rejects.toBeInstanceOf(DatabaseUnavailableError)
      await away.close()
    }
  })

  it('is recognised when the session ends in a transaction', async () => {
    const attempt = db.transaction(async (tx) => {
      await tx.query(insertItem, [600, null])
      await tx.query('select pg_terminate_backend(pg_backend_pid())')
    })
    await expect(attempt).rejects.toBeInstanceOf(DatabaseUnavailableError)
    expect(await ids(600)).toEqual([])
  })

  it('is recognised when no connection becomes free in time', async () => {
    const narrow = createDb({ ...options, url: database.url, connectTimeoutMs: 1_000 })
    await narrow.transaction(async () => {
      const error = await narrow.query('select 1').catch((reason: unknown) => reason)
      expect(error).toBeInstanceOf(DatabaseUnavailableError)
      expect(error).toHaveProperty('isCommitUnknown', false)
    })
    await narrow.close()
  })

  it('differs from a wrong statement and a wrong password', async () => {
    await expect(db.query('selec')).rejects.not.toBeInstanceOf(DatabaseUnavailableError)
    const url = database.url.replace(/:[^:@]*@/, ':wrong@')
    const wrong = createDb({ ...options, url })
    await expect(wrong.query('select 1')).rejects.not.toBeInstanceOf(DatabaseUnavailableError)
    await wrong.close()
  })

  it('has an unknown commit when the connection is lost at COMMIT', async () => {
    const proxy = await startDatabaseProxy(database.url, {
      isCut: (chunk) => chunk.includes('commit'),
    })
    const lossy = createDb({ ...options, url: proxy.url })
    const attempt = lossy.transaction((tx) => tx.query(insertItem, [700, null]))
    const error = await attempt.catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(DatabaseUnavailableError)
    expect(error).toHaveProperty('isCommitUnknown', true)
    await lossy.close()
    await proxy.close()
  })

  it.each([
    ['unknown for a statement that writes', insertItem.text, [710, null], true],
    ['none for a statement that reads', 'select note from item where id = $1', [1], false],
  ])('has the outcome of a single statement: %s', async (_what, text, values, isUnknown) => {
    const proxy = await startDatabaseProxy(database.url, {
      isCut: (chunk) => chunk.includes('item'),
    })
    const lossy = createDb({ ...options, url: proxy.url })
    const attempt = lossy.query(text, values)
    const error = await attempt.catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(DatabaseUnavailableError)
    expect(error).toHaveProperty('isCommitUnknown', isUnknown)
    await lossy.close()
    await proxy.close()
  })

  it('is recognised when the server stops while it accepts a connection', async () => {
    const server = createServer((socket) => {
      socket.on('error', () => undefined)
      socket.once('data', () => {
        const fatal = 'SFATAL\0C57P01\0Munexpected postmaster exit\0\0'
        socket.write(
          Buffer.concat([
            messageOf('R', Buffer.alloc(4)),
            messageOf('Z', Buffer.from('I')),
            messageOf('E', Buffer.from(fatal)),
          ]),
        )
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const dying = createDb({ ...options, url: `postgresql://postrider@127.0.0.1:${port}/x` })
    await expect(dying.query('select 1')).rejects.toBeInstanceOf(DatabaseUnavailableError)
    await dying.close()
    await new Promise((resolve) => server.close(resolve))
  })

  it('is connected to again by itself', async () => {
    let isAway = true
    const proxy = await startDatabaseProxy(database.url, { isCut: () => isAway })
    const flaky = createDb({ ...options, url: proxy.url })
    await expect(flaky.query('select 1')).rejects.toBeInstanceOf(DatabaseUnavailableError)
    isAway = false
    expect((await flaky.query('select 1 as one')).rows).toEqual([{ one: 1 }])
    await flaky.close()
    await proxy.close()
  })
})
