/**
 * What emails are filtered by, checked (docs/reference/statuses.md#log-filters, "Log filters"): in logs,
 * their export and operations on many recipients. Each refusal names its path.
 */
import { setImmediate } from 'node:timers/promises'
import type { BulkFilter, FieldError, RecipientType } from '@postrider/contract'
import { addressKeyOf, parseAddress } from '@postrider/mail'
import { readSpan } from '../../platform/http/read-span.ts'
import { soughtUlid } from '../../platform/ids.ts'
import type { TimeSpan } from '../../platform/values/date-time.ts'
import { groupedReason } from './counter-groups.ts'

export interface SoughtReason {
  /** As it was given. */
  readonly text: string
  /** Made once: it is compared with that of many recipients. */
  readonly group: string
}

export interface EmailSelection {
  readonly refId: string | undefined
  /** When it was accepted. */
  readonly created: TimeSpan
  readonly emailKey: string | undefined
  /** In lower-case A-labels. */
  readonly domain: string | undefined
  /** In lower case. */
  readonly subject: string | undefined
  readonly campaignId: string | undefined
  readonly mailerId: string | undefined
  readonly type: RecipientType | undefined
  readonly failedReason: SoughtReason | undefined
  /** Undefined: test mail and other. */
  readonly isTest: boolean | undefined
}

/** What is wrong goes into `errors`; the path of a filter is its name after `under`. */
export function readEmailFilters(
  filter: BulkFilter,
  under: string,
  errors: FieldError[],
): EmailSelection {
  const { email, recipientDomain, refId, startCreatedAt, endCreatedAt } = filter
  const parse = (name: string, address: string | undefined) => {
    if (address === undefined) return undefined
    const parsed = parseAddress(address)
    if (parsed.ok) return parsed.address
    errors.push({ path: `${under}/${name}`, message: parsed.problem })
    return undefined
  }
  const address = parse('email', email)
  const isDomain = !recipientDomain?.includes('@')
  if (!isDomain)
    errors.push({
      path: `${under}/recipientDomain`,
      message: 'must be a domain such as example.com',
    })
  const anybody = recipientDomain === undefined || !isDomain ? undefined : `a@${recipientDomain}`
  return {
    refId: refId === undefined ? undefined : soughtUlid(refId),
    created: readSpan({ startCreatedAt }, { endCreatedAt }, under, errors),
    emailKey: address && addressKeyOf(address.address),
    domain: parse('recipientDomain', anybody)?.domain,
    subject: filter.subject?.toLowerCase(),
    campaignId: filter.campaignId,
    mailerId: filter.mailerId,
    type: filter.recipientType,
    failedReason: filter.failedReason === undefined ? undefined : soughtReason(filter.failedReason),
    isTest: filter.test,
  }
}

function soughtReason(text: string): SoughtReason {
  return { text, group: groupedReason(text) }
}

interface FailedRecipient {
  readonly email: string
  readonly failedReason: string
}
type WithReason = Pick<EmailSelection, 'failedReason'>

/** Whether a recipient's reason is the one that is sought: its own words, or the group that has it. */
function hasReason(
  { email, failedReason }: FailedRecipient,
  { failedReason: sought }: WithReason,
): boolean {
  if (sought === undefined || failedReason === sought.text) return true
  if (failedReason === '') return false
  const group = groupedReason(failedReason, email)
  return group === sought.text || group === sought.group
}

/** Unlike words of servers take time: others get their turn of the event loop after so many. */
const TURN = 200

/** In the order of the given. */
export async function havingReason<R extends FailedRecipient>(
  recipients: readonly R[],
  selection: WithReason,
): Promise<readonly R[]> {
  if (selection.failedReason === undefined) return recipients
  const having: R[] = []
  for (let i = 0; i < recipients.length; i += TURN) {
    if (i > 0) await setImmediate()
    having.push(...recipients.slice(i, i + TURN).filter((one) => hasReason(one, selection)))
  }
  return having
}
