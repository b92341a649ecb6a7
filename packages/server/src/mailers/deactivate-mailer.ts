/**
 * Deactivates a mailer (interface §3 "Mailer", §2.6, §6.3): its state and the event about it in one
 * transaction, once per deactivation, whoever finds it out.
 */
import type { DeactivationReason, MailerConfigType } from '@postrider/contract'
import type { Clock } from '../platform/clock.ts'
import type { Tx } from '../platform/db/index.ts'
import { continueTrace } from '../platform/trace.ts'
import { type RecordedEvents, recordEvents } from '../webhooks/index.ts'
import type { Mailer } from './mailer.ts'
import { setDeactivated } from './store.ts'

/** Theirs goes to their own incoming webhook, every other's to the tenant's. */
const OF_MAILBOXES: ReadonlySet<MailerConfigType> = new Set([
  'imap',
  'basic_imap',
  'oauth_imap',
  'smtp_imap',
])

/**
 * Undefined when it was not active any more, or its configuration is newer than the one that
 * failed: then nothing was written.
 *
 * @param o.evidence what was said, as received; empty when nothing was
 * @param o.traceparent of the send that found it; a new trace when left out
 */
export async function deactivateMailer(
  tx: Tx,
  clock: Clock,
  mailer: Pick<Mailer, 'tenantId' | 'mailerId' | 'configVersion'>,
  o: {
    readonly reason: DeactivationReason
    readonly evidence: string
    readonly traceparent?: string
  },
): Promise<RecordedEvents | undefined> {
  const configType = await setDeactivated(tx, mailer, o)
  if (configType === undefined) return undefined
  const { tenantId, mailerId } = mailer
  return recordEvents(tx, [
    {
      tenantId,
      refId: '',
      event: 'MAILER_DEACTIVATED',
      success: false,
      eventAtMicros: clock.nowMicros(),
      traceparent: o.traceparent ?? continueTrace(undefined),
      details: {
        mailer_id: mailerId,
        config_type: configType,
        failed_reason: o.reason,
        ...(o.evidence === '' ? {} : { provider_error: o.evidence }),
      },
      ...(OF_MAILBOXES.has(configType) ? { owner: mailerId } : {}),
    },
  ])
}
