/**
 * What a mailbox's failure leads to (docs/reference/events.md#imap-error): its login that is rejected for
 * good deactivates the mailer; anything else is an episode of failure, of which IMAP_ERROR tells when it
 * begins and each time that it has lasted for so long again. That stands in the row, so that neither a
 * restart nor another process begins it anew. All of it is one transaction with its event.
 */
import { classifyImapFailure, type ImapFailure } from '@postrider/mail'
import { type NoteDeactivated, printable, settleRejectedLogins } from '../../mailers/index.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Db, Tx } from '../../platform/db/index.ts'
import type { Logger } from '../../platform/log.ts'
import { startTrace } from '../../platform/trace.ts'
import { recordEvents, type TouchedStream, type Wakeups } from '../../webhooks/index.ts'
import {
  endEpisode,
  lockWatch,
  type NotedFailure,
  noteFailing,
  type Watch,
} from './mailbox-store.ts'

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
  o: {
    readonly configVersion: number
    readonly isRejected: boolean
    /** Absent: it was met before that was known. */
    readonly server?: { readonly host: string; readonly port: number }
  },
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
        const before = await endEpisode(tx, watch, { isRead: false })
        const { touched } = await recordEvents(tx, [verdict.event])
        const episode = {
          tries: (before?.tries ?? 0) + 1,
          failingSince: before?.failingSince ?? deps.clock.now(),
        }
        return {
          settled: 'over',
          touched,
          deactivated: { ...verdict.deactivated, mailbox: { ...o.server, ...episode } },
        } as const
      }
      if (verdict?.kind === 'outdated') return { settled: 'over', touched: [] } as const
    }
    const said = { failedReason, providerError }
    const noted = await noteFailing(tx, watch, { repeatMs: deps.errorRepeatMs, ...said })
    const touched = noted.isDue ? await report(tx, deps, watch, said) : []
    return { settled: 'failing', touched, noted } as const
  })
  deps.wakeups.wake(written.touched)
  if ('deactivated' in written) deps.noteDeactivated(written.deactivated)
  if ('noted' in written) {
    const { folder } = failure
    const place = { ...o.server, ...(folder === undefined ? {} : { folder }) }
    const said = { category, provider_error: printable(providerError) }
    logFailure(deps, watch, written.noted, { ...place, ...said })
  }
  return written.settled
}

function logFailure(
  { log }: SettleDeps,
  { tenantId: tenant_id, mailerId: mailer_id }: Watch,
  { tries, failingSince: failing_since, isDue }: NotedFailure,
  said: object,
): void {
  const line = { tenant_id, mailer_id, tries, failing_since, ...said }
  log[isDue ? 'warn' : 'debug'](line, 'mailbox.failed')
}

async function report(
  tx: Tx,
  { clock }: SettleDeps,
  watch: Watch,
  said: { readonly failedReason: string; readonly providerError: string },
): Promise<readonly TouchedStream[]> {
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
