/**
 * A tenant's webhook (interface §2.1, §2.2): at most one per event type.
 */
import {
  coreSubscriptionKeys,
  type MessageEventName,
  type RegisterWebhookBody,
  type SubscriptionKey,
  subscriptionKeyOfEvent,
  subscriptionKeys,
  type WebhookEvent,
} from '@postrider/contract'
import { ApiError } from '../platform/errors.ts'

/** All twelve toggles (contract §4). `imap_error` is kept and shown, never consulted. */
export type Toggles = Readonly<Record<SubscriptionKey, boolean>>

export interface Subscription {
  readonly tenantId: string
  readonly webhookId: string
  readonly event: WebhookEvent
  readonly url: string
  readonly active: boolean
  /** Absent for DOMAIN_VERIFICATION. */
  readonly toggles?: Toggles
  readonly headersSealed: string
  readonly headerNames: readonly string[]
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** Interface §4.1 rules 1 and 2: `phishing` and `imap_error` alone do not satisfy the first. */
export function togglesOf(
  body: Pick<RegisterWebhookBody, 'event' | 'webhook_options'>,
): Toggles | undefined {
  if (body.event === 'DOMAIN_VERIFICATION') {
    if (body.webhook_options !== undefined) throw new ApiError('events_not_allowed')
    return undefined
  }
  const given = body.webhook_options?.events
  if (!coreSubscriptionKeys.some((key) => given?.[key] === true))
    throw new ApiError('at_least_one_event_required')
  return Object.fromEntries(subscriptionKeys.map((key) => [key, given?.[key] === true])) as Toggles
}

/** Whether a subscription with these toggles is sent this event (interface §6.1). */
export function wantsEvent(toggles: Toggles, event: MessageEventName): boolean {
  return toggles[subscriptionKeyOfEvent[event]]
}
