/** What the address of the live page holds. */
import { deliveredEvents } from '../webhooks/delivery-search.ts'

export interface LiveSearch {
  readonly event?: (typeof deliveredEvents)[number]
  readonly email?: string
}

export function readLiveSearch({ event, email }: Record<string, unknown>): LiveSearch {
  const known = deliveredEvents.find((one) => one === event)
  return {
    ...(known !== undefined && { event: known }),
    ...(typeof email === 'string' && email.trim() !== '' && { email: email.trim() }),
  }
}
