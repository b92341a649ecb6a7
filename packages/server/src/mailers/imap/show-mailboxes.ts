/** What a mailer that fetches shows besides: what is watched, who is told, and whether it can be read. */
import type { Mailer as MailerOnWire } from '@postrider/contract'
import type { Queryable } from '../../platform/db/index.ts'
import { asServerMailer, canFetch, type Mailer } from '../mailer.ts'
import { showWebhooks } from './configure/mailbox-webhook.ts'
import { foldersOf, sinceOf } from './mailbox.ts'
import { healthToWire, type ReadMailboxHealth } from './mailbox-health.ts'

export interface ShowDeps {
  readonly db: Queryable
  readonly readMailboxHealth: ReadMailboxHealth
}

export type ShownMailbox = Pick<MailerOnWire, 'webhook' | 'folders' | 'since' | 'mailbox'>

/** By the ids of those that have a mailbox. */
export async function showMailboxes(
  { db, readMailboxHealth }: ShowDeps,
  tenantId: string,
  mailers: readonly Mailer[],
): Promise<ReadonlyMap<string, ShownMailbox>> {
  const fetching = mailers
    .map(asServerMailer)
    .filter((one) => one !== undefined)
    .filter(canFetch)
  if (fetching.length === 0) return new Map()
  const ids = fetching.map(({ mailerId }) => mailerId)
  const [webhooks, healths] = await Promise.all([
    showWebhooks(db, tenantId, fetching),
    readMailboxHealth(db, tenantId, ids),
  ])
  return new Map(
    fetching.map((mailer) => [
      mailer.mailerId,
      {
        webhook: webhooks.get(mailer.mailerId) ?? null,
        folders: foldersOf(mailer).map(({ path }) => path),
        since: sinceOf(mailer),
        mailbox: healthToWire(mailer, healths.get(mailer.mailerId)),
      },
    ]),
  )
}
