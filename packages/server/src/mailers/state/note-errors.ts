/**
 * Keeps the last errors of mailers (docs/reference/mailers.md#kinds), in the transaction of the attempts that
 * met them: of each kind the latest, so that a server that is away does not push everything else out.
 */
import { concernsMailer, type FailureCategory } from '@postrider/mail'
import type { Tx } from '../../platform/db/index.ts'
import { type MailerErrorRow, upsertErrors } from './error-store.ts'

export type MailerError = MailerErrorRow & { readonly category: FailureCategory }

/** Those that are about a recipient or a message are left out. */
export async function noteErrors(tx: Tx, errors: readonly MailerError[]): Promise<void> {
  const own = errors.filter(({ category, providerError }) =>
    concernsMailer(category, providerError),
  )
  if (own.length > 0) await upsertErrors(tx, own)
}
