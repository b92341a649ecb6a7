/**
 * A webhook (docs/reference/webhooks.md#registration): a tenant's, at most one per event type, or the
 * incoming one of a mailbox or an inbound route, its owner.
 */
import type { SubscriptionKey, WebhookEvent } from '@postrider/contract'

/**
 * All twelve toggles (docs/reference/events.md#email-events). `imap_error` is kept and shown, never
 * consulted.
 */
export type Toggles = Readonly<Record<SubscriptionKey, boolean>>

/** `INCOMING` cannot be registered by a tenant: it comes and goes with its owner. */
export type SubscriptionEvent = WebhookEvent | 'INCOMING'

/** There is at most one of each. */
export interface SubscriptionName {
  readonly tenantId: string
  readonly event: SubscriptionEvent
  /** Of an INCOMING webhook, the mailbox or inbound route; else ''. */
  readonly owner: string
}

export interface Subscription extends SubscriptionName {
  readonly webhookId: string
  readonly url: string
  readonly active: boolean
  /** Grows when the webhook is switched off: what was queued before is not sent any more. */
  readonly generation: number
  /** Only for EMAIL_EVENT. */
  readonly toggles?: Toggles
  readonly headersSealed: string
  readonly headerNames: readonly string[]
  /** Present when its requests are signed. */
  readonly signingSealed?: string | undefined
  readonly createdAt: Date
  readonly updatedAt: Date
}
