/** What a rescue asks for, checked: each refusal names its path (contract §5, "Log filters"). */
import {
  type FieldError,
  type RecipientType,
  type RescuableStatus,
  type RescueEmailsBody,
  rescuableStatuses,
} from '@postrider/contract'
import { addressKeyOf, parseAddress } from '../../mail/index.ts'
import { allTime, parseTimeSpan, type TimeSpan } from '../../platform/date-time.ts'
import { validationError } from '../../platform/errors.ts'
import { isUlid } from '../../platform/ids.ts'

export interface RescueSelection {
  /** Undefined: whatever the email; empty: none. */
  readonly refIds: readonly string[] | undefined
  /** When it was accepted. */
  readonly created: TimeSpan
  readonly statuses: readonly RescuableStatus[]
  readonly emailKey: string | undefined
  /** In lower-case A-labels. */
  readonly domain: string | undefined
  /** In lower case. */
  readonly subject: string | undefined
  readonly campaignId: string | undefined
  readonly type: RecipientType | undefined
}

const FORM = 'must be an RFC 3339 time or a date such as 2026-01-02'
const NO_REF_ID = 'must be the reference id of an email'

export function readRescue({ ref_ids: given, filter }: RescueEmailsBody): RescueSelection {
  if (given === undefined && filter === undefined)
    throw validationError({ path: '/filter', message: 'is required where no ref_ids are given' })
  const errors: FieldError[] = []
  const refuse = (path: string, message: string) => {
    errors.push({ path, message })
    return undefined
  }
  const { email, recipientDomain, refId, startCreatedAt, endCreatedAt } = filter ?? {}
  for (const [i, id] of (given ?? []).entries()) if (!isUlid(id)) refuse(`/ref_ids/${i}`, NO_REF_ID)
  if (refId !== undefined && !isUlid(refId)) refuse('/filter/refId', NO_REF_ID)
  const parse = (path: string, address: string | undefined) => {
    if (address === undefined) return undefined
    const parsed = parseAddress(address)
    return parsed.ok ? parsed.address : refuse(path, parsed.problem)
  }
  const address = parse('/filter/email', email)
  const anybody = recipientDomain === undefined ? undefined : `a@${recipientDomain}`
  const domain = parse('/filter/recipientDomain', anybody)?.domain
  const span = (name: string, text: string | undefined) =>
    text === undefined ? allTime : (parseTimeSpan(text) ?? refuse(`/filter/${name}`, FORM))
  const start = span('startCreatedAt', startCreatedAt)
  const end = span('endCreatedAt', endCreatedAt)
  if (start !== undefined && end !== undefined && start.from >= end.to)
    refuse('/filter/startCreatedAt', 'must not be after endCreatedAt')
  if (errors.length > 0) throw validationError(...errors)
  return {
    refIds: refIdsOf(given, refId),
    created: { from: (start ?? allTime).from, to: (end ?? allTime).to },
    statuses: filter?.status === undefined ? rescuableStatuses : [filter.status],
    emailKey: address && addressKeyOf(address.address),
    domain,
    subject: filter?.subject?.toLowerCase(),
    campaignId: filter?.campaignId,
    type: filter?.recipientType,
  }
}

function refIdsOf(
  given: readonly string[] | undefined,
  refId: string | undefined,
): readonly string[] | undefined {
  if (refId === undefined) return given && [...new Set(given)]
  return given === undefined || given.includes(refId) ? [refId] : []
}
