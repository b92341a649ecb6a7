/**
 * Suppressed recipients (docs/reference/suppressions.md#suppressions): at acceptance, and for mail that is
 * queued already.
 */
import { beforeEach, describe, expect, it } from 'vitest'
import { emptyTables } from '../../../test/empty-tables.ts'
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
import { addMailer, trackingUrls, unsubscribe } from '../../../test/sending.ts'
import { bucketOf } from '../../platform/db/leases.ts'
import { claimDue } from '../queue/claim/claim-store.ts'
import { createLargeEmails } from '../queue/claim/large-emails.ts'
import { loadAttempts } from '../queue/claim/load-attempts.ts'

const world = useSending()
const shorts = async () => (await eventsOf(world.db)).map(inShort)
const statuses = async (refId: string) =>
  (await recipientsOf(world.db, refId)).map(({ email, status }) => `${email} ${status}`)

beforeEach(() => emptyTables(world.db, 'suppressions_address'))

describe('suppression at acceptance', () => {
  it('does not queue a suppressed recipient, and queues the others', async () => {
    const server = await world.serve()
    await addMailer(world.db, { port: server.port })
    await unsubscribe(world.db, 'bob@example.com')
    await unsubscribe(world.db, 'ada@example.com', 'tn_b')
    const refId = await accept(world.db, {
      bcc: [{ email: 'BOB@Example.com' }, { email: 'carol@example.com' }],
    })
    expect((await queueOf(world.db)).map(({ n }) => n)).toEqual([0, 2])
    await drain(world.db, world.sender())
    expect(await statuses(refId)).toEqual([
      'ada@example.com delivered',
      'BOB@Example.com suppressed',
      'carol@example.com delivered',
    ])
    expect(await shorts()).toEqual(['MAIL_DELIVERED', 'MAIL_DELIVERED'])
    expect(server.messages.flatMap(({ recipients }) => recipients).sort()).toEqual([
      'ada@example.com',
      'carol@example.com',
    ])
  })

  it('does not schedule a suppressed recipient of an email for later', async () => {
    await addMailer(world.db)
    await unsubscribe(world.db, 'bob@example.com')
    const refId = await accept(world.db, {
      cc: [{ email: 'bob@example.com' }],
      send_at: new Date(Date.now() + 3_600_000).toISOString(),
    })
    expect(await statuses(refId)).toEqual([
      'ada@example.com scheduled',
      'bob@example.com suppressed',
    ])
    const { rows } = await world.db.query('select n from sending_scheduled')
    expect(rows).toEqual([{ n: 0 }])
  })

  it('accepts an email of which all recipients are suppressed, and ends it', async () => {
    await addMailer(world.db)
    await unsubscribe(world.db, 'ada@example.com')
    const refId = await accept(world.db)
    expect(await queueOf(world.db)).toEqual([])
    expect(await statuses(refId)).toEqual(['ada@example.com suppressed'])
    expect(await eventsOf(world.db)).toEqual([])
  })

  it('looks up a thousand recipients in one statement', async () => {
    await addMailer(world.db)
    const names = Array.from({ length: 1_000 }, (_, i) => `r${i}@example.com`)
    await unsubscribe(world.db, 'r3@example.com')
    await unsubscribe(world.db, 'r998@example.com')
    const refId = await accept(world.db, { to: names.map((email) => ({ email })) })
    const queued = new Set((await queueOf(world.db)).map(({ n }) => n))
    expect(names.flatMap((_, n) => (queued.has(n) ? [] : [n]))).toEqual([3, 998])
    const suppressed = (await statuses(refId)).filter((one) => one.endsWith(' suppressed'))
    expect(suppressed).toEqual(['r3@example.com suppressed', 'r998@example.com suppressed'])
  })
})

describe('suppression before sending', () => {
  it('ends a queued recipient without a request, an attempt or an event', async () => {
    const server = await world.serve()
    await addMailer(world.db, { port: server.port })
    const refId = await accept(world.db, { cc: [{ email: 'bob@example.com' }] })
    await unsubscribe(world.db, 'Ada@example.com')
    await drain(world.db, world.sender())
    expect(await statuses(refId)).toEqual([
      'ada@example.com suppressed',
      'bob@example.com delivered',
    ])
    expect(await attemptsOf(world.db, refId)).toMatchObject([{ n: 1, attempt: 1 }])
    expect(await shorts()).toEqual(['MAIL_DELIVERED'])
    expect(server.messages.map(({ recipients }) => recipients)).toEqual([['bob@example.com']])
    expect(server.transactions).toHaveLength(1)
  })

  it('keeps the number of attempts of a recipient who waits for a retry', async () => {
    const server = await world.serve((now) => (now.phase === 'rcpt' ? '451 4.3.0 busy' : undefined))
    await addMailer(world.db, { port: server.port })
    const refId = await accept(world.db)
    const sender = world.sender({ retryScheduleMs: [3_600_000] })
    await sender.runOnce()
    await unsubscribe(world.db, 'ada@example.com')
    await world.db.query('update sending_queue set due_at = now()')
    await drain(world.db, sender)
    expect(await recipientsOf(world.db, refId)).toMatchObject([
      { status: 'suppressed', attempts: 1, failed_reason: '' },
    ])
    expect(await shorts()).toEqual(['SMTP_ERROR 1 retry'])
  })

  it('ends a suppressed recipient at expiry, or when its mailer is active again', async () => {
    const { mailerId } = await addMailer(world.db)
    await world.db.query(`update mailers_mailer set state = 'active'`)
    const held = await accept(world.db)
    const expired = await accept(world.db)
    await unsubscribe(world.db, 'ada@example.com')
    await world.db.query(`update mailers_mailer set state = 'deactivated' where mailer_id = $1`, [
      mailerId,
    ])
    await world.db.query(
      `update sending_queue set expires_at = now() - interval '1 s' where ref_id = $1`,
      [expired],
    )
    await world.sender().runOnce()
    expect([...(await statuses(held)), ...(await statuses(expired))]).toEqual([
      'ada@example.com queued',
      'ada@example.com suppressed',
    ])
    await world.db.query(`update mailers_mailer set state = 'active'`)
    await drain(world.db, world.sender())
    expect(await statuses(held)).toEqual(['ada@example.com suppressed'])
    expect(await eventsOf(world.db)).toEqual([])
  })

  it('reports an attempt that was interrupted after the commit point as uncertain', async () => {
    await addMailer(world.db, { uncertain: 'at_most_once' })
    const refId = await accept(world.db)
    await world.db.query(`update sending_queue set phase = 'dot', fence = 1, started_at = now()`)
    await runOutClaims(world.db)
    await unsubscribe(world.db, 'ada@example.com')
    await drain(world.db, world.sender())
    expect(await shorts()).toEqual(['SMTP_ERROR 1 final'])
    expect(await statuses(refId)).toEqual(['ada@example.com failed'])
  })

  it('looks the recipient up again after a claim has waited for its turn', async () => {
    const { db } = world
    const { mailerId } = await addMailer(db)
    await accept(db)
    const queue = { tenantId: 'tn_a', mailerId, bucket: bucketOf(mailerId) }
    const claims = await claimDue(db, queue, { isBulk: false, limit: 1, leaseMs: 60_000 })
    let nowMs = 0
    const largeEmails = createLargeEmails({ db, trackingUrls })
    const deps = {
      db,
      largeEmails,
      trackingUrls,
      prepareOf: () => undefined,
      monotonicMs: () => nowMs,
    }
    const { attempts } = await loadAttempts(deps, queue, claims)
    await unsubscribe(world.db, 'ada@example.com')
    nowMs = 1_999
    expect(await attempts[0]?.isSuppressed()).toBe(false)
    nowMs = 2_000
    expect(await attempts[0]?.isSuppressed()).toBe(true)
  })

  it('changes nothing when the claim was lost meanwhile', async () => {
    await addMailer(world.db)
    const refId = await accept(world.db)
    await unsubscribe(world.db, 'ada@example.com')
    const { db } = world
    const stealing = {
      ...db,
      query: db.query,
      get stats() {
        return db.stats
      },
      async transaction(...args: Parameters<typeof db.transaction>) {
        await db.query('update sending_queue set fence = fence + 1')
        return db.transaction(...args)
      },
    } as typeof db
    const outcomes: string[] = []
    const sender = world.sender({ observe: ({ outcome }) => outcomes.push(outcome) }, stealing)
    await sender.runOnce()
    expect(outcomes).toEqual(['lost'])
    expect(await statuses(refId)).toEqual(['ada@example.com queued'])
    expect(await queueOf(world.db)).toHaveLength(1)
  })
})
