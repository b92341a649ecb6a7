/**
 * Tells the operator of a deactivation, once, in the process that committed it. The
 * tenant has the event. One whose commit was made and its answer lost is not heard of.
 */
import type { DeactivationReason } from '@postrider/contract'
import type { Logger } from '../../platform/log.ts'
import type { MailerKey } from './state-store.ts'

export interface Deactivated extends MailerKey {
  readonly reason: DeactivationReason
  /** What was said, without secrets; empty when nothing was. */
  readonly evidence: string
  /** Of one that was found by reading its mailbox. */
  readonly mailbox?: {
    readonly host?: string
    readonly port?: number
    /** That failed in a row, this one included, since then. */
    readonly tries: number
    readonly failingSince: Date
  }
}

/** To be called after the commit. */
export type NoteDeactivated = (one: Deactivated) => void

export function createNoteDeactivated({
  log,
  observe,
}: {
  readonly log: Logger
  readonly observe: (reason: DeactivationReason) => void
}): NoteDeactivated {
  return ({ tenantId, mailerId, reason, evidence, mailbox }) => {
    observe(reason)
    const line = { tenant_id: tenantId, mailer_id: mailerId, reason, evidence }
    log.warn({ ...line, ...(mailbox === undefined ? {} : placeOf(mailbox)) }, 'mailer.deactivated')
  }
}

function placeOf({ failingSince, ...place }: NonNullable<Deactivated['mailbox']>) {
  return { ...place, failing_since: failingSince }
}
