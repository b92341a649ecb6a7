import { expect, it } from 'vitest'
import { buildTimeline, type TracedDelivery, type TracedHit } from './build-timeline.ts'
import { attemptOf, recipientOf, traceOf, waiting } from './trace.fixture.ts'

const at = (second: number) => `2026-03-02T12:00:${String(second).padStart(2, '0')}.000Z`
const kindsOf = (recipient = recipientOf(), change = {}) =>
  buildTimeline(traceOf(recipient, change), recipient).map(({ kind }) => kind)

const hit = (change: Partial<TracedHit>): TracedHit => ({
  kind: 'open',
  at: at(10),
  ip: '192.0.2.1',
  user_agent: 'Mozilla/5.0',
  bot: false,
  rule: null,
  ...change,
})
const event = (id: string, email: string) => ({
  event_id: id,
  event: 'MAIL_DELIVERED' as const,
  event_at: '2026-03-02T12:00:02.000000Z',
  success: true,
  details: { email: [email] },
})
const delivery = (change: Partial<TracedDelivery>): TracedDelivery => ({
  delivery_id: 'dlv_1',
  webhook_id: 'wh_1',
  status: 'delivered',
  created_at: at(3),
  next_attempt_at: null,
  event_ids: ['evt_1'],
  attempts: [{ at: at(20), status: 200, duration_ms: 3, timings: null, error: null, response: '' }],
  ...change,
})

it('begins with the acceptance and the checks before the first attempt', () => {
  expect(kindsOf()).toEqual(['accepted', 'checked', 'attempt'])
})

it('puts attempts, hits and webhook deliveries on one line of time', () => {
  const recipient = recipientOf({
    attempts: [attemptOf({ outcome: 'deferred' }), attemptOf({ attempt: 2, started_at: at(15) })],
    hits: [hit({ at: at(30) }), hit({ kind: 'click', at: at(40), url: 'https://example.com/' })],
  })
  const change = { events: [event('evt_1', 'ada@example.com')], deliveries: [delivery({})] }
  const entries = buildTimeline(traceOf(recipient, change), recipient)
  expect(entries.map(({ kind }) => kind)).toEqual([
    ...['accepted', 'checked', 'attempt', 'attempt', 'delivery', 'hit', 'hit'],
  ])
  expect(entries[4]).toMatchObject({ at: at(20), events: ['MAIL_DELIVERED'] })
})

it('leaves out deliveries that carry only events of other recipients', () => {
  const change = { events: [event('evt_1', 'bob@example.com')], deliveries: [delivery({})] }
  expect(kindsOf(recipientOf(), change)).not.toContain('delivery')
})

it('shows a delivery that was never requested at the time when it was made', () => {
  const recipient = recipientOf()
  const change = {
    events: [event('evt_1', 'ada@example.com')],
    deliveries: [delivery({ status: 'pending', attempts: [] })],
  }
  expect(buildTimeline(traceOf(recipient, change), recipient).at(-1)).toMatchObject({ at: at(3) })
})

it('gathers the same hits of a minute', () => {
  const recipient = recipientOf({
    hits: [
      hit({ at: at(10) }),
      hit({ at: at(11) }),
      hit({ at: at(12), bot: true, rule: 'known_robot' }),
      hit({ at: '2026-03-02T12:30:00.000Z' }),
    ],
  })
  const found = buildTimeline(traceOf(recipient), recipient).filter(({ kind }) => kind === 'hit')
  expect(found).toMatchObject([
    { count: 2, hit: { bot: false } },
    { count: 1, hit: { rule: 'known_robot' } },
    { count: 1 },
  ])
})

it('ends with what comes next', () => {
  const recipient = recipientOf({
    status: 'deferred',
    waiting,
    attempts: [attemptOf({ outcome: 'deferred', retry_scheduled: true })],
  })
  expect(buildTimeline(traceOf(recipient), recipient).at(-1)).toEqual({
    kind: 'next',
    at: waiting.due_at,
    attempt: 2,
    maxAttempts: 5,
    isUnderWay: false,
    expiresAt: waiting.expires_at,
  })
})

it('tells what kept a mail from its first attempt', () => {
  const none = { attempts: [], message_id: '', delivered_at: null }
  expect(kindsOf(recipientOf({ ...none, status: 'suppressed' }))).toEqual([
    'accepted',
    'suppressed',
  ])
  expect(
    kindsOf(recipientOf({ ...none, status: 'blocked', failed_reason: 'a link lies' })),
  ).toEqual(['accepted', 'blocked'])
  expect(kindsOf(recipientOf({ ...none, status: 'rejected' }))).toEqual(['accepted', 'cancelled'])
})

it('says when a scheduled mail goes out', () => {
  const recipient = recipientOf({
    status: 'scheduled',
    attempts: [],
    waiting: { ...waiting, attempt: 1 },
  })
  expect(buildTimeline(traceOf(recipient), recipient)).toMatchObject([
    { kind: 'accepted', sendAt: waiting.due_at },
    { kind: 'next', attempt: 1 },
  ])
})

it('says what was left out, behind the acceptance', () => {
  const recipient = recipientOf({
    attempts: [attemptOf({ attempt: 51 })],
    attempts_truncated: true,
    hits_truncated: true,
  })
  expect(kindsOf(recipient, { deliveries_truncated: true })).toEqual([
    ...['accepted', 'left_out', 'left_out', 'left_out', 'attempt'],
  ])
})
