/** The overview of a tenant, and the activity of one mailer (docs/reference/statuses.md#overview). */
import { type Static, Type } from 'typebox'
import {
  answer,
  closedObject,
  stringOrNull,
  timeOrDate,
  timestamp,
  timestampOrNull,
} from './common.ts'
import { countedGroup, type StatisticRates, statisticCounts, statisticRates } from './statistics.ts'

export const getOverviewQuery = closedObject({
  start: Type.Optional(timeOrDate('From the hour of this time on; 24 hours before `end`')),
  end: Type.Optional(timeOrDate('To the hour of this time; now when left out')),
})
export type GetOverviewQuery = Static<typeof getOverviewQuery>

/** Why something is to be looked at. */
export const attentionReasons = [
  'tenant_suspended',
  'mailer_deactivated',
  'mail_held',
  'mailer_disabled',
  'mailer_failing',
  'queue_late',
  'webhook_failing',
  'webhook_paused',
] as const
export type AttentionReason = (typeof attentionReasons)[number]

/** Entries of one kind in an overview. */
export const attentionMax = 50
/** Groups of a kind in an overview. */
export const topGroupsMax = 10

export const attention = closedObject(
  {
    mailer_id: Type.Optional(Type.String({ description: 'A mailer or sending domain' })),
    webhook_id: Type.Optional(Type.String({ description: 'A webhook' })),
    reason: Type.Enum([...attentionReasons], {
      description:
        '`tenant_suspended`: the operator suspended the tenant, which sends nothing; `mailer_deactivated`: its login was rejected; `mail_held`: a disabled mailer has mail; `mailer_disabled`: a mailer or mailbox is disabled, and no mail waits for it; `mailer_failing`: mail waits for another attempt because of its mailer; `queue_late`: mail has been due for over a minute, and limits do not explain it; `webhook_failing`: its requests fail; `webhook_paused`: it is paused, and events wait',
    }),
    since: timestampOrNull('Since when, where that is known'),
    detail: Type.String({ description: 'What was found, often in the words of a server' }),
  },
  {
    description:
      'Something to look at; it has the id of a mailer or of a webhook, unless it is about the tenant',
  },
)
export type Attention = Static<typeof attention>

const queued = {
  waiting: Type.Integer({
    description:
      'Recipients in the send queue: due, under way, waiting for another attempt, or held. Above 10,000 it may be an estimate',
  }),
  due: Type.Integer({ description: 'Those of them that could be sent now' }),
  held: Type.Integer({
    description: 'Those of them that wait for their mailer to be active, or their tenant',
  }),
  oldest_due_at: timestampOrNull('When the oldest due one became due'),
}

export const overviewQueue = closedObject(
  {
    ...queued,
    scheduled: Type.Integer({
      description: 'Recipients whose `send_at` is ahead; they are not in `waiting`',
    }),
  },
  { description: 'Mail that is not finished' },
)
export type OverviewQueue = Static<typeof overviewQueue>

export const overview = closedObject(
  {
    start: Type.String({ description: 'Where the first hour or day begins' }),
    end: Type.String({ description: 'Where the last one ends' }),
    counts: statisticCounts,
    rates: Type.Unsafe<StatisticRates>({
      ...statisticRates,
      description: 'Of the counts, as fractions; null where there is nothing to divide by',
    }),
    queue: overviewQueue,
    attention: Type.Array(attention, {
      description: `What to look at first, at most ${attentionMax} of each reason; what fails or is late comes before what a person paused; empty when all is well`,
    }),
    top_failed_reasons: Type.Array(countedGroup, {
      description: `Of failures, the most frequent first, ${topGroupsMax} at most`,
    }),
    top_recipient_domains: Type.Array(countedGroup, {
      description: `Those with the most recipients first, ${topGroupsMax} at most`,
    }),
  },
  { description: 'How a tenant stands' },
)
export type Overview = Static<typeof overview>

export const getOverviewAnswer = answer({ overview })
export type GetOverviewAnswer = Static<typeof getOverviewAnswer>

export const activityLimitNames = ['per_second', 'per_minute', 'per_day'] as const
export type ActivityLimitName = (typeof activityLimitNames)[number]

export const mailerActivity = closedObject(
  {
    mailer_id: Type.String({ description: 'The mailer or sending domain' }),
    intervals: Type.Array(
      closedObject({
        at: timestamp('Where it begins'),
        sent: Type.Integer({ description: 'Recipients whose mail its server or provider took' }),
        deferred: Type.Integer({ description: 'Attempts that failed, with another to follow' }),
        failed: Type.Integer({ description: 'Recipients whose last attempt failed, or expired' }),
      }),
      { description: 'The last 24 hours by ten minutes, oldest first, the present one last' },
    ),
    queue: closedObject(queued, { description: 'Its mail that is not finished' }),
    limits: closedObject(
      {
        rates: Type.Array(
          closedObject({
            name: Type.Enum([...activityLimitNames], { description: 'Which limit' }),
            limit: Type.Integer({ description: 'Messages that it allows' }),
            used: Type.Integer({ description: 'Messages of the time that it looks back on' }),
            wait_ms: Type.Integer({ description: 'Until it allows the next message; 0: now' }),
          }),
          { description: 'Those that hold for the mailer' },
        ),
        connections: Type.Integer({ description: 'Connections, or requests, at once' }),
        waiting: Type.Integer({
          description: 'Due recipients that wait for a limit now; 0 when no limit is used up',
        }),
        wait_ms: Type.Integer({ description: 'Until the limits allow the next message; 0: now' }),
      },
      { description: 'Its limits, and what they make wait' },
    ),
    last_replies: Type.Array(
      closedObject({
        at: timestamp('When'),
        failed_reason: Type.String({ description: 'What it means' }),
        provider_error: Type.String({ description: "The server's own words" }),
        ref_id: stringOrNull('The email that met it'),
      }),
      { description: 'The last failures that concern the mailer itself, newest first' },
    ),
  },
  { description: 'What a mailer did lately, and what it waits for' },
)
export type MailerActivity = Static<typeof mailerActivity>

export const getMailerActivityAnswer = answer({ activity: mailerActivity })
export type GetMailerActivityAnswer = Static<typeof getMailerActivityAnswer>
