/**
 * What rejected logins mean for their mailers (docs/reference/mailers.md#deactivation), in the transaction
 * of the attempts that found them. Each is deactivated once.
 *
 * Servers that cannot reach their own directory have been seen to reject everybody. So where many of
 * a tenant's mailers that used to log in at one server are rejected within minutes, and few others
 * of them log in meanwhile, the later ones are not believed until they have been rejected for longer.
 */
import type { Clock } from '../../platform/clock.ts'
import type { Tx } from '../../platform/db/index.ts'
import type { NewEvent } from '../../webhooks/index.ts'
import type { Mailer } from '../mailer.ts'
import { changeState } from './change-state.ts'
import { decideState, type StateCause } from './decide-state.ts'
import { BLAME_WINDOW_MS, detectSharedOutage } from './detect-shared-outage.ts'
import type { Deactivated } from './log-deactivation.ts'
import { lockMailer, lockRefusals, type MailerKey, noteRefused } from './state-store.ts'

export interface RejectedLogin extends MailerKey {
  /** Of the configuration that was rejected. */
  readonly configVersion: number
  /** The server's reply. */
  readonly evidence: string
  /** It says what no trouble of a server's would: that this login is not allowed at all. */
  readonly isBeyondDoubt: boolean
  /** Of the send that found it. */
  readonly traceparent: string
}

export type RejectionVerdict =
  | { readonly kind: 'deactivated'; readonly event: NewEvent; readonly deactivated: Deactivated }
  /** Of a mailer that is not active any more, or not as it was: somebody else has seen to it. */
  | { readonly kind: 'outdated' }
  /** As likely the server's fault: to be tried again later. */
  | { readonly kind: 'doubted' }

/**
 * In the order given; at most one of each mailer. Code that writes for several mailers in one
 * transaction does so in the order of their ids.
 */
export async function settleRejectedLogins(
  tx: Tx,
  clock: Clock,
  logins: readonly RejectedLogin[],
): Promise<RejectionVerdict[]> {
  const tenantIds = [...new Set(logins.map(({ tenantId }) => tenantId))].sort()
  for (const tenantId of tenantIds) await lockRefusals(tx, tenantId)
  const verdicts = new Map<RejectedLogin, RejectionVerdict>()
  for (const login of [...logins].sort(byMailer))
    verdicts.set(login, await settle(tx, clock, login))
  return logins.map((login) => verdicts.get(login) ?? { kind: 'outdated' })
}

async function settle(tx: Tx, clock: Clock, login: RejectedLogin): Promise<RejectionVerdict> {
  const reason = 'provider_auth_error'
  const cause: StateCause = { kind: 'rejected', reason, ...login }
  const mailer = await lockMailer(tx, login)
  if (mailer === undefined || decideState(mailer, cause) === undefined) return { kind: 'outdated' }
  if (!login.isBeyondDoubt && (await isShared(tx, mailer))) return { kind: 'doubted' }
  const changed = await changeState(tx, clock, login, cause)
  if (changed?.event === undefined) return { kind: 'outdated' }
  const { tenantId, mailerId, evidence } = login
  const deactivated = { tenantId, mailerId, reason, evidence } as const
  return { kind: 'deactivated', event: changed.event, deactivated }
}

/** A tenant's sending domains share a key: what is refused is that key, of all of them. */
async function isShared(tx: Tx, mailer: Mailer): Promise<boolean> {
  if (mailer.connectionType === 'relay') return false
  const record = await noteRefused(tx, mailer, BLAME_WINDOW_MS)
  return mailer.hostEverWorked && record.isRecent && detectSharedOutage(record) === 'shared'
}

function byMailer(a: RejectedLogin, b: RejectedLogin): number {
  return a.tenantId === b.tenantId
    ? compare(a.mailerId, b.mailerId)
    : compare(a.tenantId, b.tenantId)
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
