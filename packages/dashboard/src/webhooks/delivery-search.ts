/** What the address of the list of deliveries holds. */
import type { EventName, WebhookDelivery } from '@postrider/client'

export const deliveryStatuses = [
  'pending',
  'retrying',
  'delivered',
  'parked',
  'exhausted',
  'discarded',
] as const satisfies readonly WebhookDelivery['status'][]

/** Events that webhooks get. */
export const deliveredEvents = [
  'MAIL_DELIVERED',
  'SMTP_ERROR',
  'MAIL_BOUNCE',
  'MAIL_OPENED',
  'MAIL_CLICKED',
  'MAIL_UNSUBSCRIBED',
  'MAIL_SPAM',
  'MAIL_POLICY_REJECTION',
  'MAIL_GENERATION_FAILURE',
  'MAIL_GENERATION_REJECTION',
  'PHISHING',
  'DOMAIN_VERIFICATION',
  'INCOMING_EMAIL',
  'MAILER_DEACTIVATED',
  'IMAP_ERROR',
] as const satisfies readonly EventName[]

export interface DeliverySearch {
  readonly status?: (typeof deliveryStatuses)[number]
  readonly event?: (typeof deliveredEvents)[number]
  readonly ref_id?: string
}

/** What is no filter is left out. */
export function readDeliverySearch(search: Record<string, unknown>): DeliverySearch {
  const status = deliveryStatuses.find((one) => one === search.status)
  const event = deliveredEvents.find((one) => one === search.event)
  const { ref_id } = search
  return {
    ...(status !== undefined && { status }),
    ...(event !== undefined && { event }),
    ...(typeof ref_id === 'string' && ref_id !== '' && { ref_id }),
  }
}
