/** Which webhook an event goes to, and the toggle that has to be on. */
import { type EventName, type SubscriptionKey, subscriptionKeyOfEvent } from '@postrider/contract'
import type { SubscriptionEvent } from '../subscriptions/subscription.ts'
import type { NewEvent } from './event.ts'

/** What finds the webhook of an event. */
export interface SubscriptionSelector {
  readonly event: SubscriptionEvent
  readonly owner: string
  /** The toggle that has to be on; absent: none is consulted. */
  readonly toggle?: SubscriptionKey
}

/**
 * docs/reference/events.md#mailer-deactivated. MAILER_DEACTIVATED of a mailbox goes to the mailbox's own
 * webhook, of every other mailer to the EMAIL_EVENT webhook, past its filters.
 */
export function selectorOf({
  event,
  owner = '',
}: Pick<NewEvent, 'event' | 'owner'>): SubscriptionSelector {
  switch (event) {
    case 'IMAP_ERROR':
    case 'INCOMING_EMAIL':
      if (owner === '') throw new Error(`${event} without its owner`)
      return { event: 'INCOMING', owner }
    case 'MAILER_DEACTIVATED':
      return owner === '' ? { event: 'EMAIL_EVENT', owner } : { event: 'INCOMING', owner }
    case 'DOMAIN_VERIFICATION':
      return { event, owner: '' }
    default:
      return { event: 'EMAIL_EVENT', owner: '', toggle: subscriptionKeyOfEvent[event] }
  }
}

/** Every kind of webhook that may get it. */
export function subscriptionsOf(event: EventName): readonly SubscriptionEvent[] {
  switch (event) {
    case 'INCOMING_EMAIL':
    case 'IMAP_ERROR':
      return ['INCOMING']
    case 'MAILER_DEACTIVATED':
      return ['EMAIL_EVENT', 'INCOMING']
    case 'DOMAIN_VERIFICATION':
      return [event]
    default:
      return ['EMAIL_EVENT']
  }
}
