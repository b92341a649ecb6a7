/**
 * What an operation on many recipients asks for, checked: each refusal names its path
 * (docs/reference/sending.md#many-at-once).
 */
import type { BulkBody, FieldError, RecipientType } from '@postrider/contract'
import { addressKeyOf, parseAddress } from '@postrider/mail'
import { validationError } from '../../platform/errors.ts'
import { isTestId, isUlid } from '../../platform/ids.ts'
import { type EmailSelection, readEmailFilters } from '../record/read-filters.ts'

export interface BulkSelection extends Omit<EmailSelection, 'refId'> {
  /** Undefined: whatever the email; empty: none. */
  readonly refIds: readonly string[] | undefined
  readonly statuses: readonly string[]
}

/** @param every the statuses that the operation is about */
export function readSelection(
  { ref_ids: given, filter }: BulkBody,
  every: readonly string[],
): BulkSelection {
  if (given === undefined && filter === undefined)
    throw validationError({ path: '/filter', message: 'is required where no ref_ids are given' })
  const errors: FieldError[] = []
  for (const [i, id] of (given ?? []).entries())
    if (!isUlid(id))
      errors.push({ path: `/ref_ids/${i}`, message: 'must be the reference id of an email' })
  const { refId, ...selection } = readEmailFilters(filter ?? {}, '/filter', errors)
  if (errors.length > 0) throw validationError(...errors)
  return {
    ...selection,
    refIds: refIdsOf(given, refId),
    statuses: filter?.status === undefined ? every : [filter.status],
  }
}

function refIdsOf(
  given: readonly string[] | undefined,
  refId: string | undefined,
): readonly string[] | undefined {
  if (refId === undefined) return given && [...new Set(given)]
  return given === undefined || given.includes(refId) ? [refId] : []
}

/** What a recipient is chosen by, besides its status. */
export interface SoughtRecipient {
  readonly email: string
  readonly type: RecipientType
  readonly createdAt: Date
  /** Null when it was not asked for. */
  readonly subject: string | null
  readonly campaignId: string | null
  readonly mailerId: string
  readonly failedReason: string
}

/** But for its reason, which takes turns of the event loop (`havingReason`). */
export function fits(one: SoughtRecipient, selection: BulkSelection): boolean {
  const { created, emailKey, domain, subject, campaignId, mailerId, type, isTest } = selection
  const createdMicros = BigInt(one.createdAt.getTime()) * 1000n
  if (createdMicros < created.from || createdMicros >= created.to) return false
  if (type !== undefined && one.type !== type) return false
  if (campaignId !== undefined && one.campaignId !== campaignId) return false
  if (mailerId !== undefined && one.mailerId !== mailerId) return false
  if (isTest !== undefined && isTestId(one.mailerId) !== isTest) return false
  if (subject !== undefined && one.subject?.toLowerCase().includes(subject) !== true) return false
  if (emailKey === undefined && domain === undefined) return true
  const parsed = parseAddress(one.email)
  if (!parsed.ok) return false
  if (domain !== undefined && parsed.address.domain !== domain) return false
  return emailKey === undefined || addressKeyOf(parsed.address.address) === emailKey
}

/** By how much the clocks that made an email's id and its time may differ. */
const CLOCKS_MS = 5 * 60_000

/** When the emails were accepted, as their ids tell it. */
export function idTimesOf({ created }: BulkSelection): {
  readonly fromMs: number
  readonly toMs: number
} {
  return {
    fromMs: Number(created.from / 1000n) - CLOCKS_MS,
    toMs: Number(created.to / 1000n) + CLOCKS_MS,
  }
}
