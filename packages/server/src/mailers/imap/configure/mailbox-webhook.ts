/**
 * The webhook of a mailbox: it takes INCOMING_EMAIL, IMAP_ERROR and MAILER_DEACTIVATED of this mailbox
 * alone (docs/reference/webhooks.md#registration), and is made, changed and deleted with it. Checked as any
 * webhook is.
 */
import type { MailboxWebhook, UpdateImapBody } from '@postrider/contract'
import type { Queryable, Tx } from '../../../platform/db/index.ts'
import { validationError } from '../../../platform/errors.ts'
import { nullAs } from '../../../platform/values/null-as.ts'
import {
  type ChangedSubscription,
  changeSubscription,
  checkHeaders,
  checkReceiver,
  createSubscription,
  deleteIncoming,
  findIncoming,
  parseReceiverUrl,
  type Subscription,
  type WebhookDeps,
} from '../../../webhooks/index.ts'
import { canFetch, type Mailer } from '../../mailer.ts'
import type { MailerKey } from '../../state/state-store.ts'

/** In the body of the mailer. */
const AT = '/webhook'

/** Null: it is deleted. */
export type WebhookChange = NonNullable<UpdateImapBody['webhook']> | null

/** Throws what is wrong with it; `known` is the one that the mailbox has. */
export async function checkMailboxWebhook(
  { receivers }: Pick<WebhookDeps, 'receivers'>,
  tenantId: string,
  change: WebhookChange | undefined,
  known?: Subscription,
): Promise<void> {
  if (change === undefined || change === null) return
  checkHeaders(change.headers ?? {}, { at: AT, isSigned: change.signing })
  const path = `${AT}/webhook_url`
  if (change.webhook_url === undefined) {
    if (known === undefined) throw validationError({ path, message: 'is required' })
    return
  }
  const url = parseReceiverUrl(change.webhook_url, path)
  if (change.webhook_url !== known?.url) await checkReceiver(receivers, tenantId, url)
}

/** In the transaction of its mailer; the touched streams are to be woken after the commit. */
export async function saveMailboxWebhook(
  tx: Tx,
  { keyRing }: Pick<WebhookDeps, 'keyRing'>,
  { tenantId, mailerId }: MailerKey,
  change: WebhookChange | undefined,
): Promise<ChangedSubscription> {
  if (change === undefined) return { touched: [] }
  if (change === null)
    return { touched: await deleteIncoming(tx, { tenantId, owners: [mailerId] }) }
  const name = { tenantId, event: 'INCOMING', owner: mailerId } as const
  const { webhook_url: url, headers: given, signing } = change
  const wanted = nullAs(given, {})
  const headers = wanted && Object.entries(wanted)
  const changed = await changeSubscription(tx, keyRing, name, { url, headers, signing }, AT)
  if (changed !== undefined) return changed
  if (url === undefined)
    throw validationError({ path: `${AT}/webhook_url`, message: 'is required' })
  const wantedWebhook = { ...name, url, headers: headers ?? [], signing }
  const { signingSecret } = await createSubscription(tx, keyRing, wantedWebhook)
  return { touched: [], ...(signingSecret === undefined ? {} : { signingSecret }) }
}

export async function findMailboxWebhook(
  q: Queryable,
  { tenantId, mailerId }: MailerKey,
): Promise<Subscription | undefined> {
  return (await findIncoming(q, { tenantId, owners: [mailerId] })).get(mailerId)
}

/** Of those that have a mailbox, by their ids; null where there is none. */
export async function showWebhooks(
  q: Queryable,
  tenantId: string,
  mailers: readonly Mailer[],
): Promise<ReadonlyMap<string, MailboxWebhook>> {
  const owners = mailers.filter(canFetch).map(({ mailerId }) => mailerId)
  if (owners.length === 0) return new Map()
  const found = await findIncoming(q, { tenantId, owners })
  return new Map(owners.map((owner) => [owner, toWire(found.get(owner))]))
}

function toWire(webhook: Subscription | undefined): MailboxWebhook {
  if (webhook === undefined) return null
  const { webhookId, url, headerNames, signingSealed } = webhook
  return {
    webhook_id: webhookId,
    webhook_url: url,
    method: 'POST',
    headers_present: [...headerNames],
    ...(signingSealed === undefined ? {} : { signing: true }),
  }
}
