/** Which events a webhook is to get (docs/reference/webhooks.md#registration, rules 1 and 2). */
import {
  coreSubscriptionKeys,
  type RegisterWebhookBody,
  subscriptionKeys,
} from '@postrider/contract'
import { ApiError } from '../../platform/errors.ts'
import type { Toggles } from './subscription.ts'

/**
 * Undefined for DOMAIN_VERIFICATION, which has none.
 *
 * @throws ApiError `at_least_one_event_required`: `phishing` and `imap_error` alone are not enough;
 * `events_not_allowed`
 */
export function togglesOf(
  body: Pick<RegisterWebhookBody, 'event' | 'webhook_options'>,
): Toggles | undefined {
  if (body.event === 'DOMAIN_VERIFICATION') {
    if (body.webhook_options?.events !== undefined) throw new ApiError('events_not_allowed')
    return undefined
  }
  const given = body.webhook_options?.events
  if (!coreSubscriptionKeys.some((key) => given?.[key] === true))
    throw new ApiError('at_least_one_event_required')
  return Object.fromEntries(subscriptionKeys.map((key) => [key, given?.[key] === true])) as Toggles
}
