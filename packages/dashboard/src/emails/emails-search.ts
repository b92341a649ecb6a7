/** What the address of the list of emails holds, and what the service is asked by it. */
import type { GetEmailLogsInput, RetryEmailsInput } from '@postrider/client'
import { recipientFacts, recipientStatuses, recipientTypes } from '../api/names.ts'
import { readQuery } from './read-query.ts'

export type LogStatus = NonNullable<GetEmailLogsInput['status']>
type RecipientType = NonNullable<GetEmailLogsInput['recipientType']>

export const logStatuses = [...recipientStatuses, ...recipientFacts] as const

/** Accepted in the last of these, by hours. */
export const lastHours = { '1h': 1, '24h': 24, '7d': 168, '30d': 720 } as const
export type Last = keyof typeof lastHours

export const testFilters = ['only', 'without'] as const
export type TestFilter = (typeof testFilters)[number]

export interface EmailsSearch {
  /** As it was typed. */
  readonly q?: string
  readonly status?: LogStatus
  readonly mailer?: string
  readonly campaign?: string
  /** Why it waits, failed or was stopped. */
  readonly reason?: string
  readonly type?: RecipientType
  /** Only mail of test mode, or none of it. */
  readonly test?: TestFilter
  readonly last?: Last
  /** Days or times. */
  readonly from?: string
  readonly to?: string
  readonly deliveredFrom?: string
  readonly deliveredTo?: string
}

const textNames = [
  ...['q', 'mailer', 'campaign', 'reason', 'from', 'to', 'deliveredFrom', 'deliveredTo'],
] as readonly (keyof EmailsSearch)[]
const TEXT_MAX = 998

/** Whatever stands in the address: what is none of it is left out. */
export function readEmailsSearch(given: Readonly<Record<string, unknown>>): EmailsSearch {
  const found: Record<string, string> = {}
  for (const name of textNames) {
    const value = given[name]
    const text = typeof value === 'number' || typeof value === 'boolean' ? String(value) : value
    if (typeof text === 'string' && text.trim() !== '') found[name] = text.slice(0, TEXT_MAX)
  }
  const { status, type, last, test } = given
  if (isOneOf(status, logStatuses)) found.status = status
  if (isOneOf(type, recipientTypes)) found.type = type
  if (isOneOf(test, testFilters)) found.test = test
  if (found.from === undefined && found.to === undefined && isOneOf(last, Object.keys(lastHours)))
    found.last = last
  return found
}

function isOneOf<T extends string>(value: unknown, all: readonly T[]): value is T {
  return all.some((one) => one === value)
}

type SharedFilter = Omit<NonNullable<RetryEmailsInput['filter']>, 'status'>

/** `now`: what "the last hours" are counted from. */
function toSharedFilter(search: EmailsSearch, now: Date): SharedFilter {
  const { q = '', campaign, reason, type, last, from, to, mailer, test } = search
  const query = readQuery(q)
  const start = last === undefined ? from : hoursBefore(now, lastHours[last])
  return {
    ...(campaign !== undefined && { campaignId: campaign }),
    ...(reason !== undefined && { failedReason: reason }),
    ...(query !== undefined && { [query.by]: query.value }),
    ...(mailer !== undefined && { mailerId: mailer }),
    ...(type !== undefined && { recipientType: type }),
    ...(test !== undefined && { test: test === 'only' }),
    ...(start !== undefined && { startCreatedAt: start }),
    ...(to !== undefined && { endCreatedAt: to }),
  }
}

export function toLogFilter(search: EmailsSearch, now: Date): GetEmailLogsInput {
  const { status, deliveredFrom, deliveredTo } = search
  return {
    ...toSharedFilter(search, now),
    ...(status !== undefined && { status }),
    ...(deliveredFrom !== undefined && { startDeliveredDate: deliveredFrom }),
    ...(deliveredTo !== undefined && { endDeliveredDate: deliveredTo }),
  }
}

function hoursBefore(now: Date, hours: number): string {
  return new Date(now.getTime() - hours * 3_600_000).toISOString()
}

export const bulkStatuses = {
  retry: ['deferred', 'held'],
  cancel: ['queued', 'scheduled', 'deferred', 'held'],
  rescue: ['failed', 'expired'],
} as const satisfies Record<string, readonly LogStatus[]>
export type BulkAction = keyof typeof bulkStatuses

/** `status`, `delivered`: what stands in the way. */
export function problemOfBulk(
  action: BulkAction,
  { status, deliveredFrom, deliveredTo }: EmailsSearch,
): 'status' | 'delivered' | undefined {
  if (status !== undefined && !isOneOf(status, bulkStatuses[action])) return 'status'
  return deliveredFrom === undefined && deliveredTo === undefined ? undefined : 'delivered'
}

/** For an action that has no problem with the search. */
export function toBulkFilter(search: EmailsSearch, now: Date) {
  const { status } = search
  return { ...toSharedFilter(search, now), ...(status !== undefined && { status }) }
}
