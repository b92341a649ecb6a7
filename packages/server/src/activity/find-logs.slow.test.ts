/**
 * getEmailLogs against a plain reading of the same record: whatever the filters, the bounds and the
 * pages, exactly what fits is found, once and in order (docs/reference/statuses.md#log-filters).
 */

import {
  type EmailLog,
  type GetEmailLogsQuery,
  type RecipientStatus,
  recipientFacts,
  recipientStatuses,
  recipientTypes,
} from '@postrider/contract'
import { casesOf } from '@postrider/testkit'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { TestDatabase } from '../../test/database.ts'
import {
  createRecordDatabase,
  type KnownLog,
  type RecordedEmailSeed,
  seedRecord,
} from '../../test/email-record.ts'
import { timeOfUlid } from '../platform/ids.ts'
import { listLogs } from './list-logs.ts'

const DAYS = 4
const DAY_MS = 86_400_000
const ADDRESSES = [
  'ada@example.com',
  'Ada@Example.com',
  'bob@example.com',
  'bob@sub.example.com',
].concat(['carol@müller.example', 'dora@xn--mller-kva.example', 'o_o@other.test'])
const DOMAINS = ['example.com', 'EXAMPLE.com', 'sub.example.com', 'müller.example', 'gone.test']
const SUBJECTS = ['Your order 17 has shipped', 'ÄRGER mit Ünicode', 'Weekly news', '100% _off_']
const RELAYED: readonly RecipientStatus[] = ['sent', 'delivered', 'bounced', 'failed', 'rejected']
/** As servers and the service say them, and what finds them. */
const REASONS = ['The mailbox is full', '550 5.7.1 <ada@example.com> refused by filter 42'] as const
const REASON_QUERIES: readonly string[] = [...REASONS, '550 5.7.1 <address> refused by filter #']
const REASONED: readonly RecipientStatus[] = ['deferred', 'failed', 'expired', 'bounced', 'blocked']
const CAMPAIGNS = [null, null, 'spring', 'autumn']

let database: TestDatabase
let known: KnownLog[]
let firstMs: number
beforeAll(async () => {
  database = await createRecordDatabase(DAYS + 1)
  const { db } = database
  firstMs = Date.now() - DAYS * DAY_MS
  const [emails] = fc.sample(fc.array(emailAt(), { minLength: 300, maxLength: 300 }), {
    numRuns: 1,
    seed: 7,
  })
  known = await seedRecord(db, 'tn_a', emails ?? [])
  // Of another tenant, the same.
  await seedRecord(db, 'tn_b', emails ?? [])
})
afterAll(() => database.close())

function emailAt(): fc.Arbitrary<RecordedEmailSeed> {
  const recipient = fc.record({
    email: fc.constantFrom(...ADDRESSES),
    type: fc.constantFrom(...recipientTypes),
    reason: fc.constantFrom(...REASONS),
    status: fc.oneof(fc.constant('delivered' as const), fc.constantFrom(...recipientStatuses)),
    rescuedAfter: fc.constantFrom(0, 0, 2),
    lateMs: fc.constantFrom(0, 1_000, 3_600_000, DAY_MS, 2 * DAY_MS),
    isRelayed: fc.boolean(),
    hasComplained: fc.constantFrom(false, false, true),
    unsubscribedAt: fc.subarray(['tracker', 'provider'] as const),
  })
  return fc.record({
    // Many of one millisecond, and from midnight to midnight.
    atMs: fc.nat({ max: 40 }).map((step) => firstMs + Math.floor((step * DAYS * DAY_MS) / 41)),
    subject: fc.constantFrom(...SUBJECTS),
    campaignId: fc.constantFrom(...CAMPAIGNS),
    recipients: fc
      .uniqueArray(recipient, {
        minLength: 1,
        maxLength: 5,
        selector: ({ email }) => email.toLowerCase(),
      })
      .map((all) =>
        all.map(({ lateMs, isRelayed, reason, ...one }) => {
          const isOut = RELAYED.includes(one.status)
          // What bounced had been delivered before, or not.
          const isDelivered = one.status === 'delivered' || (isRelayed && one.status === 'bounced')
          return {
            ...one,
            ...(REASONED.includes(one.status) && { reason }),
            isRelayed: isRelayed && isOut,
            deliveredAfterMs: isDelivered ? lateMs : null,
          }
        }),
      ),
  })
}

const NONE = { looksMax: 7, pieceMax: 3 }

/** All pages; none longer than asked for, and with these bounds some of them empty. */
async function read(
  query: GetEmailLogsQuery,
  o: { bounds?: { looksMax: number; pieceMax: number }; tenantId?: string } = {},
): Promise<EmailLog[]> {
  const logs: EmailLog[] = []
  const { bounds } = o
  for (let pageToken: string | undefined, pages = 0; ; pages++) {
    if (pages > 2_000) throw new Error('pages without end')
    const page = await listLogs(
      { db: database.db, ...(bounds === undefined ? {} : { bounds }) },
      o.tenantId ?? 'tn_a',
      { ...query, ...(pageToken === undefined ? {} : { pageToken }) },
    )
    expect(page.logs.length).toBeLessThanOrEqual(query.pageSize ?? 50)
    logs.push(...page.logs)
    if (page.nextPageToken === undefined) return logs
    expect(page.nextPageToken).not.toBe(pageToken)
    pageToken = page.nextPageToken
  }
}

const idOf = ({ ref_id, email }: EmailLog) => `${ref_id} ${email}`
const knownIdOf = ({ refId, email }: KnownLog) => `${refId} ${email}`

/** Written without a look at the code: the sentences of the contract. */
function fits(log: KnownLog, q: GetEmailLogsQuery): boolean {
  const ascii = (text: string) => text.toLowerCase().replace('müller', 'xn--mller-kva')
  const createdMs = timeOfUlid(log.refId).getTime()
  const within = (ms: number | undefined, start?: string, end?: string) => {
    if (start === undefined && end === undefined) return true
    if (ms === undefined) return false
    const endMs = end === undefined ? Infinity : Date.parse(end) + (end.length === 10 ? DAY_MS : 1)
    return ms >= (start === undefined ? 0 : Date.parse(start)) && ms < endMs
  }
  return (
    (q.email === undefined || ascii(q.email) === ascii(log.email)) &&
    (q.recipientDomain === undefined ||
      ascii(q.recipientDomain) === ascii(log.email).split('@')[1]) &&
    (q.refId === undefined || q.refId === log.refId) &&
    (q.status === undefined ||
      q.status === log.status ||
      log.facts.some((fact) => fact === q.status)) &&
    (q.subject === undefined || log.subject.toLowerCase().includes(q.subject.toLowerCase())) &&
    (q.failedReason === undefined ||
      q.failedReason === log.reason ||
      (log.reason === REASONS[1] && q.failedReason === REASON_QUERIES[2])) &&
    (q.campaignId === undefined || q.campaignId === log.campaignId) &&
    (q.recipientType === undefined || q.recipientType === log.type) &&
    within(createdMs, q.startCreatedAt, q.endCreatedAt) &&
    within(log.deliveredAt?.getTime(), q.startDeliveredDate, q.endDeliveredDate)
  )
}

const maybe = <T>(values: readonly T[]) => fc.option(fc.constantFrom(...values), { nil: undefined })
const someTime = () =>
  fc.option(
    fc
      .tuple(fc.nat({ max: 41 * 4 }), fc.boolean())
      .map(([step, isDate]) =>
        new Date(firstMs + step * ((DAYS * DAY_MS) / 164))
          .toISOString()
          .slice(0, isDate ? 10 : undefined),
      ),
    { nil: undefined, freq: 3 },
  )

function anyQuery(): fc.Arbitrary<GetEmailLogsQuery> {
  return fc
    .record({
      email: maybe(ADDRESSES),
      recipientDomain: maybe(DOMAINS),
      status: maybe([...recipientStatuses, ...recipientFacts]),
      failedReason: maybe([...REASON_QUERIES, 'nowhere']),
      subject: maybe(['ORDER', 'ünicode', '%', '_', 'nowhere']),
      campaignId: maybe(['spring', 'autumn', 'winter']),
      recipientType: maybe(recipientTypes),
      startCreatedAt: someTime(),
      endCreatedAt: someTime(),
      startDeliveredDate: someTime(),
      endDeliveredDate: someTime(),
    })
    .chain((all) =>
      // Few at once: with all of them hardly anything fits.
      fc.subarray(Object.keys(all) as (keyof typeof all)[], { maxLength: 3 }).map((names) => {
        const kept = names.flatMap((name) => (all[name] === undefined ? [] : [[name, all[name]]]))
        return Object.fromEntries(kept) as GetEmailLogsQuery
      }),
    )
    .filter(
      (q) =>
        !(
          isAfter(q.startCreatedAt, q.endCreatedAt) ||
          isAfter(q.startDeliveredDate, q.endDeliveredDate)
        ),
    )
}

/** Which is refused. */
function isAfter(start: string | undefined, end: string | undefined): boolean {
  if (start === undefined || end === undefined) return false
  return Date.parse(start) >= Date.parse(end) + (end.length === 10 ? DAY_MS : 1)
}

describe('logs', () => {
  it('are all that match, once each, newest first, for all filters, bounds and pages', async () => {
    await fc.assert(
      fc.asyncProperty(
        anyQuery(),
        fc.constantFrom(1, 3, 50, 500),
        fc.constantFrom(undefined, NONE, { looksMax: 40, pieceMax: 40 }),
        async (query, pageSize, bounds) => {
          const logs = await read({ ...query, pageSize }, bounds === undefined ? {} : { bounds })
          expect(logs.map(idOf)).toEqual(known.filter((log) => fits(log, query)).map(knownIdOf))
        },
      ),
      { numRuns: casesOf(8, 60), seed: 11 },
    )
  }, 120_000)

  it.each(recipientStatuses.map((status) => [status]))(
    '[3.2] logs with the status %s are found, and show it',
    async (status: RecipientStatus) => {
      const logs = await read({ status })
      const wanted = known.filter((log) => log.status === status)
      expect(wanted.length).toBeGreaterThan(0)
      expect(logs.map(idOf)).toEqual(wanted.map(knownIdOf))
      expect(new Set(logs.map((log) => log.status))).toEqual(new Set([status]))
    },
  )

  it.each(REASON_QUERIES.map((reason) => [reason]))(
    'logs with the reason %j are found, whatever became of the mail',
    async (failedReason) => {
      const wanted = known.filter((log) => fits(log, { failedReason }))
      expect(new Set(wanted.map((log) => log.status))).toEqual(new Set(REASONED))
      expect((await read({ failedReason })).map(idOf)).toEqual(wanted.map(knownIdOf))
      expect(await read({ failedReason, status: 'delivered' }, { bounds: NONE })).toEqual([])
    },
  )

  it.each(['spam', 'unsubscribed'] as const)(
    '[3.2] logs with the fact %s are found once',
    async (status) => {
      const wanted = known.filter((log) => log.facts.includes(status))
      expect(wanted.length).toBeGreaterThan(0)
      for (const pageSize of [3, 500, 1].slice(0, casesOf(1, 3)))
        for (const bounds of [NONE, { looksMax: 5_000, pieceMax: 2_000 }])
          expect((await read({ status, pageSize }, { bounds })).map(idOf)).toEqual(
            wanted.map(knownIdOf),
          )
    },
  )

  it('logs of one email are its recipients, and none for an unknown email', async () => {
    const [some] = known
    if (some === undefined) throw new Error('nothing is known')
    const { refId } = some
    expect((await read({ refId })).map(idOf)).toEqual(
      known.filter((log) => log.refId === refId).map(knownIdOf),
    )
    for (const other of ['01JD4M8W6ZQ3V5T7X9Y2A4C6E8', '7ZZZZZZZZZZZZZZZZZZZZZZZZZ'])
      expect(await read({ refId: other })).toEqual([])
  })

  it('never include those of another tenant', async () => {
    expect(await read({}, { tenantId: 'tn_c' })).toEqual([])
    for (const query of [{ email: 'ada@example.com' }, { refId: known[0]?.refId ?? '' }])
      expect(await read(query, { tenantId: 'tn_c' })).toEqual([])
    const own = new Set((await read({ campaignId: 'spring' })).map((log) => log.ref_id))
    const others = await read({ campaignId: 'spring' }, { tenantId: 'tn_b' })
    expect(others.length).toBeGreaterThan(0)
    expect(others.filter((log) => own.has(log.ref_id))).toEqual([])
  })

  it.each([
    ['status', { status: 'opened' }],
    ['status', { status: 'clicked' }],
  ] as const)('are empty for an unknown %s', async (_, query) => {
    expect(await read(query)).toEqual([])
  })

  it('logs that are accepted between pages move no others', async () => {
    const query = { pageSize: 100 }
    const first = await listLogs({ db: database.db }, 'tn_a', query)
    const late = { deliveredAfterMs: null, rescuedAfter: 0 } as const
    await seedRecord(database.db, 'tn_a', [
      {
        atMs: Date.now(),
        subject: 'New',
        campaignId: null,
        recipients: [{ email: 'new@example.com', type: 'to', status: 'queued', ...late }],
      },
    ])
    const { nextPageToken: pageToken = '' } = first
    const second = await listLogs({ db: database.db }, 'tn_a', { ...query, pageToken })
    expect([...first.logs, ...second.logs].map(idOf)).toEqual(known.slice(0, 200).map(knownIdOf))
  })
})
