/** Callbacks in the inbox are applied whole and once, whatever their content is and whichever process applies them. */
import { describe, expect, it } from 'vitest'
import { failingOnce } from '../../../test/failing-once.ts'
import {
  bodyOf,
  type CallbackAccount,
  type ProviderReport,
  type SentMail,
  useFeedback,
} from '../../../test/feedback.ts'
import { DatabaseUnavailableError, type Db } from '../../platform/db/index.ts'
import { createLogger } from '../../platform/log.ts'
import { adapterOf } from '../../relays/index.ts'

const world = useFeedback()

const inbox = async () => {
  const { rows } = await world.db.query<{
    tenant_id: string
    problem: string | null
    refused: boolean
  }>(
    'select tenant_id, problem, refused_at is not null as refused from feedback_inbox order by inbox_id',
  )
  return rows
}
const recipients = (count: number) =>
  Array.from({ length: count }, (_, i) => ({ email: `user${i}@example.com` }))

/** An account, and mail to so many. */
async function set(count = 1): Promise<{ account: CallbackAccount; mail: SentMail }> {
  const account = await world.account('sparkpost')
  const email = { to: recipients(count) }
  return { account, mail: await world.send({ tenantId: account.tenantId, email }) }
}

const post = async (account: CallbackAccount, ...reports: readonly ProviderReport[]) => {
  const answer = await world.post(account, bodyOf('sparkpost', reports))
  expect(answer.statusCode).toBe(200)
}

/** Whether a statement is given these words, in whatever form. */
function holds(values: readonly unknown[], words: string): boolean {
  return values.some((value) => String(value).includes(words))
}

/** On which a report with these words cannot be applied. */
function refusing(words: string, refusal = 'select 1/0', db: Db = world.db): Db {
  return {
    ...db,
    transaction: (work, o) =>
      db.transaction(
        (tx) =>
          work({
            ...tx,
            query: (s, values = []) =>
              holds(values, words) ? tx.query(refusal) : tx.query(s, values),
          }),
        o,
      ),
  }
}

describe('a callback with a report that cannot be applied', () => {
  it('is set aside with the problem, and all other reports are applied', async () => {
    const { account, mail } = await set(20)
    const lines: string[] = []
    const log = createLogger({ level: 'error', destination: { write: (line) => lines.push(line) } })
    const at = 13
    const reports = mail.messageIds.map(
      (_, n) => ({ type: 'bounced', mail, n, reason: n === at ? 'poison' : 'no' }) as const,
    )
    await post(account, ...reports.slice(0, 5))
    await post(account, ...reports.slice(5))
    const another = await world.another({ db: refusing('poison'), log })
    await another.feedback.worker.runOnce()
    expect(await world.statuses(mail)).toEqual(
      reports.map((_, n) => (n === at ? 'sent' : 'bounced')),
    )
    expect(await inbox()).toEqual([
      {
        tenant_id: account.tenantId,
        refused: true,
        problem: '1 of its reports: division by zero',
      },
    ])
    expect(lines.map((line) => JSON.parse(line).msg)).toEqual(['callback.refused'])
    const text = await another.metrics.registry.metrics()
    expect(text).toContain('postrider_callbacks_refused_total{relay="sparkpost"} 1')

    // As the page for operators says.
    await world.db.query('update feedback_inbox set refused_at = null, problem = null')
    await world.feedback.worker.runOnce()
    expect(await inbox()).toEqual([])
    expect(await world.statuses(mail)).toEqual(reports.map(() => 'bounced'))
    expect(await world.events(mail)).toHaveLength(20)
  })

  it('is set aside early when none of its reports can be applied', async () => {
    const { account, mail } = await set(100)
    await post(
      account,
      ...mail.messageIds.map((_, n) => ({ type: 'bounced', mail, n, reason: 'poison' }) as const),
    )
    let transactions = 0
    const refused = refusing('poison')
    const counting: Db = {
      ...refused,
      transaction: (work, o) => {
        transactions += 1
        return refused.transaction(work, o)
      },
    }
    await (await world.another({ db: counting })).feedback.worker.runOnce()
    expect(await inbox()).toMatchObject([{ problem: '20 of its reports: division by zero' }])
    expect(transactions).toBeLessThan(100)
  })

  it('is set aside whole when it makes its reader fail, and others are applied', async () => {
    const { account, mail } = await set()
    const others = await set()
    await post(account, { type: 'delivered', mail })
    await post(others.account, { type: 'delivered', mail: others.mail })
    const broken = await world.another({
      adapterOf: (kind) => {
        const adapter = adapterOf(kind)
        const read = (body: string) => {
          if (body.includes(mail.refId)) throw new Error('a fault in the reader')
          return adapter.callbacks.read(body)
        }
        return { ...adapter, callbacks: { ...adapter.callbacks, read } }
      },
    })
    await broken.feedback.worker.runOnce()
    expect(await world.statuses(others.mail)).toEqual(['delivered'])
    expect(await inbox()).toEqual([
      {
        tenant_id: account.tenantId,
        refused: true,
        problem: '1 of its reports: a fault in the reader',
      },
    ])
  })

  it.each([
    ['took too long', '57014'],
    ['lost a deadlock', '40P01'],
  ])('is deferred, not set aside, when it %s', async (_, state) => {
    const { account, mail } = await set()
    await post(account, { type: 'bounced', mail, reason: 'blocked' })
    const refusal = `do $$ begin raise exception using errcode = '${state}'; end $$`
    const { feedback } = await world.another({ db: refusing('blocked', refusal) })
    await feedback.worker.runOnce()
    expect(await inbox()).toMatchObject([{ refused: false }])
    await world.feedback.worker.runOnce()
    expect(await world.statuses(mail)).toEqual(['sent'])
    await world.db.query('update feedback_inbox set due_at = now()')
    await world.feedback.worker.runOnce()
    expect(await world.statuses(mail)).toEqual(['bounced'])
    expect(await inbox()).toEqual([])
  })

  it('is deferred when another report of it is deferred', async () => {
    const { account, mail } = await set(2)
    await post(
      account,
      { type: 'bounced', mail, n: 0, reason: 'poison' },
      { type: 'bounced', mail, n: 1, reason: 'blocked' },
    )
    const refusal = `do $$ begin raise exception using errcode = '40P01'; end $$`
    const db = refusing('poison', 'select 1/0', refusing('blocked', refusal))
    await (await world.another({ db })).feedback.worker.runOnce()
    expect(await inbox()).toMatchObject([{ refused: false }])
    await world.db.query('update feedback_inbox set due_at = now()')
    await world.feedback.worker.runOnce()
    expect(await world.statuses(mail)).toEqual(['bounced', 'bounced'])
  })

  it('is one of at most two hundred that a tenant has set aside', async () => {
    const { account, mail } = await set()
    const body = Buffer.from(
      JSON.stringify(bodyOf('sparkpost', [{ type: 'bounced', mail, reason: 'poison' }])),
    )
    await world.db.query(
      `insert into feedback_inbox (tenant_id, inbox_id, kind, received_at, body, bytes, refused_at)
       select $1, 'OLD' || lpad(i::text, 5, '0'), 'sparkpost', now(), '[]', 2, now()
         from generate_series(1, 200) i`,
      [account.tenantId],
    )
    await world.feedback.worker.runOnce()
    await world.post(account, body)
    await (await world.another({ db: refusing('poison') })).feedback.worker.runOnce()
    const { rows } = await world.db.query<{ inbox_id: string }>(
      'select inbox_id from feedback_inbox order by inbox_id',
    )
    // Ids of these days begin with 0.
    expect(rows).toHaveLength(200)
    expect(rows.at(-1)?.inbox_id).toBe('OLD00200')
    expect(rows[0]?.inbox_id).toBe('OLD00001')
  })
})

describe('a very large callback', () => {
  const reportsOf = (mail: SentMail, count: number) =>
    Array.from({ length: count }, (_, i) => {
      const type = i % 2 === 0 ? ('deferred' as const) : ('delivered' as const)
      return { type, mail, n: i % 50, id: `${mail.refId}${i}` }
    })

  it('is applied in parts by two processes, and once', async () => {
    const { account, mail } = await set(50)
    const reports = reportsOf(mail, 4_500)
    await post(account, ...reports)
    const another = await world.another()
    await Promise.all([world.feedback.worker.runOnce(), another.feedback.worker.runOnce()])
    expect(await inbox()).toEqual([])
    expect(new Set(await world.statuses(mail))).toEqual(new Set(['sent', 'delivered']))
    expect(await world.events(mail)).toHaveLength(25)
    const { rows } = await world.db.query<{ n: number }>(
      'select count(*)::int as n from feedback_fact where ref_id = $1',
      [mail.refId],
    )
    expect(rows).toEqual([{ n: 4_500 }])
  })

  it('is kept until all its reports are applied', async () => {
    const { account, mail } = await set(50)
    await post(account, ...reportsOf(mail, 4_500))
    let transactions = 0
    const away: Db = {
      ...world.db,
      transaction: (work, o) => {
        transactions += 1
        if (transactions > 4) throw new DatabaseUnavailableError('away')
        return world.db.transaction(work, o)
      },
    }
    const { worker } = (await world.another({ db: away })).feedback
    await expect(worker.runOnce()).rejects.toThrow('away')
    expect(await inbox()).toMatchObject([{ refused: false }])
    await world.feedback.worker.runOnce()
    expect(await inbox()).toEqual([])
    expect(await world.events(mail)).toHaveLength(25)
  })
})

it('ignores a report on a day that retention has just removed', async () => {
  const { account, mail } = await set()
  const kept = await set()
  await post(account, { type: 'delivered', mail })
  await post(kept.account, { type: 'delivered', mail: kept.mail })
  const without: Db = {
    ...world.db,
    transaction: (work, o) =>
      world.db.transaction(
        (tx) =>
          work({
            ...tx,
            query: (s, values = []) =>
              typeof s === 'object' &&
              s.name?.startsWith('feedback.insert_fact') &&
              holds(values, mail.refId)
                ? tx.query(`insert into feedback_fact (tenant_id, ref_id, n, fact_id, day, kind, type, reported_at, received_at, reason)
                            values ('', '', 0, '', '1999-01-01', '', '', now(), now(), '')`)
                : tx.query(s, values),
          }),
        o,
      ),
  }
  await (await world.another({ db: without })).feedback.worker.runOnce()
  expect(await inbox()).toEqual([])
  expect(await world.statuses(mail)).toEqual(['sent'])
  expect(await world.statuses(kept.mail)).toEqual(['delivered'])
})

describe('the inbox of callbacks', () => {
  it('is applied once by several processes', async () => {
    const sets = await Promise.all(Array.from({ length: 4 }, () => set(30)))
    for (const { account, mail } of sets)
      for (let k = 0; k < 6; k++)
        await post(
          account,
          ...mail.messageIds.flatMap((_, n) =>
            n % 3 === k % 3
              ? [
                  { type: 'delivered', mail, n, id: `d${mail.refId}${n}` } as const,
                  { type: 'complained', mail, n, id: `c${mail.refId}${n}` } as const,
                ]
              : [],
          ),
        )
    const others = await Promise.all([world.another(), world.another(), world.another()])
    await Promise.all(
      [world.feedback, ...others.map(({ feedback }) => feedback)].map(({ worker }) =>
        worker.runOnce(),
      ),
    )
    await world.feedback.worker.runOnce()
    expect(await inbox()).toEqual([])
    for (const { mail } of sets) {
      expect(new Set(await world.statuses(mail))).toEqual(new Set(['delivered']))
      const events = (await world.events(mail)).map(({ event }) => event)
      expect(events.filter((event) => event === 'MAIL_DELIVERED')).toHaveLength(30)
      expect(events.filter((event) => event === 'MAIL_SPAM')).toHaveLength(30)
    }
  })

  it('serves tenants in turn, whatever one of them has', async () => {
    const busy = await set()
    const body = bodyOf('sparkpost', [{ type: 'deferred', mail: busy.mail }])
    await world.db.query(
      `insert into feedback_inbox (tenant_id, inbox_id, kind, received_at, body, bytes)
       select $1, lpad(i::text, 26, '0'), 'sparkpost', now(), $2, 1 from generate_series(1, 300) i`,
      [busy.account.tenantId, Buffer.from(JSON.stringify(body))],
    )
    const late = await set()
    await post(late.account, { type: 'delivered', mail: late.mail })
    const { callbacks } = (await world.another()).feedback
    for (let pieces = 0; pieces < 2; pieces++) await callbacks.runOnce()
    expect(await world.statuses(late.mail)).toEqual(['delivered'])
    expect((await inbox()).length).toBeGreaterThan(200)
  })

  it('serves a tenant behind many tenants whose callbacks are deferred', async () => {
    await world.db.query(
      `insert into feedback_inbox (tenant_id, inbox_id, kind, received_at, body, bytes, due_at)
       select 'tn_' || lpad(i::text, 20, '0'), lpad(i::text, 26, '0'), 'sparkpost', now(), '[]', 2,
              now() + interval '1 hour' from generate_series(1, 40) i`,
    )
    const { account, mail } = await set()
    await post(account, { type: 'delivered', mail })
    await world.feedback.worker.runOnce()
    expect(await world.statuses(mail)).toEqual(['delivered'])
    expect(await inbox()).toHaveLength(40)
  })

  it('is applied when a callback is stored', async () => {
    const { account, mail } = await set()
    const { app, feedback, woken } = await world.another()
    for (const service of feedback.services) await service.start()
    const { webhookId } = await world.webhook(account.tenantId, { delivery: true })
    await app.inject({
      method: 'POST',
      url: account.url,
      payload: bodyOf('sparkpost', [{ type: 'delivered', mail }]),
    })
    while ((await world.statuses(mail))[0] !== 'delivered') await world.db.query('select 1')
    await feedback.worker.stop()
    expect(woken).toMatchObject([{ tenantId: account.tenantId, webhookId }])
  })
})

describe.each([
  ['a serialization failure', '40001'],
  ['a deadlock', '40P01'],
  ['a statement_timeout', '57014'],
  ['a lost connection', '57P01'],
  ['a fault', '22012'],
])('[D7] %s in each statement', (_, state) => {
  it('loses no report and makes no event twice', async () => {
    const { account, mail } = await set(3)
    for (let n = 1; ; n++) {
      if (n > 80) throw new Error('no end of statements')
      const at = { mail } as const
      const reports = [
        { ...at, type: 'delivered', n: 0, id: `d${n}${mail.refId}` },
        { ...at, type: 'bounced', n: 1, id: `b${n}${mail.refId}` },
        { ...at, type: 'unsubscribed', n: 2, id: `u${n}${mail.refId}` },
        { ...at, type: 'complained', n: 2, id: `c${n}${mail.refId}`, messageId: `m${n}` },
        {
          type: 'bounced',
          id: `o${n}${mail.refId}`,
          messageId: `m${n}x`,
          email: 'user0@example.com',
        },
      ] as const
      await post(account, ...reports)
      await world.db.query(
        `update sending_recipient set status = 'sent', delivered_at = null where ref_id = $1`,
        [mail.refId],
      )
      await world.db.query('delete from suppressions_address where tenant_id = $1', [
        account.tenantId,
      ])
      const { db, seen } = failingOnce(world.db, n, state)
      const { worker } = (await world.another({ db })).feedback
      await worker.runOnce().catch(() => undefined)
      // What took too long is left alone for a while.
      await world.db.query('update feedback_inbox set due_at = now(), refused_at = null')
      await world.feedback.worker.runOnce()
      const where = `statement ${n}`
      expect(await inbox(), where).toEqual([])
      expect(await world.statuses(mail), where).toEqual(['delivered', 'bounced', 'sent'])
      const events = await world.events(mail)
      expect(events.map(({ event }) => event).sort(), where).toEqual([
        'MAIL_BOUNCE',
        'MAIL_DELIVERED',
        'MAIL_SPAM',
        'MAIL_UNSUBSCRIBED',
      ])
      const { rows } = await world.db.query('delete from feedback_unmatched returning fact_id')
      expect(rows, where).toEqual([{ fact_id: `o${n}${mail.refId}` }])
      await world.db.query('delete from webhooks_event where ref_id = $1', [mail.refId])
      if (seen.hasFailed) continue
      expect(n).toBeGreaterThan(15)
      return
    }
  }, 120_000)
})
