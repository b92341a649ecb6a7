/** Reports of which it is not known yet whom they are about: stored, matched, and at last left alone. */
import { describe, expect, it } from 'vitest'
import { type CallbackAccount, type SentMail, useFeedback } from '../../../test/feedback.ts'
import { silent } from '../../../test/sending.ts'
import type { Db } from '../../platform/db/index.ts'
import { newUlid, ulidAtTime } from '../../platform/ids.ts'
import { createFeedbackJanitor } from '../janitor.ts'

const world = useFeedback()
const DAY_MS = 86_400_000

interface Unmatched {
  readonly kind: string
  readonly tries: number
  /** Null: nobody looks any more. */
  readonly wait_s: number | null
}

async function unmatched(): Promise<Unmatched[]> {
  const { rows } = await world.db.query<Unmatched>(
    `select kind, tries, round(extract(epoch from due_at - now()))::int as wait_s
       from feedback_unmatched order by received_at, kind`,
  )
  return rows
}

/** As time would. */
async function lookAgain(ageMs = 0): Promise<void> {
  await world.db.query(
    `update feedback_unmatched set due_at = now(), received_at = received_at - $1 * interval '1 ms'
      where due_at is not null`,
    [ageMs],
  )
  await world.feedback.worker.runOnce()
}

async function set(kind: 'sparkpost' | 'sendgrid' = 'sparkpost') {
  const account = await world.account(kind)
  return { account, mail: await world.send({ tenantId: account.tenantId }) }
}

/** As the documents have it: with nothing but the provider's name for the message, and the address. */
const outOfBand = (messageId: string, id = newUlid()) =>
  ({
    type: 'bounced',
    id,
    messageId,
    email: 'ada@example.com',
    fields: { type: 'out_of_band', num_retries: undefined },
  }) as const

/** On which one statement always fails. */
function refusing(db: Db, name: string, state: string): Db {
  const refuse = `do $$ begin raise exception using errcode = '${state}'; end $$`
  return {
    ...db,
    transaction: (work, o) =>
      db.transaction(
        (tx) =>
          work({
            ...tx,
            query: (s, values) =>
              typeof s !== 'string' && s.name === name ? tx.query(refuse) : tx.query(s, values),
          }),
        o,
      ),
  }
}

const seen = async (mail: SentMail) => ({
  statuses: await world.statuses(mail),
  events: (await world.events(mail)).map(({ event }) => event),
})

describe("a report with the provider's message id and the address", () => {
  it.each(['processed', 'delivered', 'deferred'] as const)(
    'is matched to the recipient that a report of %s has named',
    async (type) => {
      const { account, mail } = await set()
      await world.report(account, { type, mail, messageId: '000443ee' })
      await world.report(account, outOfBand('000443ee'))
      expect(await world.statuses(mail)).toEqual(['bounced'])
      const [bounce] = (await world.events(mail)).slice(-1)
      expect(bounce).toMatchObject({
        event: 'MAIL_BOUNCE',
        details: { error_code: '550', message_id: mail.messageIds[0], email: ['ada@example.com'] },
      })
      expect(bounce?.details).not.toHaveProperty('num_retries')
      expect(await unmatched()).toEqual([])
    },
  )

  it('is stored when it comes first, and matched at once when the message becomes known', async () => {
    const { account, mail } = await set()
    // Events are in the order of the provider's times, which are whole seconds.
    const atS = Math.floor(Date.now() / 1000)
    const bounces = [outOfBand('early'), outOfBand('early')]
    await world.report(account, ...bounces.map((bounce) => ({ ...bounce, atS })))
    expect(await seen(mail)).toEqual({ statuses: ['sent'], events: [] })
    expect(await unmatched()).toMatchObject([{ kind: 'bounced' }, { kind: 'bounced' }])
    await world.db.query(`update feedback_unmatched set due_at = now() + interval '2 hours'`)
    await world.report(account, { type: 'delivered', mail, messageId: 'early', atS })
    expect(await seen(mail)).toEqual({
      statuses: ['bounced'],
      events: ['MAIL_DELIVERED', 'MAIL_BOUNCE', 'MAIL_BOUNCE'],
    })
    expect(await unmatched()).toEqual([])
  })

  it('is not matched by a report that names an email of another tenant', async () => {
    const { account, mail } = await set()
    const foreign = await set()
    await world.report(account, { type: 'processed', mail: foreign.mail, messageId: 'mixed' })
    await world.report(account, outOfBand('mixed'))
    await world.report(account, { type: 'processed', mail, messageId: 'mixed' })
    await lookAgain()
    expect(await seen(mail)).toEqual({ statuses: ['bounced'], events: ['MAIL_BOUNCE'] })
    // Nor does a name for the message make up for a reference that is not the tenant's.
    await world.report(account, { type: 'complained', mail: foreign.mail, messageId: 'mixed' })
    const fields = { rcpt_meta: { postrider_ref: `${mail.refId}.99999` } }
    const email = 'ada@example.com'
    await world.report(account, { type: 'complained', messageId: 'mixed', email, fields })
    await lookAgain()
    expect((await seen(mail)).events).toEqual(['MAIL_BOUNCE'])
    expect(await seen(foreign.mail)).toEqual({ statuses: ['sent'], events: [] })
  })

  it('is matched within one callback, in any order', async () => {
    const { account, mail } = await set()
    const reports = [outOfBand('same'), { type: 'delivered', mail, messageId: 'same' }] as const
    await world.report(account, ...reports)
    expect(await world.statuses(mail)).toEqual(['bounced'])
  })

  it('is counted once, matched or unmatched, however often it comes', async () => {
    const { account, mail } = await set()
    const bounce = outOfBand('often', 'one-id')
    await world.report(account, bounce, bounce)
    await world.report(account, bounce)
    expect(await unmatched()).toHaveLength(1)
    await world.report(account, { type: 'processed', mail, messageId: 'often' })
    for (let i = 0; i < 3; i++) await world.report(account, bounce)
    expect((await seen(mail)).events).toEqual(['MAIL_BOUNCE'])
    expect(await unmatched()).toEqual([])
  })

  it('is never matched by the message id of another tenant or another provider', async () => {
    const { account, mail } = await set()
    await world.report(account, { type: 'processed', mail, messageId: 'shared' })
    const stranger = await world.account('sparkpost')
    await world.report(stranger, outOfBand('shared'))
    const elsewhere = await world.account('sendgrid', { tenantId: account.tenantId })
    const email = 'ada@example.com'
    await world.report(elsewhere, { type: 'bounced', messageId: 'shared', email })
    await lookAgain()
    expect(await seen(mail)).toEqual({ statuses: ['sent'], events: [] })
    expect(await unmatched()).toHaveLength(2)
  })
})

describe("a report with the id of the provider's answer and the address", () => {
  it.each([
    ['sparkpost', (id: string) => ({ fields: { transmission_id: id } })],
    ['sendgrid', (id: string) => ({ messageId: `${id}.recvd-5d8b8f9d7c-x7k2p-1-691F6A20-4.0` })],
  ] as const)('is matched by them: %s', async (kind, named) => {
    const { account, mail } = await set(kind)
    const [id = ''] = mail.messageIds
    await world.report(account, { type: 'delivered', email: 'bob@example.com', ...named(id) })
    await world.report(account, { type: 'delivered', email: 'ada@example.com', ...named(`${id}0`) })
    expect(await world.statuses(mail)).toEqual(['sent'])
    await world.report(account, { type: 'delivered', email: 'Ada@EXAMPLE.com', ...named(id) })
    expect(await seen(mail)).toEqual({ statuses: ['delivered'], events: ['MAIL_DELIVERED'] })
  })

  it('is not matched when many messages came from the same machine', async () => {
    const { account, mail } = await set('sendgrid')
    const id = 'filter0093p1las1'
    await world.db.query('update sending_recipient set message_id = $2 where ref_id = $1', [
      mail.refId,
      id,
    ])
    const messageId = `${id}.9128.5717FB8127.0`
    await world.report(account, { type: 'bounced', email: 'ada@example.com', messageId })
    expect(await seen(mail)).toEqual({ statuses: ['sent'], events: [] })
  })

  it('is matched soon after the answer is known', async () => {
    const { account, mail } = await set('sendgrid')
    const [messageId = ''] = mail.messageIds
    await world.db.query(`update sending_recipient set message_id = '' where ref_id = $1`, [
      mail.refId,
    ])
    await world.report(account, { type: 'delivered', email: 'ada@example.com', messageId })
    const [one] = await unmatched()
    expect(one?.wait_s).toBeLessThanOrEqual(1)
    await world.db.query(`update sending_recipient set message_id = $2 where ref_id = $1`, [
      mail.refId,
      messageId,
    ])
    await lookAgain()
    expect(await world.statuses(mail)).toEqual(['delivered'])
  })
})

describe('an unmatched report', () => {
  const foreign = async (account: CallbackAccount, refId = newUlid()) =>
    world.report(account, {
      type: 'bounced',
      mail: { tenantId: account.tenantId, refId, messageIds: [], emails: ['ada@example.com'] },
    })

  it('is tried after growing waits for a day, and kept as long as emails', async () => {
    const account = await world.account('sendgrid')
    await foreign(account)
    const waits: (number | null)[] = []
    for (let i = 0; i < 10; i++) {
      const [one] = await unmatched()
      waits.push(one?.wait_s ?? null)
      await lookAgain()
    }
    expect(waits).toEqual([0, 1, 2, 5, 15, 60, 300, 1800, 7200, 7200])
    await lookAgain(DAY_MS)
    expect(await unmatched()).toMatchObject([{ wait_s: null, tries: 11 }])
    const janitor = createFeedbackJanitor({ db: world.db, log: silent, retentionMs: 2 * DAY_MS })
    expect(await janitor.runOnce()).toBe(0)
    await world.db.query(`update feedback_unmatched set received_at = now() - interval '49 hours'`)
    expect(await janitor.runOnce()).toBe(1)
    expect(await unmatched()).toEqual([])
  })

  it('is matched when its email appears after all', async () => {
    const { account, mail } = await set()
    await world.db.query(`update sending_recipient set tenant_id = 'elsewhere' where ref_id = $1`, [
      mail.refId,
    ])
    await world.report(account, { type: 'bounced', mail })
    await lookAgain()
    expect(await unmatched()).toHaveLength(1)
    await world.db.query('update sending_recipient set tenant_id = $2 where ref_id = $1', [
      mail.refId,
      account.tenantId,
    ])
    await lookAgain()
    expect(await world.statuses(mail)).toEqual(['bounced'])
  })

  it('is not stored when it would change nothing or its email was removed', async () => {
    const account = await world.account('sparkpost')
    const emails = ['ada@example.com']
    const mail = { tenantId: account.tenantId, refId: newUlid(), messageIds: [], emails }
    await world.report(
      account,
      { type: 'processed', mail, messageId: 'a' },
      { type: 'deferred', mail, messageId: 'b' },
      { type: 'opened', messageId: 'c' },
    )
    await foreign(account, ulidAtTime(Date.now() - 31 * DAY_MS))
    expect(await unmatched()).toEqual([])
  })

  it('is stored without a retry when it names no message', async () => {
    const account = await world.account('sparkpost')
    await world.report(account, { type: 'bounced', email: 'ada@example.com' })
    expect(await unmatched()).toMatchObject([{ wait_s: null }])
  })

  it('is dropped when it has no address', async () => {
    const { account } = await set()
    await world.report(account, { type: 'bounced' }, { ...outOfBand('nobody'), email: '' })
    expect(await unmatched()).toEqual([])
  })

  it('is dropped beyond ten thousand of a tenant: first those without a retry, then deliveries', async () => {
    const account = await world.account('sparkpost')
    const fill = (kind: string, due: boolean, count: number) =>
      world.db.query(
        `insert into feedback_unmatched (tenant_id, relay, fact_id, kind, fact, received_at, due_at)
         select $1, 'sparkpost', $2 || ($3::boolean)::text || i, $2, '{}', now() - interval '1 hour',
                case when $3::boolean then now() + interval '1 hour' end
           from generate_series(1, $4) i`,
        [account.tenantId, kind, due, count],
      )
    await fill('bounced', true, 9_996)
    await fill('delivered', true, 3)
    await fill('bounced', false, 1)
    await world.report(account, outOfBand('x'), outOfBand('y'), outOfBand('z'))
    const { rows } = await world.db.query<{ kind: string; is_due: boolean; n: number }>(
      `select kind, due_at is not null as is_due, count(*)::int as n
         from feedback_unmatched group by 1, 2 order by 1, 2`,
    )
    expect(rows).toEqual([
      { kind: 'bounced', is_due: true, n: 9_999 },
      { kind: 'delivered', is_due: true, n: 1 },
    ])
    const text = await world.metrics.registry.metrics()
    expect(text).toContain('postrider_callback_reports_dropped_total 3')
  })

  it('is not tried again when it cannot be applied, and delays no other', async () => {
    const { account, mail } = await set()
    await world.report(account, outOfBand('good'), outOfBand('bad'))
    await world.db.query(
      `update feedback_unmatched set fact = replace(fact, '"reason":""', '"reason":"\\u0000"')
        where message_key = 'sparkpost bad'`,
    )
    await world.report(
      account,
      { type: 'processed', mail, messageId: 'bad' },
      { type: 'processed', mail, messageId: 'good' },
    )
    await lookAgain()
    expect(await world.statuses(mail)).toEqual(['bounced'])
    expect(await unmatched()).toMatchObject([{ wait_s: null }])
  })

  it.each([
    ['a lock takes too long', '57014'],
    ['it loses a deadlock', '40P01'],
  ])('is tried again when %s', async (_, state) => {
    const { account, mail } = await set()
    const stand = (status: string) =>
      world.db.query('update sending_recipient set status = $2 where ref_id = $1', [
        mail.refId,
        status,
      ])
    // Rescued, and tried again after the report.
    await stand('queued')
    await world.report(account, { type: 'bounced', mail })
    await stand('sent')
    await world.db.query('update feedback_unmatched set due_at = now()')
    const another = await world.another({ db: refusing(world.db, 'sending.report_status', state) })
    await another.feedback.worker.runOnce()
    expect(await unmatched()).toMatchObject([{ kind: 'bounced', wait_s: 30 }])
    await lookAgain()
    expect(await unmatched()).toEqual([])
    expect((await seen(mail)).events).toEqual(['MAIL_BOUNCE'])
  })
})
