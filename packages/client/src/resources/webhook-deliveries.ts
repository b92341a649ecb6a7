/**
 * The record of webhook deliveries, and sending events once more (spec §6.2.6; contract §3, §5).
 *
 * Neither redeliver nor replayWebhookEvents is repeated by itself. When the answer got lost, the
 * events may be on their way or delivered already: those that still wait are never doubled, but
 * those that arrived meanwhile would be sent again, and the count would be that of the second call
 * alone. Whoever wants certainty repeats with `undelivered: true`, which leaves them out.
 */
import type {
  GetWebhookDeliveryAnswer,
  ListWebhookDeliveriesAnswer,
  ListWebhookDeliveriesQuery,
  RedeliverAnswer,
  ReplayWebhookEventsAnswer,
  ReplayWebhookEventsBody,
  WebhookDelivery,
} from '@postrider/contract'
import { eachListed } from '../core/pages.ts'
import type { RequestOptions, Send } from '../core/request.ts'
import type { WithTimes } from '../core/times.ts'

export type ListWebhookDeliveriesInput = WithTimes<ListWebhookDeliveriesQuery, 'start' | 'end'>
export type ReplayWebhookEventsInput = WithTimes<ReplayWebhookEventsBody, 'start' | 'end'>

const deliveriesPath = '/v1/webhook/deliveries'
const deliveryPath = `${deliveriesPath}/{delivery_id}`

export function listWebhookDeliveries(
  send: Send,
  filter: ListWebhookDeliveriesInput = {},
  options?: RequestOptions,
): Promise<ListWebhookDeliveriesAnswer> {
  return send({ method: 'GET', path: deliveriesPath, query: filter }, options)
}

export function eachWebhookDelivery(
  send: Send,
  filter: ListWebhookDeliveriesInput = {},
  options?: RequestOptions,
): AsyncGenerator<WebhookDelivery, void, undefined> {
  return eachListed(filter, {
    list: (page) => listWebhookDeliveries(send, page, options),
    entriesOf: (answer) => answer.deliveries,
    options,
  })
}

export function getWebhookDelivery(
  send: Send,
  deliveryId: string,
  options?: RequestOptions,
): Promise<GetWebhookDeliveryAnswer> {
  return send(
    { method: 'GET', path: deliveryPath, parameters: { delivery_id: deliveryId } },
    options,
  )
}

export function redeliver(
  send: Send,
  deliveryId: string,
  options?: RequestOptions,
): Promise<RedeliverAnswer> {
  const path = `${deliveryPath}/redeliver`
  return send({ method: 'POST', path, parameters: { delivery_id: deliveryId } }, options)
}

export function replayWebhookEvents(
  send: Send,
  body: ReplayWebhookEventsInput,
  options?: RequestOptions,
): Promise<ReplayWebhookEventsAnswer> {
  return send({ method: 'POST', path: '/v1/webhook/replay', body }, options)
}
