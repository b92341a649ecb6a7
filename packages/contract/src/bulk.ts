/**
 * Bodies of the operations on many recipients at once: rescueEmails, retryEmails and cancelEmails
 * (docs/reference/sending.md#many-at-once).
 *
 * The names of `filter` are those of getEmailLogs. What addresses, times and ids mean is checked by
 * the server.
 */
import { type Static, type TProperties, Type } from 'typebox'
import { answer, closedObject, nextPageToken, refId } from './common.ts'
import { emailFilters } from './email-filters.ts'

/** Recipients that one call changes at most. */
export const bulkChangedMax = 10_000
export const bulkRefIdsMax = 1_000

/** `every` are the statuses that the operation is about. */
function bulkFilter<S extends string>(every: readonly S[], all: string) {
  return closedObject(
    {
      ...emailFilters,
      status: Type.Optional(Type.Enum([...every], { description: 'All of them when left out' })),
    },
    { description: `All that is given must fit; \`{}\` is ${all}` },
  )
}

function bulkBody<S extends string, P extends TProperties>(
  o: { readonly every: readonly S[]; readonly all: string; readonly dryRun: string },
  more: P,
) {
  return closedObject(
    {
      ref_ids: Type.Optional(
        Type.Array(refId, {
          minItems: 1,
          maxItems: bulkRefIdsMax,
          description: 'Only recipients of these emails',
        }),
      ),
      filter: Type.Optional(bulkFilter(o.every, o.all)),
      ...more,
      dry_run: Type.Optional(Type.Boolean({ description: `true: only count ${o.dryRun}` })),
      pageToken: Type.Optional(
        Type.String({
          maxLength: 1024,
          description: '`nextPageToken` of the call before, with the same body otherwise',
        }),
      ),
    },
    { description: '`ref_ids` or `filter` is required; with both, both must fit' },
  )
}

/** What can be rescued: the series of attempts has ended, and not with a delivery. */
export const rescuableStatuses = ['failed', 'expired'] as const
export type RescuableStatus = (typeof rescuableStatuses)[number]

export const rescueEmailsBody = bulkBody(
  { every: rescuableStatuses, all: 'every failed recipient', dryRun: 'what would be rescued' },
  {
    mailer_id: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 64,
        description: 'Send with this mailer; else with the one that failed',
      }),
    ),
  },
)
export type RescueEmailsBody = Static<typeof rescueEmailsBody>

export const rescueEmailsAnswer = answer({
  matched: Type.Integer({ minimum: 0, description: 'Failed recipients that fit' }),
  rescued: Type.Integer({
    minimum: 0,
    description:
      'Of these, those that are queued again because of this call; 0 for a `dry_run`. Fewer than `matched` where another call came first',
  }),
  uncertain: Type.Integer({
    minimum: 0,
    description:
      'Of `matched`, those whose last attempt was cut off after the message was sent: they may get the mail twice',
  }),
  nextPageToken,
})
export type RescueEmailsAnswer = Static<typeof rescueEmailsAnswer>

/** What can be retried: it waits for the time of its next attempt. */
export const retriableStatuses = ['deferred', 'held'] as const

export const retryEmailsBody = bulkBody(
  {
    every: retriableStatuses,
    all: 'every recipient who waits after a failed attempt',
    dryRun: 'what would be retried',
  },
  {},
)
export type RetryEmailsBody = Static<typeof retryEmailsBody>

const changed = (means: string) =>
  Type.Integer({
    minimum: 0,
    description: `Of these, ${means} because of this call; 0 for a \`dry_run\`. Fewer than \`matched\` where an attempt or another call came first`,
  })

export const retryEmailsAnswer = answer({
  matched: Type.Integer({
    minimum: 0,
    description: 'Recipients that fit, and wait for the time of another attempt',
  }),
  changed: changed('those whose next attempt is due now'),
  nextPageToken,
})
export type RetryEmailsAnswer = Static<typeof retryEmailsAnswer>

/** What can be cancelled: no attempt is under way, and one would follow. */
export const cancellableStatuses = ['queued', 'scheduled', 'deferred', 'held'] as const

export const cancelEmailsBody = bulkBody(
  {
    every: cancellableStatuses,
    all: 'every recipient who waits',
    dryRun: 'what would be cancelled',
  },
  {},
)
export type CancelEmailsBody = Static<typeof cancelEmailsBody>

export const cancelEmailsAnswer = answer({
  matched: Type.Integer({ minimum: 0, description: 'Recipients that fit, and wait' }),
  changed: changed('those who are `rejected`'),
  nextPageToken,
})
export type CancelEmailsAnswer = Static<typeof cancelEmailsAnswer>

/** What the three bodies have in common, whatever the statuses. */
export interface BulkBody {
  readonly ref_ids?: readonly string[]
  readonly filter?: BulkFilter & { readonly status?: string }
}
export type BulkFilter = Omit<NonNullable<RescueEmailsBody['filter']>, 'status'>
