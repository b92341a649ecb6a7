/** What the address of the list of deliveries holds. */
import { eventNames, webhookDeliveryStatuses } from '../api/names.ts'

export interface DeliverySearch {
  readonly status?: (typeof webhookDeliveryStatuses)[number]
  readonly event?: (typeof eventNames)[number]
  readonly ref_id?: string
}

/** What is no filter is left out. */
export function readDeliverySearch(search: Record<string, unknown>): DeliverySearch {
  const status = webhookDeliveryStatuses.find((one) => one === search.status)
  const event = eventNames.find((one) => one === search.event)
  const { ref_id } = search
  return {
    ...(status !== undefined && { status }),
    ...(event !== undefined && { event }),
    ...(typeof ref_id === 'string' && ref_id !== '' && { ref_id }),
  }
}
