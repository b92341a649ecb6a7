/** What the address of the list of deliveries holds. */
import { eventNames, webhookDeliveryFilters } from '../api/names.ts'

export interface DeliverySearch {
  readonly status?: (typeof webhookDeliveryFilters)[number]
  readonly event?: (typeof eventNames)[number]
  readonly ref_id?: string
  readonly webhook_id?: string
}

/** What is no filter is left out. */
export function readDeliverySearch(search: Record<string, unknown>): DeliverySearch {
  const status = webhookDeliveryFilters.find((one) => one === search.status)
  const event = eventNames.find((one) => one === search.event)
  const { ref_id, webhook_id } = search
  return {
    ...(status !== undefined && { status }),
    ...(event !== undefined && { event }),
    ...(typeof ref_id === 'string' && ref_id !== '' && { ref_id }),
    ...(typeof webhook_id === 'string' && webhook_id !== '' && { webhook_id }),
  }
}
