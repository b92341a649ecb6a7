/** Writes what came of a copy, under its fence, and says so. */
import { type Db, transactByIndex } from '../../platform/db/index.ts'
import type { Logger } from '../../platform/log.ts'
import { endSentCopies, putOffSentCopies, type SentCopy } from '../../sending/index.ts'
import { nextTryMs } from './decide-copy.ts'

/**
 * `saved`: it was appended. `found`: it was in the folder. `left`: its provider sees to it. `waiting`:
 * it is tried again. `gone`: its mailer is, or the email.
 */
export const sentCopyOutcomes = ['saved', 'found', 'left', 'waiting', 'given_up', 'gone'] as const
export type SentCopyOutcome = (typeof sentCopyOutcomes)[number]

export interface SettleCopyDeps {
  readonly db: Db
  readonly log: Logger
  readonly observe: (outcome: SentCopyOutcome, count: number) => void
}

const REASON_CHARS_MAX = 500

/** It is tried again, unless it has been often enough. */
export async function failCopy(
  deps: SettleCopyDeps,
  copy: SentCopy,
  reason: string,
): Promise<void> {
  const waitMs = nextTryMs(copy)
  if (waitMs === undefined) return finishCopy(deps, copy, 'given_up', reason)
  await transactByIndex(deps.db, (tx) => putOffSentCopies(tx, [{ ...copy, waitMs, isTry: true }]))
  report(deps, copy, 'waiting', reason)
}

export async function finishCopy(
  deps: SettleCopyDeps,
  copy: SentCopy,
  outcome: SentCopyOutcome,
  reason?: string,
): Promise<void> {
  const ended = await transactByIndex(deps.db, (tx) => endSentCopies(tx, [copy]))
  // Else another has it, and says what comes of it.
  if (ended > 0) report(deps, copy, outcome, reason)
}

function report(
  { log, observe }: SettleCopyDeps,
  { tenantId, mailerId, refId, tries }: SentCopy,
  outcome: SentCopyOutcome,
  reason?: string,
): void {
  const fields = { tenant_id: tenantId, mailer_id: mailerId, ref_id: refId, tries, outcome, reason }
  log[outcome === 'given_up' ? 'warn' : 'info'](fields, 'sent_copy.finished')
  observe(outcome, 1)
}

/** In the server's words where it has said any. */
export function reasonOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).slice(0, REASON_CHARS_MAX)
}
