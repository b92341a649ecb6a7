/**
 * A tenant's webhook (interface §2.1, §2.2): at most one per event type.
 */
import {
  coreSubscriptionKeys,
  type MessageEventName,
  type SubscriptionKey,
  subscriptionKeyOfEvent,
  subscriptionKeys,
  type WebhookEvent,
} from '@postrider/contract'

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

export function fillToggles(given: Partial<Record<string, boolean>> | undefined): Toggles {
  return Object.fromEntries(subscriptionKeys.map((key) => [key, given?.[key] === true])) as Toggles
}

/** Interface §4.1 rule 1: `phishing` and `imap_error` alone do not satisfy it. */
export function hasCoreEvent(toggles: Toggles): boolean {
  return coreSubscriptionKeys.some((key) => toggles[key])
}

/** Whether a subscription with these toggles is sent this event (interface §6.1). */
export function wantsEvent(toggles: Toggles, event: MessageEventName): boolean {
  return toggles[subscriptionKeyOfEvent[event]]
}
