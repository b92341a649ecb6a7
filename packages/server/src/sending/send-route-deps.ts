/** What sendEmail and sendBatch have in common as operations. */
import type { Db } from '../platform/db/index.ts'
import type { Logger } from '../platform/log.ts'
import type { Tracing } from '../platform/tracing/span.ts'
import type { AcceptEmails } from './accept/accept-email.ts'
import type { KeysInProgress } from './accept/idempotency.ts'
import type { ReadyDeps } from './accept/ready-email.ts'
import type { QueueWakeups } from './queue/queue-wakeups.ts'

export interface SendRouteDeps extends ReadyDeps {
  readonly db: Db
  readonly emails: AcceptEmails
  readonly log: Logger
  readonly keysInProgress: KeysInProgress
  readonly wakeups: QueueWakeups
  readonly tracing?: Tracing | undefined
}

export const BODY_BYTES_MAX = 40 * 1024 * 1024
/** What sendEmail and sendBatch may refuse. */
export const sendErrors = [
  'duplicate_recipient',
  'no_mailer',
  'no_template',
  'mailer_inactive',
  'tenant_suspended',
  'quota_exceeded',
  'idempotency_mismatch',
  'idempotency_in_progress',
  'rate_limited',
] as const
