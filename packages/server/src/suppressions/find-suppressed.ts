/** Which of a group of addresses must not be sent to, each by its own tenant. */
import { addressKeyOf } from '@postrider/mail'
import type { Queryable } from '../platform/db/index.ts'
import { findKeys, type SuppressionKey } from './store.ts'

export interface AskedAddress {
  readonly tenantId: string
  /** In wire form. */
  readonly address: string
}

/** In the order of what was asked; one statement, however many there are. */
export async function findSuppressed(
  q: Queryable,
  asked: readonly AskedAddress[],
): Promise<boolean[]> {
  if (asked.length === 0) return []
  const keys = asked.map(({ tenantId, address }) => ({ tenantId, emailKey: addressKeyOf(address) }))
  const found = new Set((await findKeys(q, keys)).map(idOf))
  return keys.map((key) => found.has(idOf(key)))
}

/** A tenant's id holds no space. */
function idOf({ tenantId, emailKey }: SuppressionKey): string {
  return `${tenantId} ${emailKey}`
}
