/**
 * Body and answer of rescueEmails: failed recipients are sent to once more
 * (docs/reference/sending.md#rescue).
 *
 * The names of `filter` are those of getEmailLogs. What addresses, times and ids mean is checked by
 * the server.
 */
import { type Static, Type } from 'typebox'
import { answer, closedObject, nextPageToken, refId } from './common.ts'
import { emailFilters } from './email-filters.ts'

/** Recipients of one call. */
export const rescuedMax = 10_000
export const rescuedRefIdsMax = 1_000
/** What can be rescued: the series of attempts has ended, and not with a delivery. */
export const rescuableStatuses = ['failed', 'expired'] as const
export type RescuableStatus = (typeof rescuableStatuses)[number]

export const rescueFilter = closedObject(
  {
    ...emailFilters,
    status: Type.Optional(Type.Enum([...rescuableStatuses], { description: 'Both when left out' })),
  },
  { description: 'All that is given must fit; `{}` is every failed recipient' },
)
export type RescueFilter = Static<typeof rescueFilter>

export const rescueEmailsBody = closedObject(
  {
    ref_ids: Type.Optional(
      Type.Array(refId, {
        minItems: 1,
        maxItems: rescuedRefIdsMax,
        description: 'Only recipients of these emails',
      }),
    ),
    filter: Type.Optional(rescueFilter),
    mailer_id: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 64,
        description: 'Send with this mailer; else with the one that failed',
      }),
    ),
    dry_run: Type.Optional(Type.Boolean({ description: 'true: only count what would be rescued' })),
    pageToken: Type.Optional(
      Type.String({
        maxLength: 1024,
        description: '`nextPageToken` of the call before, with the same body otherwise',
      }),
    ),
  },
  { description: '`ref_ids` or `filter` is required; with both, both must fit' },
)
export type RescueEmailsBody = Static<typeof rescueEmailsBody>

export const rescueEmailsAnswer = answer({
  matched: Type.Integer({ minimum: 0, description: 'Failed recipients that fit' }),
  rescued: Type.Integer({
    minimum: 0,
    description:
      'Of these, those that are queued again because of this call; 0 for a `dry_run`. Fewer than `matched` where another call came first',
  }),
  nextPageToken,
})
export type RescueEmailsAnswer = Static<typeof rescueEmailsAnswer>
