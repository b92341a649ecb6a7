/**
 * Deletes a mailer, and the webhook of its mailbox with it. Mail that still waits for it fails at its
 * next attempt (docs/reference/mailers.md#deletion), held mail at once; its idle connections close by
 * themselves within seconds.
 */
import type { Db } from '../platform/db/index.ts'
import { ApiError } from '../platform/errors.ts'
import { deleteIncoming } from '../webhooks/index.ts'
import { canFetch, type ServerMailer } from './mailer.ts'
import type { SaveMailerDeps } from './save-mailer.ts'
import { deleteMailer } from './store.ts'

export interface RemoveMailerDeps extends Pick<SaveMailerDeps, 'wakeMail'> {
  readonly db: Db
}

export async function removeMailer(deps: RemoveMailerDeps, mailer: ServerMailer): Promise<void> {
  const { tenantId, mailerId } = mailer
  const isDeleted = await deps.db.transaction(async (tx) => {
    // Events that wait for the webhook are discarded piece by piece, when its stream is served next.
    if (canFetch(mailer)) await deleteIncoming(tx, { tenantId, owners: [mailerId] })
    return deleteMailer(tx, tenantId, mailerId)
  })
  if (!isDeleted) throw new ApiError('not_found')
  deps.wakeMail(mailer)
}
