/** Of a suppression that somebody asked for: who it was. A session calls by the id of its user. */
import type { SuppressionSource } from '@postrider/contract'

export function sourceOfCaller(callerId: string): SuppressionSource {
  return callerId.startsWith('user_') ? { user_id: callerId } : { key_id: callerId }
}
