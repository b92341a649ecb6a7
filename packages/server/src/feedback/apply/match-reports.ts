/**
 * Finds out whose copy of which of a tenant's emails reports are about: by the reference that the
 * provider was given along, else by an id of the provider's that another report has named together with
 * one, else by the id in its answer when it took the mail, and the recipient's address.
 *
 * What is found is a claim still: whether the email has such a recipient is for the caller to look up.
 */
import { recipientsMax } from '@postrider/contract'
import { addressKeyOf, parseAddress } from '@postrider/mail'
import type { Queryable } from '../../platform/db/index.ts'
import { isUlid } from '../../platform/ids.ts'
import { domainFirst, findByMessageId, type RecipientKey } from '../../sending/index.ts'
import { findMessages } from './fact-store.ts'
import { messageKeyOf, type Report } from './report.ts'

/** What the provider has answered when it took the mail: of some it is the message's own. */
export function answeredIdOf(fact: Report['fact']): string | undefined {
  return fact.providerSendId ?? fact.providerMessageId
}

/** In the order of the given. */
export async function matchReports(
  q: Queryable,
  tenantId: string,
  reports: readonly Report[],
): Promise<readonly (RecipientKey | undefined)[]> {
  const found = reports.map(byReference)
  // One that names a reference is nobody else's, known or not.
  const isMissing = ({ fact }: Report, i: number) =>
    fact.ref === undefined && fact.kind !== 'other' && found[i] === undefined
  const keys = reports.map((one, i) => (isMissing(one, i) ? messageKeyOf(one) : undefined))
  fill(found, joinAmong(reports, found, keys))
  fill(
    found,
    await findMessages(
      q,
      tenantId,
      keys.map((key, i) => (found[i] ? undefined : key)),
    ),
  )
  const sent = reports.map((one, i) => (isMissing(one, i) ? sentTo(one) : undefined))
  fill(found, await findByMessageId(q, tenantId, sent))
  return found
}

function byReference({ fact: { ref } }: Report): RecipientKey | undefined {
  return ref !== undefined && isUlid(ref.refId) && ref.n < recipientsMax ? ref : undefined
}

/** By others that come along. */
function joinAmong(
  reports: readonly Report[],
  found: readonly (RecipientKey | undefined)[],
  keys: readonly (string | undefined)[],
): (RecipientKey | undefined)[] {
  const named = new Map(
    reports.flatMap((report, i) => (found[i] ? [[messageKeyOf(report), found[i]] as const] : [])),
  )
  return keys.map((key) => (key === undefined ? undefined : named.get(key)))
}

function fill(
  found: (RecipientKey | undefined)[],
  results: readonly (RecipientKey | undefined)[],
): void {
  for (const [i, result] of results.entries()) found[i] ??= result
}

function sentTo({ fact }: Report) {
  const { email } = fact
  const messageId = answeredIdOf(fact)
  if (messageId === undefined || email === undefined) return undefined
  const parsed = parseAddress(email)
  if (!parsed.ok) return undefined
  return { messageId, addressKey: domainFirst(addressKeyOf(parsed.address.address)) }
}
