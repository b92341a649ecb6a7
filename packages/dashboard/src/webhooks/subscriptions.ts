/** The twelve switches of a webhook, and the event that each lets through. */
export const subscriptions = {
  delivery: 'MAIL_DELIVERED',
  smtp_error: 'SMTP_ERROR',
  bounce: 'MAIL_BOUNCE',
  open: 'MAIL_OPENED',
  click: 'MAIL_CLICKED',
  unsubscribe: 'MAIL_UNSUBSCRIBED',
  spam: 'MAIL_SPAM',
  policy_rejection: 'MAIL_POLICY_REJECTION',
  generation_failure: 'MAIL_GENERATION_FAILURE',
  generation_rejection: 'MAIL_GENERATION_REJECTION',
  phishing: 'PHISHING',
  imap_error: 'IMAP_ERROR',
} as const
export type SubscriptionName = keyof typeof subscriptions
export type Switches = Readonly<Record<SubscriptionName, boolean>>

export const subscriptionNames = Object.keys(subscriptions) as readonly SubscriptionName[]

/** What most want at first: all but the two that are for compatibility and for protection. */
export const firstSwitches = Object.fromEntries(
  subscriptionNames.map((name) => [name, name !== 'imap_error']),
) as Switches
