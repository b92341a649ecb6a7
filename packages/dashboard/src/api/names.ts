/**
 * Generated from the code by `npm run docs`. Do not edit.
 *
 * Names of the contract that screens list: of the contract the client has types alone.
 */
export const apiKeyScopes = ['send', 'webhooks', 'mailers', 'read', 'content', 'keys'] as const
export const eventNames = [
  'MAIL_DELIVERED',
  'MAIL_OPENED',
  'MAIL_CLICKED',
  'MAIL_BOUNCE',
  'MAIL_SPAM',
  'MAIL_UNSUBSCRIBED',
  'MAIL_POLICY_REJECTION',
  'MAIL_GENERATION_FAILURE',
  'MAIL_GENERATION_REJECTION',
  'SMTP_ERROR',
  'PHISHING',
  'MAILER_DEACTIVATED',
  'DOMAIN_VERIFICATION',
  'INCOMING_EMAIL',
  'IMAP_ERROR',
] as const
export const memberRoles = ['owner', 'developer', 'support', 'viewer'] as const
export const recipientFacts = ['spam', 'opened', 'clicked', 'unsubscribed'] as const
export const recipientStatuses = [
  'queued',
  'scheduled',
  'sending',
  'deferred',
  'held',
  'sent',
  'delivered',
  'bounced',
  'failed',
  'blocked',
  'suppressed',
  'expired',
  'rejected',
] as const
export const recipientTypes = ['to', 'cc', 'bcc'] as const
export const relayKinds = ['sparkpost', 'sendgrid', 'simulator'] as const
export const suppressionReasons = ['unsubscribed', 'bounced', 'complained', 'manual'] as const
export const userRoles = [
  'operator',
  'operator_viewer',
  'owner',
  'developer',
  'support',
  'viewer',
] as const
export const webhookDeliveryFilters = [
  'pending',
  'retrying',
  'delivered',
  'parked',
  'exhausted',
  'discarded',
  'open',
] as const
