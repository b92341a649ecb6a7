/** What facts about a recipient are grouped by in statistics (docs/reference/statuses.md#groups). */
import { parseAddress } from '@postrider/mail'
import type { CounterGroups } from '../../platform/counters/counter-store.ts'
import { domainOf } from './email.ts'

/** @param address in wire form */
export function groupsOfAddress(address: string, campaignId: string | null): CounterGroups {
  const recipient_domain = domainOf(address).toLowerCase()
  return campaignId === null ? { recipient_domain } : { recipient_domain, campaign_id: campaignId }
}

/** @param email as the caller wrote it */
export function groupsOfRecipient(email: string, campaignId: string | null): CounterGroups {
  const parsed = parseAddress(email)
  return groupsOfAddress(parsed.ok ? parsed.address.address : email, campaignId)
}

/** The groups of a fact that has a reason. */
export function withReason(
  groups: CounterGroups | undefined,
  failedReason: string,
): { readonly groups?: CounterGroups } {
  if (failedReason !== '')
    return { groups: { ...groups, failed_reason: groupedReason(failedReason) } }
  return groups === undefined ? {} : { groups }
}

const REASON_CHARS_MAX = 200
const CODE = /^(?:\d{3}|\d\.\d{1,3}\.\d{1,3})$/

/**
 * A stable sentence as it is. A server's own words without what differs from mail to mail: addresses, which
 * sums would keep for longer than emails are kept, ids and numbers, but for the codes of a reply. No longer
 * than the name of a group may be. Takes time in proportion to its length: callers and servers choose the words.
 */
export function groupedReason(failedReason: string): string {
  const text = failedReason.slice(0, REASON_CHARS_MAX)
  // As a stable sentence, which is what most are.
  if (!/[@\d]/.test(text)) return text.toWellFormed()
  return text
    .replace(/\S+/g, (word) => (word.includes('@') ? '<address>' : word))
    .replace(/[\w.:=+/-]+/g, (word) => (/\d/.test(word) && !CODE.test(word) ? '#' : word))
    .slice(0, REASON_CHARS_MAX)
    .toWellFormed()
}
