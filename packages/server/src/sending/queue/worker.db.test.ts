import { firstScript, type SmtpContext, type SmtpPhase } from '@postrider/testkit'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  accept,
  attemptsOf,
  drain,
  eventsOf,
  inShort,
  queueOf,
  recipientsOf,
  runOutClaims,
  useSending,
} from '../../../test/sender.ts'
import { addMailer } from '../../../test/sending.ts'
import { createClock } from '../../platform/clock.ts'
import { DatabaseUnavailableError, type Db, type Tx } from '../../platform/db/index.ts'
import { bucketCount, bucketOf } from '../../platform/db/leases.ts'
import { createWakeups } from '../../webhooks/index.ts'
import { createFinishAttempts } from '../results/finish-attempts.ts'
import { claimDue, discoverQueues } from './claim/claim-store.ts'
import { createQueueWakeups } from './queue-wakeups.ts'
import type { Sender } from './worker.ts'

const world = useSending()
const shorts = async () => (await eventsOf(world.db)).map(inShort)
/** A script that holds the reply at `phase` of one attempt back until it is let go. */
function hold(phase: SmtpPhase, attempt = 1) {
  const gate = Promise.withResolvers<void>()
  const reached = Promise.withResolvers<void>()
  const script = (now: SmtpContext) => {
    if (now.phase !== phase || now.attempt !== attempt) return undefined
    reached.resolve()
    return { after: gate.promise }
  }
  return { script, reached: reached.promise, letGo: gate.resolve }
}

/** Ada, and others. */
function to(count: number) {
  const names = Array.from({ length: count }, (_, i) => (i === 0 ? 'ada' : `r${i}`))
  return names.map((name) => ({ email: `${name}@example.com` }))
}

/** A mailer, an email, and a sender whose first attempt stands at `phase` until `letGo`. */
async function standAt(
  phase: 'rcpt' | 'dot',
  mailer: Parameters<typeof addMailer>[1] = {},
  o: Parameters<typeof world.sender>[0] = {},
  recipients = to(1),
) {
  const { script, reached, letGo } = hold(phase)
  const server = await world.serve(script)
  await addMailer(world.db, { port: server.port, ...mailer })
  const refId = await accept(world.db, { to: recipients })
  const outcomes: string[] = []
  const stalled = world.sender({ observe: ({ outcome }) => outcomes.push(outcome), ...o })
  const running = stalled.runOnce()
  await reached
  return {
    server,
    refId,
    outcomes,
    stalled,
    async letGo() {
      letGo()
      await running
    },
  }
}

/** The database, with commits that fail while `mode` says so. */
function brittle(on: Db) {
  const self = {
    mode: 'fine' as 'fine' | 'away' | 'lost-answer',
    failures: 0,
    onFailure: (): void => undefined,
  }
  const fail = (isCommitUnknown: boolean) => {
    self.failures += 1
    self.onFailure()
    return new DatabaseUnavailableError('away', { isCommitUnknown })
  }
  const db: Db = {
    query: (...args) => (self.mode === 'away' ? Promise.reject(fail(false)) : on.query(...args)),
    async transaction<T>(work: (tx: Tx) => Promise<T>) {
      if (self.mode === 'away') throw fail(false)
      const result = await on.transaction(work)
      if (self.mode === 'lost-answer') throw fail(true)
      return result
    },
    close: on.close,
    get stats() {
      return on.stats
    },
  }
  return { db, self }
}

describe('a sender that dies or is suspended', () => {
  it('has its attempt repeated without an event when it dies before the commit point', async () => {
    const { server, refId, letGo } = await standAt('rcpt')
    await runOutClaims(world.db)
    await drain(world.db, world.sender())
    expect(await shorts()).toEqual(['MAIL_DELIVERED'])
    expect(await attemptsOf(world.db, refId)).toMatchObject([{ attempt: 1, outcome: 'accepted' }])
    await letGo()
    expect(server.transactions).toHaveLength(1)
  })

  it('never ends the message when it resumes before the commit point and has lost its claim', async () => {
    const { server, letGo, outcomes } = await standAt('rcpt')
    await world.db.query('update sending_queue set fence = fence + 1')
    await letGo()
    expect(server.transactions).toEqual([])
    expect(await queueOf(world.db)).toMatchObject([{ phase: 'sending', attempt: 1 }])
    expect(outcomes).toEqual([])
  })

  it('sends once when it resumes before the commit point while another sender has the attempt', async () => {
    const [first, second] = [hold('rcpt', 1), hold('rcpt', 2)]
    const server = await world.serve(firstScript(first.script, second.script))
    await addMailer(world.db, { port: server.port })
    const refId = await accept(world.db)
    const late = world.sender().runOnce()
    await first.reached
    await runOutClaims(world.db)
    const next = world.sender().runOnce()
    await second.reached
    first.letGo()
    await late
    expect(server.transactions).toEqual([])
    second.letGo()
    await next
    expect(server.transactions).toHaveLength(1)
    expect(await attemptsOf(world.db, refId)).toMatchObject([{ attempt: 1, outcome: 'accepted' }])
  })

  it('never ends the message when it resumes after its claim has expired, though nobody has it', async () => {
    const { server, letGo } = await standAt('rcpt')
    await runOutClaims(world.db)
    await letGo()
    expect(server.transactions).toEqual([])
    await drain(world.db, world.sender())
    expect(await shorts()).toEqual(['MAIL_DELIVERED'])
  })

  it('leaves an uncertain attempt when it dies after the commit point, and the next one follows', async () => {
    const { server, refId, letGo, outcomes } = await standAt('dot')
    await runOutClaims(world.db)
    await drain(world.db, world.sender())
    await letGo()
    expect(await shorts()).toEqual(['SMTP_ERROR 1 retry', 'MAIL_DELIVERED'])
    const [failed] = await eventsOf(world.db)
    expect(failed?.details).toMatchObject({
      message_id: `<${refId}.0@example.com>`,
      failed_reason: 'Connection lost after end of data; the message may have been delivered',
    })
    expect(failed?.details).not.toHaveProperty('provider_error')
    expect(await attemptsOf(world.db, refId)).toMatchObject([
      { attempt: 1, outcome: 'uncertain' },
      { attempt: 2, outcome: 'accepted' },
    ])
    // Its late answer is fenced: no second terminal event, no second attempt row.
    expect(outcomes).toEqual(['lost'])
    expect(server.accepted).toBe(2)
  })

  it('leaves an uncertain attempt when its successor dies before looking at the row', async () => {
    const { server, refId, letGo } = await standAt('dot')
    await runOutClaims(world.db)
    const failpoints = { hit: () => stopped.resolve(next.stop()) }
    const stopped = Promise.withResolvers<void>()
    const next: Sender = world.sender({ failpoints, stopGraceMs: 20_000 })
    await next.start()
    await stopped.promise
    expect(await queueOf(world.db)).toMatchObject([{ phase: 'dot', attempt: 1 }])
    await drain(world.db, world.sender())
    await letGo()
    expect(await shorts()).toEqual(['SMTP_ERROR 1 retry', 'MAIL_DELIVERED'])
    expect(await attemptsOf(world.db, refId)).toMatchObject([
      { attempt: 1, outcome: 'uncertain' },
      { attempt: 2, outcome: 'accepted' },
    ])
    expect(server.accepted).toBe(2)
  })

  it('leaves an uncertain attempt when its successor dies right after its claim', async () => {
    const { server, letGo } = await standAt('dot')
    await runOutClaims(world.db)
    const [queue] = await discoverQueues(world.db, [...Array(bucketCount).keys()], 0)
    if (queue === undefined) throw new Error('nothing is due')
    const claims = await claimDue(world.db, queue, { isBulk: false, limit: 1, leaseMs: 60_000 })
    expect(claims).toMatchObject([{ was: 'dot' }])
    await runOutClaims(world.db)
    await drain(world.db, world.sender())
    await letGo()
    expect(await shorts()).toEqual(['SMTP_ERROR 1 retry', 'MAIL_DELIVERED'])
    expect(server.accepted).toBe(2)
  })

  it('is fenced when it answers after another sender has begun the next attempt', async () => {
    const [first, second] = [hold('dot'), hold('rcpt', 2)]
    const server = await world.serve(firstScript(first.script, second.script))
    await addMailer(world.db, { port: server.port })
    const refId = await accept(world.db)
    const late = world.sender().runOnce()
    await first.reached
    await runOutClaims(world.db)
    const other = world.sender()
    await other.runOnce()
    const next = other.runOnce()
    await second.reached
    first.letGo()
    await late
    expect(await queueOf(world.db)).toMatchObject([{ phase: 'sending', attempt: 2 }])
    expect(await shorts()).toEqual(['SMTP_ERROR 1 retry'])
    expect(await recipientsOf(world.db, refId)).toMatchObject([{ status: 'deferred' }])
    second.letGo()
    await next
    expect(await shorts()).toEqual(['SMTP_ERROR 1 retry', 'MAIL_DELIVERED'])
    expect(await attemptsOf(world.db, refId)).toMatchObject([{ attempt: 1 }, { attempt: 2 }])
  })

  it('fails the recipient under at_most_once when it dies after the commit point', async () => {
    const { server, refId, letGo, outcomes } = await standAt('dot', { uncertain: 'at_most_once' })
    await runOutClaims(world.db)
    await drain(world.db, world.sender())
    await letGo()
    expect(await shorts()).toEqual(['SMTP_ERROR 1 final'])
    expect(await recipientsOf(world.db, refId)).toMatchObject([{ status: 'failed', attempts: 1 }])
    expect(outcomes).toEqual(['lost'])
    expect(server.accepted).toBe(1)
  })

  it('gives a mail up that has interrupted three senders', async () => {
    const server = await world.serve({ 'ada@example.com': ['hang'] })
    await addMailer(world.db, { port: server.port })
    await accept(world.db)
    for (let crashes = 1; crashes <= 3; crashes++) {
      void world.sender().runOnce()
      await server.waitFor(() => server.connections[crashes - 1]?.phase === 'rcpt')
      await runOutClaims(world.db)
    }
    await drain(world.db, world.sender())
    const [event] = await eventsOf(world.db)
    expect(event?.details).toMatchObject({ attempt: 1, failed_reason: 'Internal error' })
    expect(await shorts()).toEqual(['SMTP_ERROR 1 final'])
    expect(server.connections).toHaveLength(3)
  })

  it('has twice-interrupted mails tried one at a time', async () => {
    let underWay = 0
    let most = 0
    const server = await world.serve(({ phase }) => {
      if (phase === 'mail') underWay += 1
      if (phase === 'dot') underWay -= 1
      most = Math.max(most, underWay)
      return undefined
    })
    for (const tenantId of ['tn_a', 'tn_b', 'tn_c']) {
      await addMailer(world.db, { tenantId, port: server.port })
      await accept(world.db, {}, tenantId)
      await accept(world.db, {}, tenantId)
    }
    await world.db.query(
      `update sending_queue set phase = 'sending', interrupted = 1, due_at = now()`,
    )
    await drain(world.db, world.sender())
    expect(await shorts()).toEqual(Array.from({ length: 6 }, () => 'MAIL_DELIVERED'))
    expect(most).toBe(1)
  })
})

describe('two senders on one database', () => {
  it('send every mail once when both claim at the same time', async () => {
    const server = await world.serve()
    await addMailer(world.db, { port: server.port })
    for (let i = 0; i < 6; i++) {
      const to = Array.from({ length: 10 }, (_, k) => ({ email: `r${i}-${k}@example.com` }))
      await accept(world.db, { to })
    }
    const [a, b] = [world.sender(), world.sender()]
    while ((await queueOf(world.db)).length > 0) await Promise.all([a.runOnce(), b.runOnce()])
    expect(server.accepted).toBe(60)
    expect(new Set(server.messages.map((one) => one.recipients.join())).size).toBe(60)
    expect(await shorts()).toEqual(Array.from({ length: 60 }, () => 'MAIL_DELIVERED'))
  })

  it('[S9] begins no attempt whose claim expired while it was suspended', async () => {
    const { script, reached, letGo } = hold('rcpt')
    const server = await world.serve(script)
    await addMailer(world.db, { port: server.port, limits: { connections: 1 } })
    for (let i = 0; i < 3; i++) await accept(world.db, { to: [{ email: `r${i}@example.com` }] })
    let nowMs = 0
    const stalled = world.sender({ monotonicMs: () => nowMs })
    const running = stalled.runOnce()
    await reached
    nowMs = 60_000
    letGo()
    await running
    expect(server.messages.map((one) => one.recipients)).toEqual([['r0@example.com']])
    // Nothing was begun: it does not count as an interruption, however often it happens.
    const undone = { phase: 'waiting', attempt: 1, interrupted: 0 }
    expect(await queueOf(world.db)).toMatchObject([undone, undone])
    await drain(world.db, world.sender())
    expect(server.accepted).toBe(3)
  })
})

describe('[S9] a sender that was suspended', () => {
  it('does not treat its own claimed rows as interrupted', async () => {
    const { script, reached, letGo } = hold('rcpt')
    const server = await world.serve(script)
    await addMailer(world.db, { port: server.port, limits: { connections: 1 } })
    await accept(world.db, { to: to(3) })
    const claimedAgain = Promise.withResolvers<void>()
    let claims = 0
    const watched: Db = {
      ...world.db,
      async query(s, values) {
        const answer = await world.db.query<never>(s, values)
        if (typeof s === 'object' && s.name === 'sending.claim') claims += 1
        if (claims === 2) claimedAgain.resolve()
        return answer
      },
      transaction: world.db.transaction,
    }
    let nowMs = 0
    const sender = world.sender({ monotonicMs: () => nowMs }, watched)
    const running = sender.runOnce()
    await reached
    nowMs = 60_000
    await runOutClaims(world.db)
    const again = sender.runOnce()
    await claimedAgain.promise
    const mine = { phase: 'sending', interrupted: 0 }
    expect(await queueOf(world.db)).toMatchObject([mine, mine, mine])
    letGo()
    await Promise.all([running, again])
    expect(server.accepted).toBe(3)
  })
})

describe('a database outage', () => {
  it('does not lose the answer of the server: it is written when the database is back', async () => {
    const { db, self } = brittle(world.db)
    const server = await world.serve(({ phase }) => {
      if (phase === 'dot') self.mode = 'away'
      return undefined
    })
    self.onFailure = () => {
      if (self.failures === 2) self.mode = 'fine'
    }
    await addMailer(world.db, { port: server.port })
    await accept(world.db)
    await drain(world.db, world.sender({}, db))
    expect(self.failures).toBe(2)
    expect(await shorts()).toEqual(['MAIL_DELIVERED'])
    expect(server.accepted).toBe(1)
  })

  it('writes nothing twice when it begins after the commit of the answer', async () => {
    const { db, self } = brittle(world.db)
    const server = await world.serve(({ phase }) => {
      if (phase === 'dot') self.mode = 'lost-answer'
      return undefined
    })
    self.onFailure = () => {
      self.mode = 'fine'
    }
    await addMailer(world.db, { port: server.port })
    const refId = await accept(world.db)
    await drain(world.db, world.sender({}, db))
    expect(self.failures).toBe(1)
    expect(await shorts()).toEqual(['MAIL_DELIVERED'])
    expect(await attemptsOf(world.db, refId)).toHaveLength(1)
  })

  it.each(['away', 'lost-answer'] as const)(
    'a database outage at the commit point (%s) ends the attempt unsent, and repeats it without an event',
    async (mode) => {
      const { db, self } = brittle(world.db)
      const server = await world.serve(({ phase, attempt }) => {
        if (phase === 'data' && attempt === 1) self.mode = mode
        return undefined
      })
      self.onFailure = () => {
        self.mode = 'fine'
      }
      await addMailer(world.db, { port: server.port })
      const refId = await accept(world.db)
      const sender = world.sender({}, db)
      await sender.runOnce()
      expect(server.transactions).toEqual([])
      expect(await queueOf(world.db)).toMatchObject([{ phase: 'waiting', attempt: 1 }])
      await world.db.query('update sending_queue set due_at = now()')
      await drain(world.db, sender)
      expect(await shorts()).toEqual(['MAIL_DELIVERED'])
      expect(await attemptsOf(world.db, refId)).toMatchObject([{ attempt: 1 }])
      expect(server.accepted).toBe(1)
    },
  )

  it('between claim and load gives the claim back without counting it', async () => {
    const { db, self } = brittle(world.db)
    const server = await world.serve()
    await addMailer(world.db, { port: server.port })
    await accept(world.db)
    self.onFailure = () => {
      self.mode = 'fine'
    }
    const failpoints = {
      hit(name: string) {
        if (name === 'send.after_claim') self.mode = 'away'
      },
    }
    await world.sender({ failpoints }, db).runOnce()
    expect(await queueOf(world.db)).toMatchObject([
      { phase: 'waiting', attempt: 1, interrupted: 0 },
    ])
    expect(server.connections).toEqual([])
  })
})

describe('[S7] the transaction of a finish', () => {
  it.each([
    ['its event', 'webhooks_event', `event <> 'MAIL_DELIVERED'`],
    ['its attempt', 'sending_recipient', 'first_accepted_at is null'],
    ['the status', 'sending_recipient', `status <> 'delivered'`],
  ])('stores nothing when %s cannot be stored', async (_, table, rule) => {
    const server = await world.serve()
    await addMailer(world.db, { port: server.port })
    const refId = await accept(world.db)
    await world.db.query(`alter table ${table} add constraint never check (${rule})`)
    await world.sender().runOnce()
    await world.db.query(`alter table ${table} drop constraint never`)
    expect(server.accepted).toBe(1)
    expect(await shorts()).toEqual([])
    expect(await recipientsOf(world.db, refId)).toMatchObject([{ status: 'queued', attempts: 0 }])
    expect(await attemptsOf(world.db, refId)).toEqual([])
    expect(await queueOf(world.db)).toMatchObject([{ phase: 'dot', attempt: 1 }])
    await runOutClaims(world.db)
    await drain(world.db, world.sender())
    expect(await shorts()).toEqual(['SMTP_ERROR 1 retry', 'MAIL_DELIVERED'])
  })

  it('is repeated when the database refuses it for a while, with the event time of the retry', async () => {
    const server = await world.serve()
    await addMailer(world.db, { port: server.port })
    await accept(world.db)
    await world.db.query(`alter table webhooks_event add constraint never check (attempt < 0)`)
    const refused = Promise.withResolvers<void>()
    let isLeaping = true
    const clock = {
      now: () => new Date(),
      nowMicros: () => {
        if (!isLeaping) refused.resolve()
        isLeaping = false
        return BigInt(Date.now()) * 1000n
      },
    }
    const finishes = createFinishAttempts({
      db: world.db,
      clock,
      wakeups: createWakeups(),
      noteDeactivated: () => undefined,
    })
    const run = world.sender({ finishes, clock }).runOnce()
    await refused.promise
    await world.db.query(`alter table webhooks_event drop constraint never`)
    await run
    expect(server.accepted).toBe(1)
    expect(await shorts()).toEqual(['MAIL_DELIVERED'])
  })
})

describe('a stop', () => {
  it('ends a hanging conversation before the commit point, and gives all claimed mail back', async () => {
    const server = await world.serve({ 'ada@example.com': ['hang'] })
    await addMailer(world.db, { port: server.port, limits: { connections: 1 } })
    await accept(world.db)
    await accept(world.db, { to: [{ email: 'bob@example.com' }] })
    const sender = world.sender()
    await sender.start()
    await server.waitFor(() => server.connections[0]?.phase === 'rcpt')
    await sender.stop()
    await sender.stop()
    expect(await queueOf(world.db)).toMatchObject([
      { phase: 'waiting', attempt: 1, interrupted: 0 },
      { phase: 'waiting', attempt: 1, interrupted: 0 },
    ])
    expect(await shorts()).toEqual([])
    await server.waitFor(() => server.openConnections === 0)
    const { rows } = await world.db.query('select 1 from sending_queue where due_at > now()')
    expect(rows).toEqual([])
  })

  it('begins no attempt of rows that were just claimed', async () => {
    const server = await world.serve()
    await addMailer(world.db, { port: server.port })
    await accept(world.db)
    const stopped = Promise.withResolvers<void>()
    const failpoints = { hit: () => stopped.resolve(sender.stop()) }
    const sender: Sender = world.sender({ failpoints, stopGraceMs: 20_000 })
    await sender.start()
    await stopped.promise
    expect(server.connections).toEqual([])
    expect(await queueOf(world.db)).toMatchObject([
      { phase: 'waiting', attempt: 1, interrupted: 0 },
    ])
  })

  it('records conversations that it ends after the commit point as uncertain', async () => {
    const server = await world.serve({ 'ada@example.com': ['dot: hang'] })
    await addMailer(world.db, { port: server.port })
    await accept(world.db)
    const sender = world.sender()
    await sender.start()
    await server.waitFor(() => server.transactions.length === 1)
    await sender.stop()
    expect(await shorts()).toEqual(['SMTP_ERROR 1 retry'])
    expect(await queueOf(world.db)).toMatchObject([{ phase: 'waiting', attempt: 2 }])
  })

  it('ends a connection to a server that never greets', async () => {
    const server = await world.serve(({ phase }) =>
      phase === 'connect' ? { ending: 'hang' } : undefined,
    )
    await addMailer(world.db, { port: server.port })
    await accept(world.db)
    const sender = world.sender()
    await sender.start()
    await server.waitFor(() => server.connections.length === 1)
    await sender.stop()
    expect(await shorts()).toEqual([])
    expect(await queueOf(world.db)).toMatchObject([{ phase: 'waiting', attempt: 1 }])
  })

  it('lets attempts under way finish within the grace period', async () => {
    const { server, refId, stalled, letGo } = await standAt('dot', {}, { stopGraceMs: 20_000 })
    const stopping = stalled.stop()
    await letGo()
    await stopping
    expect(await shorts()).toEqual(['MAIL_DELIVERED'])
    expect(server.transactions).toHaveLength(1)
    expect(await attemptsOf(world.db, refId)).toHaveLength(1)
  })

  it('ends while the database is away', async () => {
    const { db, self } = brittle(world.db)
    const server = await world.serve({ 'ada@example.com': ['hang'] })
    await addMailer(world.db, { port: server.port, limits: { connections: 1 } })
    await accept(world.db)
    await accept(world.db, { to: [{ email: 'bob@example.com' }] })
    const sender = world.sender({}, db)
    await sender.start()
    await server.waitFor(() => server.connections[0]?.phase === 'rcpt')
    self.mode = 'away'
    await sender.stop()
    self.mode = 'fine'
    expect(await queueOf(world.db)).toMatchObject([{ phase: 'sending' }, { phase: 'sending' }])
  })

  it('does nothing before a start', async () => {
    await world.sender().stop()
  })
})

describe('a started sender', () => {
  it('sends mail after a wake-up, and mail that becomes due', async () => {
    const server = await world.serve({ 'ada@example.com': ['451 4.3.0 later', 'ok'] })
    const { mailerId } = await addMailer(world.db, { port: server.port })
    const sender = world.sender()
    await sender.start()
    await accept(world.db)
    sender.wakeups.wake([{ tenantId: 'tn_a', mailerId, bucket: 0 }])
    await server.waitForMessages(1)
  })

  it('sends mail that another process has announced, without a sweep', async () => {
    const server = await world.serve()
    const { mailerId } = await addMailer(world.db, { port: server.port })
    let tell: (buckets: ReadonlySet<number>) => void = () => undefined
    const wakeups = createQueueWakeups({
      owned: () => new Set(),
      notify: () => undefined,
      onNotified(listener) {
        tell = listener
        return () => undefined
      },
    })
    const sender = world.sender({ wakeups, sweepMs: 2 ** 31 - 1 })
    await sender.start()
    await sender.runOnce()
    await accept(world.db)
    tell(new Set([bucketOf(mailerId)]))
    await server.waitForMessages(1)
  })

  it('sweeps less often when a sweep is expensive', async () => {
    const seen = Promise.withResolvers<void>()
    const again = Promise.withResolvers<void>()
    let nowMs = 0
    let sweeps = 0
    let looks = 0
    const db: Db = {
      ...world.db,
      async query(s, values) {
        const name = typeof s === 'string' ? s : s.name
        if (name === 'sending.any_due' && ++sweeps === 10) seen.resolve()
        if (name === 'sending.discover_queues') {
          looks += 1
          nowMs += 60
          if (looks === 2) again.resolve()
        }
        return world.db.query(s, values)
      },
    }
    const sender = world.sender({ sweepMs: 1, monotonicMs: () => nowMs }, db)
    await sender.start()
    await seen.promise
    expect(looks).toBe(1)
    nowMs = 3_001
    await again.promise
  })

  it('serves other mailers while servers hang', async () => {
    const [hanging, fine] = [
      await world.serve({ 'ada@example.com': ['hang'] }),
      await world.serve(),
    ]
    for (let i = 0; i < 4; i++) {
      const { mailerId } = await addMailer(world.db, { port: hanging.port })
      await accept(world.db, { mailer_id: mailerId })
    }
    await addMailer(world.db, { tenantId: 'tn_b', port: fine.port })
    const sender = world.sender({ concurrency: 2 })
    await sender.start()
    await hanging.waitFor(() => hanging.openConnections === 2)
    await accept(world.db, { to: [{ email: 'bob@example.com' }] }, 'tn_b')
    await fine.waitForMessages(1)
  })
})

describe('servers that hang', () => {
  it('leave rows leased only for attempts under way; other rows go back to the queue', async () => {
    const server = await world.serve(({ phase }) =>
      phase === 'rcpt' ? { ending: 'hang' } : undefined,
    )
    await addMailer(world.db, { port: server.port, limits: { connections: 1 } })
    await accept(world.db, { to: to(10) })
    const finishes = createFinishAttempts({
      db: world.db,
      clock: createClock(),
      wakeups: createWakeups(),
      noteDeactivated: () => undefined,
    })
    const givenBack = Promise.withResolvers<void>()
    let ends = 0
    const sender = world.sender({
      finishes: {
        ...finishes,
        async end(ending) {
          const ended = await finishes.end(ending)
          ends += 1
          if (ends === 3) givenBack.resolve()
          return ended
        },
      },
    })
    await sender.start()
    await givenBack.promise
    const phases = (await queueOf(world.db)).map((row) => `${row.phase} ${row.interrupted}`)
    expect(phases.toSorted()).toEqual([
      'sending 0',
      ...Array.from({ length: 9 }, () => 'waiting 0'),
    ])
    expect(server.connections).toHaveLength(1)
  })

  it('leave the budget for large emails to other tenants', async () => {
    const [hanging, fine] = [
      await world.serve(({ phase }) => (phase === 'rcpt' ? { ending: 'hang' } : undefined)),
      await world.serve(),
    ]
    await addMailer(world.db, { port: hanging.port })
    await addMailer(world.db, { tenantId: 'tn_b', port: fine.port })
    await accept(world.db, { to: to(4) })
    await world.db.query('update sending_queue set content_bytes = 33000000')
    const sender = world.sender()
    await sender.start()
    await hanging.waitFor(() => hanging.connections[0]?.phase === 'rcpt')
    await world.db.transaction(async (tx) => {
      await accept({ ...world.db, query: tx.query, transaction: (work) => work(tx) }, {}, 'tn_b')
      await tx.query(`update sending_queue set content_bytes = 90000000 where tenant_id = 'tn_b'`)
    })
    await fine.waitForMessages(1)
    expect(hanging.connections).toHaveLength(1)
  })
})

describe('the budget for large emails', () => {
  it('bounds the large emails that are under way at the same time', async () => {
    let underWay = 0
    let most = 0
    const server = await world.serve(({ phase }) => {
      if (phase === 'mail') underWay += 1
      if (phase === 'dot') underWay -= 1
      most = Math.max(most, underWay)
      return undefined
    })
    await addMailer(world.db, { port: server.port })
    for (let i = 0; i < 4; i++) await accept(world.db, { to: [{ email: `r${i}@example.com` }] })
    await world.db.query('update sending_queue set content_bytes = 30000000')
    await drain(world.db, world.sender())
    expect(server.accepted).toBe(4)
    expect(most).toBe(1)
  })

  it('does not delay small emails behind large ones that wait', async () => {
    const { script, reached, letGo } = hold('rcpt')
    const server = await world.serve((now) =>
      now.recipient === 'small@example.com' ? undefined : script(now),
    )
    await addMailer(world.db, { port: server.port })
    await accept(world.db, { to: to(2) })
    await world.db.query('update sending_queue set content_bytes = 30000000')
    const small = await accept(world.db, { to: [{ email: 'small@example.com' }] })
    await world.db.query(
      `update sending_queue set due_at = due_at - interval '1 second' where ref_id <> $1`,
      [small],
    )
    const running = world.sender().runOnce()
    await reached
    await server.waitForMessages(1)
    expect(server.messages[0]?.recipients).toEqual(['small@example.com'])
    letGo()
    await running
    expect(server.accepted).toBe(3)
  })
})

describe('a mailer that changes while its mail is claimed ahead', () => {
  const standing = async () => {
    let nowMs = 0
    const all = await standAt(
      'rcpt',
      { limits: { connections: 1 } },
      { monotonicMs: () => nowMs },
      to(3),
    )
    return {
      ...all,
      async letGoLater() {
        nowMs = 1_000
        await all.letGo()
      },
    }
  }

  it('is used with its new configuration', async () => {
    const { server, letGoLater } = await standing()
    const other = await world.serve()
    await world.db.query(
      'update mailers_mailer set port = $1, config_version = config_version + 1',
      [other.port],
    )
    await letGoLater()
    expect(server.accepted).toBe(1)
    expect(other.accepted).toBe(2)
  })

  it('is not used any more when it was deleted', async () => {
    const { server, letGoLater } = await standing()
    await world.db.query('delete from mailers_mailer')
    await letGoLater()
    expect(server.accepted).toBe(1)
    expect(await shorts()).toEqual(['MAIL_DELIVERED', 'SMTP_ERROR 1 final', 'SMTP_ERROR 1 final'])
  })

  it('keeps its mail when it was deactivated', async () => {
    const { server, letGoLater } = await standing()
    await world.db.query(`update mailers_mailer set state = 'deactivated'`)
    await letGoLater()
    expect(server.accepted).toBe(1)
    expect(await queueOf(world.db)).toMatchObject([
      { phase: 'waiting', attempt: 1 },
      { phase: 'waiting', attempt: 1 },
    ])
  })
})

describe('an email to many recipients', () => {
  it('reaches each of 1,000 recipients once', async () => {
    const server = await world.serve()
    await addMailer(world.db, { port: server.port })
    const to = Array.from({ length: 1000 }, (_, i) => ({ email: `r${i}@example.com` }))
    await accept(world.db, { to })
    await drain(world.db, world.sender({ concurrency: 64 }))
    expect(new Set(server.messages.map((one) => one.recipients.join())).size).toBe(1000)
    expect(server.accepted).toBe(1000)
    const counts = await world.db.query(
      'select count(*)::int as n, count(distinct event_at)::int as times from webhooks_event',
    )
    expect(counts.rows).toEqual([{ n: 1000, times: 1000 }])
  })

  it('reads a large attachment once', async () => {
    const server = await world.serve()
    await addMailer(world.db, { port: server.port })
    const to = Array.from({ length: 40 }, (_, i) => ({ email: `r${i}@example.com` }))
    const content = 'AAAA'.repeat(100_000)
    await accept(world.db, { to, attachments: [{ filename: 'a', content }] })
    let reads = 0
    const counting: Db = {
      ...world.db,
      query: (s, values) => {
        if (typeof s === 'object' && s.name === 'sending.load_content') reads += 1
        return world.db.query(s, values)
      },
      transaction: world.db.transaction,
    }
    await drain(world.db, world.sender({}, counting))
    expect(server.accepted).toBe(40)
    expect(reads).toBe(1)
  })
})

describe('whatever servers say (architecture: exactly one terminal event per recipient)', () => {
  const step = fc.constantFrom(
    'ok',
    'ok',
    '450 4.2.0 later',
    '550 5.1.1 unknown',
    '421 4.3.2 bye >> fin',
    'rst',
    'garbage',
    'data: 451 4.3.0 later',
    'data: fin',
    'body: rst',
    'dot: 451 4.3.0 later',
    'dot: 554 5.7.1 spam',
    'dot: rst',
    'dot: fin',
    'dot: 250 2.0.0 ok >> rst',
  )
  const script = fc.array(step, { minLength: 1, maxLength: 4 })

  it('ends the series of attempts once, numbered without gaps, as the server saw it', async () => {
    const server = await world.serve()
    let run = 0
    await fc.assert(
      fc.asyncProperty(
        fc.array(script, { minLength: 1, maxLength: 5 }),
        fc.integer({ min: 1, max: 4 }),
        fc.constantFrom('at_least_once' as const, 'at_most_once' as const),
        async (scripts, maxAttempts, uncertain) => {
          run += 1
          const addresses = scripts.map((_, i) => `r${run}-${i}@example.com`)
          server.setScript(Object.fromEntries(addresses.map((to, i) => [to, scripts[i] ?? []])))
          const { mailerId } = await addMailer(world.db, { port: server.port, uncertain })
          const refId = await accept(world.db, {
            mailer_id: mailerId,
            to: addresses.map((email) => ({ email })),
            settings: { max_attempts: maxAttempts },
          })
          await drain(world.db, world.sender())
          const events = await eventsOf(world.db, refId)
          const attempts = await attemptsOf(world.db, refId)
          const recipients = await recipientsOf(world.db, refId)
          for (const [n, email] of addresses.entries()) {
            const own = events.filter((one) => one.details.email[0] === email)
            const rows = attempts.filter((one) => one.n === n)
            const copies = server.messages.filter((one) => one.recipients[0] === email).length
            const failed = own.filter((one) => one.event === 'SMTP_ERROR')
            const delivered = own.filter((one) => one.event === 'MAIL_DELIVERED').length
            const final = failed.filter((one) => one.details.retry_scheduled === false).length
            const unsure = rows.filter((one) => one.outcome === 'uncertain').length
            expect(final + delivered).toBe(1)
            expect(rows.map((one) => one.attempt)).toEqual(rows.map((_, i) => i + 1))
            expect(rows.length).toBeLessThanOrEqual(maxAttempts)
            expect(failed.map((one) => one.details.attempt)).toEqual(failed.map((_, i) => i + 1))
            expect(rows.length).toBe(failed.length + delivered)
            expect(rows.map((one) => one.retry_scheduled)).toEqual(
              rows.map((_, i) => i < rows.length - 1),
            )
            expect(recipients[n]).toMatchObject({
              status: delivered === 1 ? 'delivered' : 'failed',
              attempts: rows.length,
            })
            expect(copies).toBeLessThanOrEqual(delivered + unsure)
            expect(copies).toBeGreaterThanOrEqual(delivered)
            if (uncertain === 'at_most_once') expect(copies).toBeLessThanOrEqual(1)
          }
        },
      ),
      { numRuns: 30 },
    )
  })
})
