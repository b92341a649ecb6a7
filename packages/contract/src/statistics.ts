/**
 * Counts of what happened to emails, by hour or day (contract, beyond what it names).
 *
 * Each is counted in the hour in which it happened, whenever the email was accepted.
 */
import { type Static, Type } from 'typebox'
import { answer, closedObject, timeOrDate } from './common.ts'

export const statisticNames = [
  'accepted',
  'suppressed',
  'sent',
  'delivered',
  'deferred',
  'failed',
  'expired',
  'blocked',
  'rejected',
  'bounced',
  'opens',
  'clicks',
  'unique_opens',
  'unique_clicks',
  'unsubscribed',
  'complained',
] as const
export type StatisticName = (typeof statisticNames)[number]

/** Hours, or days, of one answer. */
export const statisticHoursMax = 31 * 24
export const statisticDaysMax = 400

export const getStatisticsQuery = closedObject({
  start: Type.Optional(timeOrDate('From the hour or day of this time on; a week before `end`')),
  end: Type.Optional(timeOrDate('To the hour or day of this time; now when left out')),
  mailer_id: Type.Optional(
    Type.String({
      description: 'Only what concerns this mailer. One that is unknown or malformed finds nothing',
    }),
  ),
  interval: Type.Optional(Type.Enum(['hour', 'day'], { description: '`day` (UTC) when left out' })),
})
export type GetStatisticsQuery = Static<typeof getStatisticsQuery>

const count = (description: string) => Type.Integer({ description })

const countFields = {
  accepted: count('Recipients accepted, to be sent to'),
  suppressed: count('Recipients that were or became suppressed before they were sent to'),
  sent: count('Recipients whose email a relay provider took; what became of it is counted beside'),
  delivered: count('Recipients whose server took the email'),
  deferred: count('Attempts that failed, with another to follow'),
  failed: count('Recipients whose last attempt failed'),
  expired: count('Recipients whose time ran out'),
  blocked: count('Recipients of emails that phishing protection stopped'),
  rejected: count(
    'Recipients taken back before they were sent to, or refused by the relay provider',
  ),
  bounced: count(
    'Recipients whose server refused the relay provider, or gave the email back later',
  ),
  opens: count('By people, as far as that is known'),
  clicks: count('By people, as far as that is known'),
  unique_opens: count(
    'Recipients of an email who opened it as a person, each once, where that was for the first time',
  ),
  unique_clicks: count('The same of clicks: each recipient once, however many links were followed'),
  unsubscribed: count('Unsubscriptions; once more where a recipient was let in again meanwhile'),
  complained: count('Reports of the email as spam'),
} satisfies Record<StatisticName, unknown>

export const statisticCounts = closedObject(countFields, { description: 'What happened, counted' })
export type StatisticCounts = Static<typeof statisticCounts>

const rate = (description: string) =>
  Type.Unsafe<number | null>({ type: ['number', 'null'], description })

export const statisticRates = closedObject({
  delivery: rate('Delivered, of those that were delivered, failed, expired or bounced'),
  opens: rate('Opens for each delivery'),
  clicks: rate('Clicks for each delivery'),
  unsubscribed: rate('Of those delivered'),
})
export type StatisticRates = Static<typeof statisticRates>

export const statistics = closedObject({
  start: Type.String({ description: 'Where the first interval begins' }),
  end: Type.String({ description: 'Where the last one ends' }),
  interval: Type.Enum(['hour', 'day'], { description: 'How long each interval is' }),
  totals: statisticCounts,
  rates: Type.Unsafe<StatisticRates>({
    ...statisticRates,
    description: 'Of the totals; null where there is nothing to divide by',
  }),
  intervals: Type.Array(
    closedObject({
      at: Type.String({ description: 'Where it begins' }),
      ...countFields,
    }),
    { description: 'Every one, oldest first' },
  ),
  mailers: Type.Array(
    closedObject({
      mailer_id: Type.String({ description: 'The mailer or sending domain' }),
      ...countFields,
    }),
    {
      description: 'Totals of each mailer of which anything is counted',
    },
  ),
})
export type Statistics = Static<typeof statistics>

export const getStatisticsAnswer = answer({ statistics })
export type GetStatisticsAnswer = Static<typeof getStatisticsAnswer>
