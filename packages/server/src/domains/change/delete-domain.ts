/**
 * deleteDomain (docs/reference/domains.md#sending-domains): gone at once, with its mailer and its ownership; mail
 * that waits for it fails at its next attempt (docs/reference/domains.md#sending-domains). The provider is
 * told afterwards, until it has heard.
 */
import type { MailerKey } from '../../mailers/index.ts'
import { deleteDomainMailer } from '../../mailers/index.ts'
import { ApiError } from '../../platform/errors.ts'
import { STAGE_LEASE_MS } from '../add/create-at-provider.ts'
import type { SendingDomain } from '../domain.ts'
import { getDomain } from '../get-domain.ts'
import { releaseDomain } from '../ownership-store.ts'
import { startDeleting } from '../stage-store.ts'
import { deleteDomain as deleteRow, lockDomain } from '../store.ts'
import { type DeleteDeps, deleteAtProvider } from './delete-at-provider.ts'

export interface DeleteDomainDeps extends DeleteDeps {
  /** Those who wait for the mailer. */
  readonly wakeMail: (key: MailerKey) => void
}

/** As it was. */
export async function deleteDomain(
  deps: DeleteDomainDeps,
  tenantId: string,
  name: string,
): Promise<SendingDomain> {
  const found = await getDomain(deps, tenantId, name)
  const { domain, turn } = await deps.db.transaction(async (tx) => {
    const locked = await lockDomain(tx, found)
    if (locked === undefined || locked.stage === 'deleting') throw new ApiError('not_found')
    await releaseDomain(tx, locked)
    await deleteDomainMailer(tx, locked)
    // Of the simulator there is nothing to delete, and what was there before is not ours to delete.
    const isLeft = locked.relay === 'simulator' || locked.wasThere
    if (isLeft) await deleteRow(tx, locked)
    const started = isLeft ? undefined : await startDeleting(tx, locked, STAGE_LEASE_MS)
    return { domain: locked, turn: started }
  })
  deps.wakeMail(domain)
  // A creation under way ends first; the worker continues.
  if (turn !== undefined && !domain.isBusy) await deleteAtProvider(deps, turn)
  return domain
}
