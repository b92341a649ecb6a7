/** What hits cost is decided by their plans: whose copies they are about is looked up by primary keys. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { TestDatabase } from '../../../test/database.ts'
import { explaining, type SeenPlan } from '../../../test/explain.ts'
import { createSendingDatabase } from '../../../test/sending.ts'
import { dayOfUlid, newUlid } from '../../platform/ids.ts'
import {
  findLink,
  findTrackedCopies,
  findUnsubscribable,
  insertLinks,
  insertUnsubscribable,
} from './store.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createSendingDatabase()
  await fill()
})
afterAll(() => database.close())

const refIds = Array.from({ length: 2_000 }, newUlid)
const [refId = ''] = refIds
const day = dayOfUlid(refId)
const who = { tenantId: 'tn_a', refId, n: 3 }

/** The email among many others of its tenant and its day. */
async function fill(): Promise<void> {
  const { db } = database
  await db.query(
    `insert into sending_email (tenant_id, ref_id, day, mailer_id, from_email, subject,
       max_attempts, expires_at, traceparent, created_at)
     select 'tn_a', ref_id, $2, 'smtp_a', 'a@example.com', '', 5, now(), '00-', now()
       from unnest($1::text[]) ref_id`,
    [refIds, day],
  )
  await db.query(
    `insert into sending_recipient (tenant_id, ref_id, n, day, email, type, status, message_id, created_at)
     select 'tn_a', ref_id, n, day, n || '@example.com', 'to', 'delivered', '<1>', now()
       from sending_email, generate_series(0, 4) n`,
  )
  await db.query(
    `insert into sending_attempt (tenant_id, ref_id, n, attempt, day, mailer_id, max_attempts,
       started_at, finished_at, outcome, retry_scheduled)
     select 'tn_a', ref_id, n, 1, day, 'smtp_b', 5, now(), now(), 'accepted', false
       from sending_recipient`,
  )
  const urls = ['https://a.example/']
  await insertLinks(
    db,
    refIds.map((one) => ({ tenantId: 'tn_a', refId: one, urls })),
  )
  const emails = ['0', '1', '2', '3'].map((n) => `${n}@example.com`)
  await insertUnsubscribable(
    db,
    refIds.map((one) => ({ tenantId: 'tn_a', refId: one, emails })),
  )
  await db.query(
    'analyze sending_email, sending_recipient, sending_attempt, sending_link, sending_unsubscribable',
  )
}

it.each(['force_custom_plan', 'force_generic_plan'] as const)(
  'reads one row of each table by primary key for a hit (%s)',
  async (mode) => {
    const plans: SeenPlan[] = []
    await database.db.transaction(async (tx) => {
      await tx.query(`set local plan_cache_mode = ${mode}`)
      const explained = explaining(tx, plans, mode)
      const others = refIds.slice(1, 20).map((one) => ({ ...who, refId: one }))
      const copies = await findTrackedCopies(explained, [...others, who])
      expect(copies.at(-1)).toMatchObject({ email: '3@example.com', mailerId: 'smtp_b' })
      expect(await findLink(explained, who, 0)).toBe('https://a.example/')
      expect(await findUnsubscribable(explained, who)).toBe('3@example.com')
    })
    // Those of other days are empty, and not opened.
    const reads = plans.flatMap(({ nodes }) =>
      nodes.filter((node) => node['Relation Name']?.endsWith(day.replaceAll('-', '')) === true),
    )
    for (const read of reads) {
      expect(read['Node Type']).toMatch(/^Index (?:Only )?Scan/)
      expect(read['Index Name']).toMatch(/_pkey$/)
      expect(read['Index Cond']).toMatch(/tenant_id.*ref_id/)
    }
    const tables = new Set(reads.map((read) => read['Relation Name']?.replace(/_\d{8}$/, '')))
    expect([...tables].sort()).toEqual([
      'sending_attempt',
      'sending_email',
      'sending_link',
      'sending_recipient',
      'sending_unsubscribable',
    ])
  },
)
