import { expect, it } from 'vitest'
import { problemOfBulk, readEmailsSearch, toBulkFilter, toLogFilter } from './emails-search.ts'

const now = new Date('2026-03-02T12:00:00Z')

it('keeps what an address may hold, and leaves out the rest', () => {
  expect(
    readEmailsSearch({
      ...{ q: 4711, status: 'opened', type: 'cc', mailer: 'smtp_1', campaign: ' ', other: 'x' },
      ...{ last: '2y', from: '2026-03-01', test: 'only' },
    }),
  ).toEqual({
    ...{ q: '4711', status: 'opened', type: 'cc', mailer: 'smtp_1', from: '2026-03-01' },
    test: 'only',
  })
  expect(readEmailsSearch({ status: 'lost', q: { a: 1 }, test: true })).toEqual({})
})

it('prefers days that were chosen to the last hours', () => {
  expect(readEmailsSearch({ last: '7d', to: '2026-03-01' })).toEqual({ to: '2026-03-01' })
  expect(readEmailsSearch({ last: '7d' })).toEqual({ last: '7d' })
})

it('asks the service by its own names', () => {
  const search = readEmailsSearch({
    ...{ q: 'ada@example.com', status: 'failed', mailer: 'smtp_1', campaign: 'march', type: 'bcc' },
    ...{
      from: '2026-03-01',
      to: '2026-03-02',
      deliveredFrom: '2026-03-01',
      deliveredTo: '2026-03-02',
    },
  })
  expect(toLogFilter(search, now)).toEqual({
    email: 'ada@example.com',
    status: 'failed',
    mailerId: 'smtp_1',
    campaignId: 'march',
    recipientType: 'bcc',
    startCreatedAt: '2026-03-01',
    endCreatedAt: '2026-03-02',
    startDeliveredDate: '2026-03-01',
    endDeliveredDate: '2026-03-02',
  })
})

it('asks for test mail alone, or for all other mail, also to change many', () => {
  expect(toLogFilter({ test: 'only' }, now)).toEqual({ test: true })
  expect(toBulkFilter({ test: 'without' }, now)).toEqual({ test: false })
})

it('counts the last hours from now', () => {
  expect(toLogFilter({ last: '24h' }, now)).toEqual({ startCreatedAt: '2026-03-01T12:00:00.000Z' })
})

it('prefers a campaign that was typed to the filter', () => {
  expect(toBulkFilter({ q: 'campaign:april', campaign: 'march' }, now)).toEqual({
    campaignId: 'april',
  })
})

it('tells why an action does not fit the filters', () => {
  expect(problemOfBulk('rescue', { status: 'delivered' })).toBe('status')
  expect(problemOfBulk('retry', { status: 'failed' })).toBe('status')
  expect(problemOfBulk('cancel', { deliveredTo: '2026-03-01' })).toBe('delivered')
  expect(problemOfBulk('rescue', { status: 'expired', q: 'hello' })).toBeUndefined()
  expect(problemOfBulk('retry', {})).toBeUndefined()
})
