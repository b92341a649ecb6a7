/** What the address of the live page holds. */
import { eventNames } from '../api/names.ts'

export interface LiveSearch {
  readonly event?: (typeof eventNames)[number]
  readonly email?: string
}

export function readLiveSearch({ event, email }: Record<string, unknown>): LiveSearch {
  const known = eventNames.find((one) => one === event)
  return {
    ...(known !== undefined && { event: known }),
    ...(typeof email === 'string' && email.trim() !== '' && { email: email.trim() }),
  }
}
