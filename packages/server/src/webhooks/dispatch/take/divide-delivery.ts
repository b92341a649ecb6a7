/**
 * Divides a delivery whose content was refused in two (docs/reference/webhooks.md#refused-events): each half
 * a delivery of its own, the earlier events first. Halves wait for their turn before anything newer, in the
 * order of events; of a receiver that refuses everything behind what it has not seen (decide-take.ts).
 */
import { dayOfUlid, newIdAt } from '../../../platform/ids.ts'
import { continueTrace } from '../../../platform/trace.ts'
import type { ReadyDelivery } from './take-deliveries.ts'
import type { NewOpenDelivery } from './take-store.ts'

export function divideDelivery(
  { delivery, stream, events }: ReadyDelivery,
  /** Since it was taken. */
  sinceMs = 0,
): NewOpenDelivery[] {
  const middle = Math.ceil(events.length / 2)
  return [events.slice(0, middle), events.slice(middle)].map((half) => {
    const deliveryId = newIdAt('dlv', stream.nowMs + sinceMs)
    return {
      tenantId: delivery.tenantId,
      webhookId: delivery.webhookId,
      deliveryId,
      day: dayOfUlid(deliveryId),
      bucket: stream.bucket,
      generation: delivery.generation,
      eventIds: half.map((event) => event.eventId),
      eventDays: half.map((event) => event.day),
      traceparent: continueTrace(half[0]?.traceparent),
      isDue: true,
    }
  })
}
