/**
 * What a page of logs costs is decided by its plans, not measured: whatever it is filtered by, rows
 * are reached through an index, no more of them than the bounds allow, with and without statistics.
 */
import { type GetEmailLogsQuery, recipientFacts, recipientStatuses } from '@postrider/contract'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { TestDatabase } from '../../test/database.ts'
import { createRecordDatabase, seedRecord } from '../../test/email-record.ts'
import { nodesOf, type PlanNode } from '../../test/explain.ts'
import { type Queryable, readInOrder, type Tx } from '../platform/db/index.ts'
import { findLogs } from './find-logs.ts'
import { readLogsQuery } from './read-logs-query.ts'

const EMAILS = 4_000
const DAYS = 8
const BOUNDS = { looksMax: 150, pieceMax: 150 }
/** A row, what waits of it, its email twice, and the place that led to it. */
const ROWS_MAX = BOUNDS.looksMax * 5

let database: TestDatabase
beforeAll(async () => {
  database = await createRecordDatabase(DAYS + 1)
  const { db } = database
  const stepMs = Math.floor((DAYS * 86_400_000) / EMAILS)
  const emails = Array.from({ length: EMAILS }, (_, i) => {
    const status = i % 4 === 0 ? recipientStatuses[(i / 4) % recipientStatuses.length] : undefined
    const isDelivered = status === undefined || status === 'delivered'
    return {
      atMs: Date.now() - (EMAILS - i) * stepMs,
      subject: i % 3 === 0 ? `Order ${i}` : 'News',
      campaignId: i % 3 === 0 ? null : `week-${Math.floor(i / 500)}`,
      recipients: [
        {
          email: `user${i % 1_500}@d${i % 100 < 40 ? 0 : i % 97}.example`,
          type: i % 20 === 0 ? ('bcc' as const) : ('to' as const),
          status: status ?? ('delivered' as const),
          deliveredAfterMs: isDelivered ? (i % 7 === 0 ? 86_400_000 : 3_000) : null,
          reason: status === 'failed' || status === 'deferred' ? 'The mailbox is full' : '',
          rescuedAfter: 0,
          isRelayed: i % 2 === 0 && (isDelivered || status === 'failed'),
          hasComplained: i % 30 === 0,
          unsubscribedAt: [
            ...(i % 20 === 0 ? (['tracker'] as const) : []),
            ...(i % 25 === 0 ? (['provider'] as const) : []),
          ],
        },
      ],
    }
  })
  await seedRecord(db, 'tn_a', emails)
}, 60_000)
afterAll(() => database.close())

type Analyzed = PlanNode & { readonly 'Rows Removed by Filter'?: number }

/** Each statement of the page is explained, and run for it, beside being run. */
async function nodesOfPage(query: GetEmailLogsQuery): Promise<Analyzed[]> {
  const nodes: Analyzed[] = []
  const explained = (tx: Tx): Tx => ({
    ...tx,
    async query<Row>(s: Parameters<Queryable['query']>[0], values: readonly unknown[] = []) {
      const text = typeof s === 'string' ? s : s.text
      const { rows } = await tx.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
        `explain (analyze, timing off, format json) ${text}`,
        values,
      )
      const plan = rows[0]?.['QUERY PLAN'][0].Plan
      if (plan !== undefined) nodes.push(...nodesOf(plan))
      return await tx.query<Row>(s, values)
    },
  })
  const selection = readLogsQuery(query)
  const of = { tenantId: 'tn_a', selection, below: undefined, pageSize: 50, bounds: BOUNDS }
  await readInOrder(database.db, (tx) => findLogs(explained(tx), of))
  return nodes
}

const day = (ago: number) => new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10)
const queries: GetEmailLogsQuery[] = [
  {},
  { email: 'user7@d0.example' },
  { email: 'nobody@d0.example' },
  { recipientDomain: 'd0.example' },
  { recipientDomain: 'd55.example' },
  { refId: '01JD4M8W6ZQ3V5T7X9Y2A4C6E8' },
  { startCreatedAt: day(4) },
  { endCreatedAt: day(4) },
  ...[...recipientStatuses, ...recipientFacts].map((status) => ({ status })),
  { subject: 'order 3' },
  { failedReason: 'The mailbox is full' },
  { failedReason: 'nowhere' },
  { failedReason: 'The mailbox is full', recipientDomain: 'd0.example' },
  { failedReason: 'The mailbox is full', campaignId: 'week-2' },
  { failedReason: 'The mailbox is full', status: 'failed' },
  { campaignId: 'week-2' },
  { mailerId: 'smtp_other' },
  { mailerId: 'smtp_other', status: 'failed' },
  { recipientType: 'to' },
  { recipientType: 'bcc' },
  { startDeliveredDate: day(3) },
  { endDeliveredDate: day(3) },
  { startDeliveredDate: day(3), endDeliveredDate: day(3) },
  { email: 'user7@d0.example', status: 'failed' },
  { recipientDomain: 'd0.example', status: 'failed' },
  { recipientDomain: 'd55.example', status: 'blocked' },
  { recipientType: 'bcc', status: 'failed' },
  { campaignId: 'week-2', status: 'failed' },
  { campaignId: 'week-2', subject: 'news' },
  { campaignId: 'week-2', recipientDomain: 'd0.example' },
  { status: 'failed', startCreatedAt: day(2), endCreatedAt: day(2) },
  { subject: 'order', startCreatedAt: day(2), endCreatedAt: day(2) },
]

it.each([['without'], ['with']])(
  'reads logs by index and within bounds, %s statistics',
  async (statistics) => {
    const { db } = database
    if (statistics === 'with')
      await db.query(
        `analyze sending_email, sending_recipient, sending_attempt, sending_stopped, sending_queue,
           tracking_recipient, feedback_recipient`,
      )
    for (const query of queries) {
      const nodes = await nodesOfPage(query)
      const scans = nodes.filter((node) =>
        /^(sending|tracking|feedback)_/.test(node['Relation Name'] ?? ''),
      )
      expect(scans.length).toBeGreaterThan(0)
      const bad = nodes.filter((node) => {
        if (/Hash Join|Merge Join|Bitmap/.test(node['Node Type'])) return true
        return scans.includes(node) && !/^Index (Only )?Scan/.test(node['Node Type'])
      })
      const rows = scans.map((node) => {
        const each = (node['Actual Rows'] ?? 0) + (node['Rows Removed by Filter'] ?? 0)
        return each * (node['Actual Loops'] ?? 0)
      })
      const all = Math.round(rows.reduce((sum, n) => sum + n, 0))
      expect({ query, bad, isBounded: all <= ROWS_MAX || all }).toEqual({
        query,
        bad: [],
        isBounded: true,
      })
    }
  },
  120_000,
)
