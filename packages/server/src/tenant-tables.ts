/**
 * Every table that has rows of tenants, in the order in which a deleted tenant leaves them
 * (docs/reference/operator.md#deletion). Like compose.ts it knows all capabilities. A test compares it with the
 * catalogue of the database.
 *
 * Webhooks are first, so that nothing more is sent to them; then what waits to be sent. A table that others refer
 * to comes after them. The tables of the tenant itself are not in it: they leave last, in one transaction.
 */
import { partitionedTables } from './retention-days.ts'

const stopped = [
  'alerts_receiver',
  'alerts_delivery',
  'alerts_episode',
  'webhooks_stream',
  'webhooks_subscription',
  'webhooks_pending',
  'webhooks_open',
  'sending_queue',
  'sending_scheduled',
  'sending_sent_copy',
]
/** Each before those that it refers to. */
const configured = [
  'mailboxes_fetched',
  'mailboxes_folder',
  'mailboxes_mailbox',
  'mailers_error',
  'mailers_permission',
  'mailers_oauth_token',
  'mailers_mailer',
  'mailers_oauth_login',
  'mailers_oauth_app',
  'domains_ownership',
  'domains_domain',
  'relays_account',
  'inbound_ownership',
  'inbound_username',
  'inbound_domain',
  'sending_phishing_settings',
  'sending_template_version',
  'sending_template',
]
const recorded = [
  'inbound_queue',
  'inbound_seen',
  'feedback_inbox',
  'feedback_unmatched',
  'sending_idempotency',
  'suppressions_address',
  'platform_counter_change',
  'platform_counter',
  'platform_counter_group',
  'tenants_audit_entry',
]

export const tenantTables: readonly string[] = [
  ...stopped,
  'people_member',
  ...configured,
  ...recorded,
  ...partitionedTables,
]
