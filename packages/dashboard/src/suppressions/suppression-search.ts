/** What the address of the list of suppressions holds. */
import type { SuppressionReason } from '@postrider/client'
import { suppressionReasons } from '../api/names.ts'

export interface SuppressionSearch {
  readonly email?: string
  readonly reason?: SuppressionReason
}

/** What is no filter is left out. */
export function readSuppressionSearch({
  email,
  reason,
}: Record<string, unknown>): SuppressionSearch {
  const known = suppressionReasons.find((one) => one === reason)
  return {
    ...(typeof email === 'string' && email.trim() !== '' && { email: email.trim() }),
    ...(known !== undefined && { reason: known }),
  }
}
