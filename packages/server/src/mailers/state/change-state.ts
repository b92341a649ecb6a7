/**
 * The one way from a mailer's state to another (docs/reference/mailers.md#deactivation). The row is locked
 * while it is decided, so that of many who find the same, one changes it; the event of a deactivation is to
 * be recorded in the same transaction.
 */
import type { MailerConfigType } from '@postrider/contract'
import type { Clock } from '../../platform/clock.ts'
import type { Tx } from '../../platform/db/index.ts'
import { continueTrace } from '../../platform/trace.ts'
import type { NewEvent } from '../../webhooks/index.ts'
import type { Mailer } from '../mailer.ts'
import { decideState, type StateCause } from './decide-state.ts'
import { lockMailer, type MailerKey, setState } from './state-store.ts'

/** Theirs goes to their own incoming webhook, every other's to the tenant's. */
const OF_MAILBOXES: ReadonlySet<MailerConfigType> = new Set([
  'imap',
  'basic_imap',
  'oauth_imap',
  'smtp_imap',
])

export interface ChangedState {
  readonly mailer: Mailer
  readonly isChanged: boolean
  /** Of a deactivation. Only that is told. */
  readonly event?: NewEvent
}

/** Undefined when the mailer is gone. */
export async function changeState(
  tx: Tx,
  clock: Clock,
  key: MailerKey,
  cause: StateCause,
): Promise<ChangedState | undefined> {
  const mailer = await lockMailer(tx, key)
  if (mailer === undefined) return undefined
  const state = decideState(mailer, cause)
  if (state === undefined) return { mailer, isChanged: false }
  const changed = await setState(tx, key, state, cause.kind === 'rejected' ? cause : undefined)
  if (cause.kind !== 'rejected') return { mailer: changed, isChanged: true }
  return { mailer: changed, isChanged: true, event: deactivation(clock, changed, cause) }
}

function deactivation(
  clock: Clock,
  { tenantId, mailerId, configType }: Mailer,
  { reason, evidence, traceparent }: StateCause & { readonly kind: 'rejected' },
): NewEvent {
  return {
    tenantId,
    refId: '',
    event: 'MAILER_DEACTIVATED',
    success: false,
    eventAtMicros: clock.nowMicros(),
    traceparent: traceparent ?? continueTrace(undefined),
    details: {
      mailer_id: mailerId,
      config_type: configType,
      failed_reason: reason,
      ...(evidence === '' ? {} : { provider_error: evidence }),
    },
    ...(OF_MAILBOXES.has(configType) ? { owner: mailerId } : {}),
  }
}
