/**
 * Counts of what happened to emails, by hour or day (contract, beyond what it names).
 *
 * Each is counted in the hour in which it happened, whenever the email was accepted.
 */
import { type Static, Type } from 'typebox'
import { answer, closedObject, peopleOnly, timeOrDate } from './common.ts'

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

/** What statistics can be grouped by. */
export const statisticGroups = [
  'recipient_domain',
  'campaign_id',
  'failed_reason',
  'mailer_id',
] as const
export type StatisticGroup = (typeof statisticGroups)[number]

/** Groups of one answer, and groups that are counted for a tenant in an hour and in a day. */
export const statisticGroupsMax = 200
/** For how many days the hours of groups are kept. */
export const groupHoursDays = 31

export const getStatisticsQuery = closedObject({
  start: Type.Optional(timeOrDate('From the hour or day of this time on; a week before `end`')),
  end: Type.Optional(timeOrDate('To the hour or day of this time; now when left out')),
  mailer_id: Type.Optional(
    Type.String({
      description: 'Only what concerns this mailer. One that is unknown or malformed finds nothing',
    }),
  ),
  interval: Type.Optional(Type.Enum(['hour', 'day'], { description: '`day` (UTC) when left out' })),
  group_by: Type.Optional(
    Type.Enum([...statisticGroups], {
      description: `Answers \`groups\` and \`other\`, too. All but \`mailer_id\` need the filter \`mailer_id\` left out. With \`interval=hour\`, \`start\` must be within the last ${groupHoursDays} days`,
    }),
  ),
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
  opens: count(`Opens by people. ${peopleOnly}`),
  clicks: count(`Clicks by people. ${peopleOnly}`),
  unique_opens: count(
    'Recipients of an email who opened it as a person, each once, where that was for the first time. Opens of programs are not counted',
  ),
  unique_clicks: count(
    'The same of clicks by people: each recipient once, however many links were followed',
  ),
  unsubscribed: count('Unsubscriptions; once more where a recipient was let in again meanwhile'),
  complained: count('Reports of the email as spam'),
} satisfies Record<StatisticName, unknown>

export const statisticCounts = closedObject(countFields, { description: 'What happened, counted' })
export type StatisticCounts = Static<typeof statisticCounts>

const rate = (description: string) =>
  Type.Unsafe<number | null>({ type: ['number', 'null'], description })

export const statisticRates = closedObject({
  delivery: rate('Delivered, of those that were delivered, failed, expired or bounced'),
  opens: rate('Opens by people, for each delivery'),
  clicks: rate('Clicks by people, for each delivery'),
  unsubscribed: rate('Of those delivered'),
})
export type StatisticRates = Static<typeof statisticRates>

export const countedGroup = closedObject(
  {
    recipient_domain: Type.Optional(
      Type.String({ description: 'Part of the address, in wire form' }),
    ),
    campaign_id: Type.Optional(Type.String({ description: 'As given to sendEmail' })),
    failed_reason: Type.Optional(
      Type.String({
        description:
          "As events have it; a server's own words without addresses (`<address>`), numbers and ids (`#`)",
      }),
    ),
    mailer_id: Type.Optional(Type.String({ description: 'The mailer or sending domain' })),
    totals: statisticCounts,
  },
  { description: 'What happened in one group; it has the one field that was asked for' },
)
export type CountedGroup = Static<typeof countedGroup>

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
  groups: Type.Optional(
    Type.Array(countedGroup, {
      description: `With \`group_by\`: the groups of which most is counted first, ${statisticGroupsMax} at most. A fact without a campaign, or without a reason, is in no group`,
    }),
  ),
  other: Type.Optional(
    Type.Unsafe<StatisticCounts>({
      ...statisticCounts,
      description:
        'With `group_by`: everything in groups that are not listed. Very many groups in an hour or day share one count',
    }),
  ),
})
export type Statistics = Static<typeof statistics>

export const getStatisticsAnswer = answer({ statistics })
export type GetStatisticsAnswer = Static<typeof getStatisticsAnswer>
