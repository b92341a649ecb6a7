/**
 * Which way leads to the logs that are asked for: the one that is likely to look at the fewest others.
 *
 * Whatever else is asked for, is compared row by row. That an email's recipients are found by what
 * few share (an address, a status that few have) before what many do is all there is to it; nothing
 * is estimated, so that the same question always takes the same way.
 */
import type { RecipientFact } from '@postrider/contract'
import { indexOfStatus, type RecipientIndex, type WalkedBy } from '../sending/index.ts'
import type { LogSelection } from './read-logs-query.ts'

export type LogSource =
  | { readonly kind: 'recipients'; readonly by: WalkedBy }
  /** Found by something else than their own rows; within the campaign, where one is asked for. */
  | { readonly kind: 'index'; readonly of: RecipientIndex }
  | { readonly kind: 'emails' }
  /** By the days in which they were delivered. */
  | { readonly kind: 'delivered' }
  | { readonly kind: 'fact'; readonly fact: RecipientFact }

export function decideSource(s: LogSelection): LogSource {
  if (s.refId !== undefined) return { kind: 'recipients', by: 'ref_id' }
  if (s.emailKey !== undefined) return { kind: 'recipients', by: 'address' }
  if (s.fact !== undefined) return { kind: 'fact', fact: s.fact }
  const by = walkOf(s)
  // Of a domain so many have failed that they are soon found among its recipients, of other
  // statuses there are too few.
  if (s.status === 'failed' && by !== undefined) return { kind: 'recipients', by }
  const index = s.status === undefined ? undefined : indexOfStatus(s.status)
  if (index !== undefined) return { kind: 'index', of: index }
  if (s.failedReason !== undefined && by === undefined) return { kind: 'index', of: 'reasoned' }
  // Few: they have an index of their own.
  if (s.campaignId !== undefined || s.isTest === true) return { kind: 'emails' }
  if (by !== undefined) return { kind: 'recipients', by }
  if (s.subject !== undefined || s.mailerId !== undefined) return { kind: 'emails' }
  if (s.delivered !== undefined) return { kind: 'delivered' }
  return { kind: 'recipients', by: 'ref_id' }
}

function walkOf(s: LogSelection): WalkedBy | undefined {
  if (s.campaignId !== undefined) return undefined
  if (s.domain !== undefined) return 'domain'
  return s.type === undefined || s.type === 'to' ? undefined : 'copied'
}
