/**
 * Suppresses an address within the caller's transaction: the reason for it, such as a bounce
 * or an unsubscribe, and its consequence are one commit.
 */
import type { SuppressionReason, SuppressionSource } from '@postrider/contract'
import { addressKeyOf } from '@postrider/mail'
import type { Queryable } from '../platform/db/index.ts'
import { newUlid } from '../platform/ids.ts'
import { putSuppressions } from './store.ts'

export interface NewSuppression {
  readonly tenantId: string
  /** In wire form. */
  readonly address: string
  /** As the caller wrote it: what lists show. */
  readonly email: string
  readonly reason: SuppressionReason
  /** Null: not known. */
  readonly source: SuppressionSource | null
}

/**
 * For good. Of several reasons for one address the strongest stays; repeated, it changes nothing. False
 * when the address was suppressed before.
 */
export async function suppressAddress(tx: Queryable, o: NewSuppression): Promise<boolean> {
  const { tenantId, address, email, reason, source } = o
  const given = { email, reason, source, note: null, expiresAt: null }
  const row = { ...given, id: newUlid(), emailKey: addressKeyOf(address) }
  return (await putSuppressions(tx, tenantId, [row])).added.size > 0
}
