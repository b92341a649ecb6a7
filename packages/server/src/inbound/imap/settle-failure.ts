/**
 * What a mailbox's failure leads to (contract §3.5, interface §6.3): its login that is rejected for good
 * deactivates the mailer; anything else is an episode of failure, of which IMAP_ERROR tells when it begins
 * and each time that it has lasted for so long again. That stands in the row, so that neither a restart nor
 * another process begins it anew. All of it is one transaction with its event.
 */
import { classifyImapFailure, type ImapFailure } from '../../mail/index.ts'
import { type NoteDeactivated, printable, settleRejectedLogins } from '../../mailers/index.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Db, Tx } from '../../platform/db/index.ts'
import type { Logger } from '../../platform/log.ts'
import { startTrace } from '../../platform/trace.ts'
import { recordEvents, type TouchedStream, type Wakeups } from '../../webhooks/index.ts'
import { lockWatch, noteFailing, noteWorking, type Watch } from './mailbox-store.ts'

export interface SettleDeps {
  readonly db: Db
  readonly clock: Clock
  readonly log: Logger
  readonly wakeups: Pick<Wakeups, 'wake'>
  readonly noteDeactivated: NoteDeactivated
  readonly errorRepeatMs: number
}

export type Settled =
  /** The mailer is not active any more. */
  | 'over'
  /** It is tried again. */
  | 'failing'
  /** Somebody else watches it. */
  | 'lost'

export async function settleFailure(
  deps: SettleDeps,
  watch: Watch,
  failure: ImapFailure,
  o: { readonly configVersion: number; readonly isRejected: boolean },
): Promise<Settled> {
  const { category, failedReason, providerError, cannotHealByWaiting } =
    classifyImapFailure(failure)
  const written = await deps.db.transaction(async (tx) => {
    if (!(await lockWatch(tx, watch))) return { settled: 'lost', touched: [] } as const
    if (o.isRejected) {
      const login = {
        ...watch,
        configVersion: o.configVersion,
        evidence: providerError,
        isBeyondDoubt: cannotHealByWaiting,
        traceparent: startTrace(),
      }
      const [verdict] = await settleRejectedLogins(tx, deps.clock, [login])
      if (verdict?.kind === 'deactivated') {
        await noteWorking(tx, watch)
        const { touched } = await recordEvents(tx, [verdict.event])
        return { settled: 'over', touched, deactivated: verdict.deactivated } as const
      }
      if (verdict?.kind === 'outdated') return { settled: 'over', touched: [] } as const
    }
    const touched = await report(tx, deps, watch, { failedReason, providerError })
    return { settled: 'failing', touched: touched ?? [], isTold: touched !== undefined } as const
  })
  deps.wakeups.wake(written.touched)
  if ('deactivated' in written) deps.noteDeactivated(written.deactivated)
  const { tenantId: tenant_id, mailerId: mailer_id } = watch
  const line = { tenant_id, mailer_id, category, provider_error: printable(providerError) }
  if ('isTold' in written) deps.log[written.isTold ? 'warn' : 'debug'](line, 'mailbox.failed')
  return written.settled
}

/** Undefined: it has been told of, and not long ago. */
async function report(
  tx: Tx,
  { clock, errorRepeatMs }: SettleDeps,
  watch: Watch,
  said: { readonly failedReason: string; readonly providerError: string },
): Promise<readonly TouchedStream[] | undefined> {
  if (!(await noteFailing(tx, watch, errorRepeatMs))) return undefined
  const { tenantId, mailerId } = watch
  const { touched } = await recordEvents(tx, [
    {
      tenantId,
      refId: '',
      event: 'IMAP_ERROR',
      success: false,
      eventAtMicros: clock.nowMicros(),
      traceparent: startTrace(),
      details: {
        mailer_id: mailerId,
        failed_reason: said.failedReason,
        ...(said.providerError === '' ? {} : { provider_error: said.providerError }),
      },
      owner: mailerId,
    },
  ])
  return touched
}
