/** What is reported of recipients, and how it goes together with attempts that end at the same time. */
import { createSparkPostServer, type ScriptedAnswer } from '@postrider/testkit'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { untilBlocked } from '../../../test/blocked.ts'
import {
  accept,
  attemptsOf,
  drain,
  eventsOf,
  inShort,
  queueOf,
  recipientsOf,
  runOutClaims,
  TRACEPARENT,
  useSending,
} from '../../../test/sender.ts'
import { addDomainMailer, addMailer } from '../../../test/sending.ts'
import type { Tx } from '../../platform/db/index.ts'
import { dayOfUlid, ulidAtTime } from '../../platform/ids.ts'
import { indexOfStatus, type RecipientIndex, readRecipientIndex } from './recipient-index-store.ts'
import {
  lockReported,
  type ReportedStatus,
  reportStatuses,
  settleReported,
} from './report-store.ts'

const world = useSending()
const LATER = [3_600_000]

let mailerId: string
/** An email whose only attempt was cut off after the commit point; another waits, in an hour. */
let refId: string
beforeEach(async () => {
  const server = await world.serve({ 'ada@example.com': ['dot: rst'] })
  mailerId = (await addMailer(world.db, { port: server.port })).mailerId
  refId = await accept(world.db, { custom_args: { order: 7 } })
  await world.sender({ retryScheduleMs: LATER }).runOnce()
})

const run = <T>(work: (tx: Tx) => Promise<T>) => world.db.transaction(work)
const at = (n = 0) => ({ refId, n })
const lock = (...ns: number[]) => run((tx) => lockReported(tx, 'tn_a', ns.map(at)))
const report = (change: Omit<ReportedStatus, 'refId' | 'n'>, n = 0) =>
  run(async (tx) => {
    await lockReported(tx, 'tn_a', [at(n)])
    const settled = await settleReported(tx, 'tn_a', [at(n)])
    await reportStatuses(tx, 'tn_a', [{ ...at(n), ...change }])
    return settled
  })
const delivered = { status: 'delivered', failedReason: '', deliveredAt: new Date() } as const

describe('a locked recipient', () => {
  it('has all that its event needs', async () => {
    expect(await lock(0)).toEqual([
      {
        refId,
        n: 0,
        email: 'ada@example.com',
        status: 'deferred',
        failedReason: expect.stringContaining('may have been delivered'),
        messageId: `<${refId}.0@example.com>`,
        deliveredAt: null,
        isBeingClaimed: false,
        mailerId,
        campaignId: null,
        lastOutcome: 'uncertain',
        customArgs: { order: 7 },
        traceparent: TRACEPARENT,
        createdAt: expect.any(Date),
      },
    ])
  })

  it('is not found for another tenant, or when the email does not have it', async () => {
    expect(await lock(1)).toEqual([])
    const elsewhere = await run((tx) => lockReported(tx, 'tn_b', [at()]))
    expect(elsewhere).toEqual([])
    expect(await run((tx) => settleReported(tx, 'tn_b', [at()]))).toEqual([])
    await run((tx) => reportStatuses(tx, 'tn_b', [{ ...at(), ...delivered }]))
    expect(await recipientsOf(world.db, refId)).toMatchObject([{ status: 'deferred' }])
  })

  it('has the mailer of its last attempt, and no outcome before the first', async () => {
    const other = await accept(world.db)
    const [found] = await run((tx) => lockReported(tx, 'tn_a', [{ refId: other, n: 0 }]))
    expect(found).toMatchObject({ mailerId, lastOutcome: undefined, status: 'queued' })
  })
})

describe('a report on a recipient who waits for an attempt', () => {
  it('takes the recipient out of the queue, so that no attempt follows', async () => {
    expect(await report({ ...delivered, messageId: 'provider-1' })).toEqual([at()])
    expect(await queueOf(world.db)).toEqual([])
    expect(await recipientsOf(world.db, refId)).toMatchObject([
      { status: 'delivered', attempts: 1, message_id: 'provider-1', delivered: true },
    ])
    expect((await eventsOf(world.db)).map(inShort)).toEqual(['SMTP_ERROR 1 retry'])
  })

  it('makes an attempt stop that has not reached its commit point', async () => {
    const { db } = world
    const server = await world.serve()
    await db.query('update mailers_mailer set port = $1', [server.port])
    await db.query('update sending_queue set due_at = now()')
    const check = vi.fn(async () => {
      expect(await report(delivered)).toEqual([at()])
      return { kind: 'passed' } as const
    })
    await world.sender({ retryScheduleMs: LATER, phishing: { check } }).runOnce()
    expect(check).toHaveBeenCalledOnce()
    expect(server.messages).toEqual([])
    expect(await attemptsOf(db, refId)).toHaveLength(1)
    expect(await recipientsOf(db, refId)).toMatchObject([{ status: 'delivered' }])
  })

  it('does not take a row that is being claimed, and says so', async () => {
    const { db } = world
    await db.query(`update sending_queue set due_at = now()`)
    const claimed = Promise.withResolvers<void>()
    const committed = Promise.withResolvers<void>()
    const claiming = run(async (tx) => {
      await tx.query(`update sending_queue set phase = 'sending', fence = fence + 1`)
      claimed.resolve()
      await committed.promise
    })
    await claimed.promise
    expect(await lock(0)).toMatchObject([{ isBeingClaimed: true }])
    committed.resolve()
    await claiming
    expect(await lock(0)).toMatchObject([{ isBeingClaimed: false }])
    expect(await report(delivered)).toEqual([at()])
  })

  it('leaves a row after its commit point alone; the attempt that follows is the last', async () => {
    const { db } = world
    await db.query(`update sending_queue set phase = 'dot', due_at = now() + interval '1 hour'`)
    expect(await report(delivered)).toEqual([])
    expect(await queueOf(db)).toMatchObject([{ phase: 'dot' }])
    await runOutClaims(db)
    await drain(db, world.sender({ retryScheduleMs: LATER }))
    expect(await attemptsOf(db, refId)).toMatchObject([
      { attempt: 1, outcome: 'uncertain' },
      { attempt: 2, outcome: 'accepted', retry_scheduled: false },
    ])
    expect(await recipientsOf(db, refId)).toMatchObject([{ status: 'delivered', attempts: 2 }])
    expect((await eventsOf(db)).map(inShort)).toEqual(['SMTP_ERROR 1 retry'])
  })

  it('waits for an attempt that is being committed, and blocks it in turn', async () => {
    const { db } = world
    const held = Promise.withResolvers<void>()
    const locked = Promise.withResolvers<void>()
    await db.query(`update sending_queue set phase = 'dot', due_at = now() - interval '1 s'`)
    const reporting = run(async (tx) => {
      await lockReported(tx, 'tn_a', [at()])
      locked.resolve()
      await held.promise
      expect(await settleReported(tx, 'tn_a', [at()])).toEqual([])
      await reportStatuses(tx, 'tn_a', [{ ...at(), ...delivered }])
    })
    await locked.promise
    const ending = drain(db, world.sender({ retryScheduleMs: LATER }))
    await untilBlocked(db)
    held.resolve()
    await Promise.all([reporting, ending])
    expect(await queueOf(db)).toEqual([])
    expect(await recipientsOf(db, refId)).toMatchObject([{ status: 'delivered', attempts: 2 }])
    expect((await eventsOf(db)).map(inShort)).toEqual(['SMTP_ERROR 1 retry'])
  })
})

describe('the outcome of an attempt after a report', () => {
  it.each([
    ['deferred', ['450 4.2.0 later']],
    ['delivered', ['ok']],
    ['failed', ['550 5.1.1 no']],
  ])('does not change the reported status: %s', async (_, script) => {
    const { db } = world
    const server = await world.serve({ 'ada@example.com': script })
    await addMailer(db, { port: server.port, email: 'other@example.com' })
    const sent = await accept(db, { from: { email: 'other@example.com' } })
    await db.query(
      `update sending_recipient set status = 'bounced', failed_reason = 'gone' where ref_id = $1`,
      [sent],
    )
    await world.sender({ retryScheduleMs: LATER }).runOnce()
    expect(await recipientsOf(db, sent)).toMatchObject([
      { status: 'bounced', failed_reason: 'gone', attempts: 1 },
    ])
  })
})

describe('the outcome of an attempt by a relay provider after a report', () => {
  const refused = { status: 503, json: { errors: [{ message: 'Try again' }] } }

  it.each<[string, ScriptedAnswer, readonly string[]]>([
    ['taken', {}, []],
    ['refused', refused, ['SMTP_ERROR 1 final']],
    ['without an answer', { ending: 'rst' }, []],
  ])('is the last one, as the provider has the mail: %s', async (_, answer, told) => {
    const { db } = world
    const provider = await createSparkPostServer()
    provider.domains.add('example.org')
    const { apiBase, apiKey } = provider
    await addDomainMailer(db, { domain: 'example.org', relay: 'sparkpost', apiBase, apiKey })
    const sent = { refId: await accept(db, { from: { email: 'a@example.org' } }), n: 0 }
    provider.setScript(async () => {
      // As of an earlier attempt that got no answer.
      await run(async (tx) => {
        await lockReported(tx, 'tn_a', [sent])
        expect(await settleReported(tx, 'tn_a', [sent])).toEqual([])
        await reportStatuses(tx, 'tn_a', [{ ...sent, ...delivered, messageId: 'reported' }])
      })
      return Object.keys(answer).length === 0 ? undefined : answer
    })
    await world.sender({ retryScheduleMs: LATER }).runOnce()
    await provider.close()
    expect(provider.requests).toHaveLength(1)
    expect(await recipientsOf(db, sent.refId)).toMatchObject([
      { status: 'delivered', attempts: 1, failed_reason: '', message_id: 'reported' },
    ])
    expect(await attemptsOf(db, sent.refId)).toMatchObject([{ retry_scheduled: false }])
    expect((await eventsOf(db, sent.refId)).map(inShort)).toEqual(told)
    expect((await queueOf(db)).map((row) => row.ref_id)).not.toContain(sent.refId)
  })
})

describe('finding recipients by what was reported', () => {
  const found = async (of: RecipientIndex) => {
    const day = dayOfUlid(refId)
    const places = await readRecipientIndex(world.db, of, {
      tenantId: 'tn_a',
      days: { from: day, to: day },
      refIdMin: ulidAtTime(0),
      below: { refId, n: 1 },
      limit: 10,
    })
    return places.map((place) => place.refId)
  }

  it.each(['failed', 'bounced', 'rejected'] as const)('finds %s', async (status) => {
    const of = indexOfStatus(status) ?? 'waiting'
    expect(await found(of)).toEqual([])
    await report({ status, failedReason: 'as reported' })
    expect(await found(of)).toEqual([refId])
  })

  it('finds a recipient who was delivered to on a later day than the acceptance', async () => {
    const nextDay = new Date(Date.parse(dayOfUlid(refId)) + 36 * 3_600_000)
    await report({ ...delivered, deliveredAt: nextDay })
    expect(await found('late')).toEqual([refId])
  })

  it('finds a recipient who was delivered to on a later day and bounced since', async () => {
    const nextDay = new Date(Date.parse(dayOfUlid(refId)) + 36 * 3_600_000)
    await report({ status: 'bounced', failedReason: 'no', deliveredAt: nextDay })
    expect(await found('late')).toEqual([refId])
    expect(await found({ stopped: 'bounced' })).toEqual([refId])
  })

  it('keeps the first time of delivery that was reported', async () => {
    const first = new Date(Date.parse(dayOfUlid(refId)))
    await report({ ...delivered, deliveredAt: first })
    await report({ ...delivered, deliveredAt: new Date() })
    const [locked] = await lock(0)
    expect(locked?.deliveredAt).toEqual(first)
  })
})
