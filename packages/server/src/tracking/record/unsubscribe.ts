/** Unsubscribes a recipient: the address is suppressed, while its email is kept and long after. */
import { parseAddress } from '@postrider/mail'
import type { Tx } from '../../platform/db/index.ts'
import { isTestId } from '../../platform/ids.ts'
import { findUnsubscribable, type TrackedCopy } from '../../sending/index.ts'
import { suppressAddress } from '../../suppressions/index.ts'
import type { Hit, HitOutcome } from '../intake/hit.ts'
import { markUnsubscribed } from './hit-store.ts'

/**
 * False when nothing has changed: this recipient has unsubscribed before, and nobody has let the
 * address in again since.
 */
export async function unsubscribe(
  tx: Tx,
  { email, mailerId }: TrackedCopy,
  hit: Hit,
): Promise<boolean> {
  const isFirst = await markUnsubscribed(tx, hit)
  // A link in test mail suppresses nobody.
  if (isTestId(mailerId)) return isFirst
  const isNew = await suppress(tx, email, hit)
  return isFirst || isNew
}

/**
 * Of an email that is no longer kept only unsubscribing is possible, as long as its recipients are
 * known. There is no event: what it would have to say has gone with the email.
 */
export async function unsubscribeLate(tx: Tx, hit: Hit): Promise<HitOutcome> {
  const email = hit.kind === 'unsubscribe' ? await findUnsubscribable(tx, hit) : undefined
  if (email === undefined) return { kind: 'gone' }
  return { kind: (await suppress(tx, email, hit)) ? 'recorded' : 'repeated' }
}

/** False when it was. */
function suppress(tx: Tx, email: string, { tenantId, refId }: Hit): Promise<boolean> {
  const parsed = parseAddress(email)
  if (!parsed.ok) throw new Error('an accepted email has a recipient without an address')
  const { address } = parsed.address
  const source = { event: 'MAIL_UNSUBSCRIBED', ref_id: refId } as const
  return suppressAddress(tx, { tenantId, address, email, reason: 'unsubscribed', source })
}
