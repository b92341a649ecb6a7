import { createSmtpServer, type SmtpServer, type SmtpServerOptions } from '@postrider/testkit'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts'
import { createEgress, EgressError } from '../../platform/egress/index.ts'
import { createLogger } from '../../platform/log.ts'
import {
  createSmtpPool,
  type SmtpMailerForSend,
  type SmtpPool,
  type SmtpPoolDeps,
} from '../index.ts'
import { getMailer, insertMailer } from '../store.ts'

let database: TestDatabase
const egress = createEgress({ allowNetworks: ['127.0.0.0/8'] })
const log = createLogger({ level: 'silent' })
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(async () => {
  await egress.close()
  await database.close()
})

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

async function serve(o?: SmtpServerOptions): Promise<SmtpServer> {
  const server = await createSmtpServer(o)
  cleanups.push(() => server.close())
  return server
}

function poolWith(o: Partial<SmtpPoolDeps> = {}): SmtpPool {
  const pool = createSmtpPool({
    egress,
    db: database.db,
    log,
    ehloName: 'sender.example.com',
    accessTokens: { get: async () => ({ kind: 'inactive' }) },
    authConfirmDelayMs: 0,
    ...o,
  })
  cleanups.push(() => pool.stop())
  return pool
}

function mailerOn(server: SmtpServer, change: Partial<SmtpMailerForSend> = {}): SmtpMailerForSend {
  return {
    kind: 'smtp',
    tenantId: 'tn_1',
    mailerId: 'smtp_1',
    email: 'news@example.com',
    state: 'active',
    isOauth: false,
    host: '127.0.0.1',
    port: server.port,
    secure: 'None',
    tlsVerify: true,
    uncertain: 'at_least_once',
    connectionsMax: 2,
    messagesMax: 100,
    rates: {},
    hostEverWorked: true,
    isFetched: false,
    configVersion: 1,
    ...change,
  }
}

const soon = () => performance.now() + 20_000

/** Sends one message through the pool; answers how it went. */
async function send(pool: SmtpPool, mailer: SmtpMailerForSend, o?: { isFresh?: boolean }) {
  const done = await pool.withSession(
    mailer,
    soon(),
    (session) =>
      session.send({
        from: 'news@example.com',
        to: 'a@example.com',
        message: Buffer.from('Subject: hello\r\n\r\nhello\r\n'),
        smtpUtf8: false,
        deadlineAt: soon(),
        beforeFinalDot: async () => undefined,
      }),
    o,
  )
  return done.kind === 'done' ? done.value.kind : done.kind
}

/** A session lent until `release`. */
async function borrow(pool: SmtpPool, mailer: SmtpMailerForSend) {
  const acquired = await pool.acquire(mailer, soon())
  if (acquired.kind !== 'session') throw new Error(`no session: ${acquired.kind}`)
  return acquired
}

describe('the pool', () => {
  it('uses one connection for message after message', async () => {
    const server = await serve()
    const pool = poolWith()
    for (let i = 0; i < 5; i += 1) expect(await send(pool, mailerOn(server))).toBe('accepted')
    expect(server.connections).toHaveLength(1)
    expect(server.accepted).toBe(5)
  })

  it('closes a connection after its share of messages', async () => {
    const server = await serve()
    const pool = poolWith()
    const mailer = mailerOn(server, { messagesMax: 2 })
    for (let i = 0; i < 5; i += 1) await send(pool, mailer)
    expect(server.connections).toHaveLength(3)
  })

  it('closes a connection at its maximum age', async () => {
    const server = await serve()
    const pool = poolWith({ ageMsMax: 0 })
    for (let i = 0; i < 2; i += 1) await send(pool, mailerOn(server))
    expect(server.connections).toHaveLength(2)
  })

  it('closes idle connections and forgets the mailer', async () => {
    const server = await serve()
    const pool = poolWith({ idleMsMax: 10 })
    await send(pool, mailerOn(server))
    await server.waitFor(() => server.openConnections === 0)
    expect(pool.stats).toEqual({ open: 0, idle: 0, waiting: 0 })
    expect(server.connections[0]?.commands.at(-1)).toBe('QUIT')
  })

  it('opens no more connections than the mailer may have, however many callers wait', async () => {
    const server = await serve()
    let most = 0
    const watch = () => {
      most = Math.max(most, server.openConnections)
    }
    server.setScript(() => {
      watch()
      return undefined
    })
    const pool = poolWith()
    const mailer = mailerOn(server, { connectionsMax: 3 })
    const results = await Promise.all(Array.from({ length: 50 }, () => send(pool, mailer)))
    expect(new Set(results)).toEqual(new Set(['accepted']))
    expect(most).toBe(3)
    expect(server.accepted).toBe(50)
    expect(pool.stats).toMatchObject({ open: 3, idle: 3, waiting: 0 })
  })

  it('serves callers in order', async () => {
    const server = await serve()
    const pool = poolWith()
    const mailer = mailerOn(server, { connectionsMax: 1 })
    const lent = await borrow(pool, mailer)
    const order: number[] = []
    const waiting = [1, 2, 3].map((n) =>
      pool.withSession(mailer, soon(), async () => {
        order.push(n)
      }),
    )
    lent.release()
    lent.release()
    await Promise.all(waiting)
    expect(order).toEqual([1, 2, 3])
    expect(server.connections).toHaveLength(1)
  })

  it('tells a caller at its deadline that all connections were busy, which is no attempt', async () => {
    const server = await serve()
    const pool = poolWith()
    const mailer = mailerOn(server, { connectionsMax: 1 })
    const lent = await borrow(pool, mailer)
    expect(await pool.acquire(mailer, performance.now() + 10)).toEqual({ kind: 'busy' })
    lent.release()
    expect(await send(pool, mailer)).toBe('accepted')
  })

  it('does not lend a connection that closed while it was idle', async () => {
    const server = await serve({ script: { 'a@example.com': ['dot: 250 2.0.0 ok >> fin', 'ok'] } })
    const pool = poolWith()
    const lent = await borrow(pool, mailerOn(server))
    const other = await borrow(pool, mailerOn(server))
    other.release()
    expect(await send(pool, mailerOn(server))).toBe('accepted')
    await server.waitFor(() => server.openConnections === 1)
    expect(other.session.isUsable).toBe(false)
    expect(await send(pool, mailerOn(server))).toBe('accepted')
    expect(server.connections).toHaveLength(3)
    lent.release()
  })

  it('opens a new connection on request', async () => {
    const server = await serve()
    const pool = poolWith()
    await send(pool, mailerOn(server))
    expect(await send(pool, mailerOn(server), { isFresh: true })).toBe('accepted')
    expect(server.connections).toHaveLength(2)
    expect(pool.stats.open).toBe(1)
  })

  it('closes connections of an older configuration, lent ones on their return', async () => {
    const server = await serve()
    const pool = poolWith()
    const [lent, other] = [
      await borrow(pool, mailerOn(server)),
      await borrow(pool, mailerOn(server)),
    ]
    other.release()
    const changed = mailerOn(server, { configVersion: 2, connectionsMax: 1 })
    const waiting = send(pool, changed)
    expect(pool.stats).toMatchObject({ open: 1, idle: 0, waiting: 1 })
    lent.release()
    expect(await waiting).toBe('accepted')
    expect(pool.stats).toMatchObject({ open: 1, idle: 1 })
    expect(server.connections).toHaveLength(3)
  })

  it('opens a separate connection for an older version of the mailer, within the limit', async () => {
    const server = await serve()
    const pool = poolWith()
    await send(pool, mailerOn(server, { configVersion: 2, connectionsMax: 1 }))
    expect(await send(pool, mailerOn(server))).toBe('accepted')
    expect(server.connections).toHaveLength(2)
    expect(pool.stats).toEqual({ open: 0, idle: 0, waiting: 0 })
  })

  it('never lends the connection of one mailer to another', async () => {
    const server = await serve()
    const pool = poolWith()
    await send(pool, mailerOn(server))
    await send(pool, mailerOn(server, { mailerId: 'smtp_2' }))
    await send(pool, mailerOn(server, { tenantId: 'tn_2' }))
    expect(server.connections).toHaveLength(3)
  })

  it('closes a connection whose work failed', async () => {
    const server = await serve()
    const pool = poolWith()
    const failed = pool.withSession(mailerOn(server), soon(), async (session) => {
      session.close()
      throw new Error('stop')
    })
    await expect(failed).rejects.toThrow('stop')
    expect(pool.stats.open).toBe(0)
  })
})

describe('a server that cannot be reached', () => {
  it('makes the attempt fail, says whether it ever worked, and gives the place back', async () => {
    const server = await serve()
    await server.close()
    const pool = poolWith()
    const acquire = (hostEverWorked: boolean, mailerId: string) =>
      pool.acquire(mailerOn(server, { hostEverWorked, mailerId, connectionsMax: 1 }), soon())
    expect(await acquire(true, 'smtp_1')).toMatchObject({
      kind: 'failed',
      failure: { stage: 'connect', systemCode: 'ECONNREFUSED', hostEverWorked: true },
    })
    expect(await acquire(false, 'smtp_2')).toMatchObject({ failure: { hostEverWorked: false } })
    expect(pool.stats.open).toBe(0)
  })

  it('lets waiting callers try for themselves', async () => {
    const server = await serve()
    server.setScript(({ phase }) => (phase === 'connect' ? { ending: 'fin' } : undefined))
    const pool = poolWith()
    const mailer = mailerOn(server, { connectionsMax: 1 })
    const results = await Promise.all([1, 2, 3].map(() => pool.acquire(mailer, soon())))
    expect(results.map((result) => result.kind)).toEqual(['failed', 'failed', 'failed'])
  })

  it('makes waiting callers wait for a repeated login, and go on when it works', async () => {
    const gate = Promise.withResolvers<void>()
    const server = await serve({ auth: { users: { news: 'right' } } })
    server.setScript(({ phase, connection }) => {
      if (phase !== 'auth') return undefined
      return connection === 1 ? '535 5.7.8 not now' : { after: gate.promise }
    })
    const pool = poolWith()
    const mailer = mailerOn(server, { username: 'news', password: 'right' })
    const first = pool.acquire(mailer, soon())
    await server.waitFor(() => server.connections.length === 2)
    const other = pool.acquire(mailer, soon())
    expect(pool.stats).toMatchObject({ open: 1, waiting: 1 })
    gate.resolve()
    expect((await first).kind).toBe('session')
    // The first one has not given its own back.
    expect((await other).kind).toBe('session')
    expect(server.connections).toHaveLength(3)
  })

  it('is remembered in the database once it has answered', async () => {
    const server = await serve()
    const key = { tenantId: 'tn_1', mailerId: 'smtp_new' }
    await insertMailer(database.db, {
      ...key,
      name: 'n',
      email: 'news@example.com',
      configType: 'smtp',
      connectionType: 'basic',
      config: { host: '127.0.0.1', port: server.port, secure: 'None', tlsVerify: true },
      uncertain: 'at_least_once',
      limits: {},
      hostEverWorked: false,
    })
    const written = Promise.withResolvers<void>()
    const db: SmtpPoolDeps['db'] = {
      async query(s, values) {
        const result = await database.db.query(s, values)
        written.resolve()
        return result as never
      },
    }
    const mailer = mailerOn(server, { ...key, hostEverWorked: false })
    expect(await send(poolWith({ db }), mailer)).toBe('accepted')
    await written.promise
    expect(await getMailer(database.db, key.tenantId, key.mailerId)).toMatchObject({
      hostEverWorked: true,
    })
  })
})

describe('stopping the pool', () => {
  it('closes idle connections, ends openings and waits, and closes lent ones on their return', async () => {
    const server = await serve()
    const pool = poolWith()
    const lent = await borrow(pool, mailerOn(server))
    const idle = await borrow(pool, mailerOn(server))
    idle.release()
    const reached = Promise.withResolvers<void>()
    server.setScript(({ phase }) => {
      if (phase === 'connect') reached.resolve()
      return phase === 'connect' ? { ending: 'hang' } : undefined
    })
    const hanging = pool.acquire(
      mailerOn(server, { mailerId: 'smtp_2', connectionsMax: 1 }),
      soon(),
    )
    await reached.promise
    const waiting = pool.acquire(
      mailerOn(server, { mailerId: 'smtp_2', connectionsMax: 1 }),
      soon(),
    )
    await pool.stop()
    await pool.stop()
    expect(await waiting).toEqual({ kind: 'busy' })
    expect(await hanging).toEqual({ kind: 'busy' })
    expect(await pool.acquire(mailerOn(server), soon())).toEqual({ kind: 'busy' })
    lent.release()
    await server.waitFor(() => server.openConnections === 0)
  })

  it('works before anything was opened', async () => {
    await poolWith().stop()
  })
})

it.each([
  ['failed', 'transient', 'EOAUTH'],
  ['failed', 'app', 'EOAUTHAPP'],
  // So many at once that it is not believed: see oauth/tokens/refresh-token.ts.
  ['failed', 'revoked', 'EOAUTHAPP'],
  ['deactivated', 'revoked', 'EOAUTHREVOKED'],
] as const)('without a token (%s, %s) the attempt fails by %s', async (kind, verdict, code) => {
  const server = await serve()
  const failure = { verdict, providerError: 'no', isAnswered: true }
  const pool = poolWith({ accessTokens: { get: async () => ({ kind, failure }) } })
  const mailer = mailerOn(server, { isOauth: true, username: 'a@example.com' })
  expect(await pool.acquire(mailer, soon())).toMatchObject({
    kind: 'failed',
    failure: { stage: 'auth', systemCode: code, message: 'no' },
  })
  expect(server.connections).toEqual([])
})

it('is busy, which is no attempt, while the process has too many name lookups under way', async () => {
  const crowded = createEgress({
    allowNetworks: [],
    lookup: async () => {
      throw new EgressError('busy', 'too many names are being looked up')
    },
  })
  cleanups.push(() => crowded.close())
  const pool = poolWith({ egress: crowded })
  const mailer = { ...mailerOn(await serve()), host: 'mail.example.test' }
  expect(await pool.acquire(mailer, performance.now() + 60_000)).toEqual({ kind: 'busy' })
  expect(pool.stats.open).toBe(0)
})
