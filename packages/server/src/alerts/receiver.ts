/**
 * Sets, shows and removes the receiver of alerts of a tenant or of the operator (docs/reference/alerts.md).
 * Its URL is checked as that of a webhook, and sealed: who knows a Slack URL can write to its channel.
 */
import { type Alerts, alertKinds, type SetAlertsBody } from '@postrider/contract'
import type { Db } from '../platform/db/index.ts'
import { ApiError } from '../platform/errors.ts'
import type { KeyRing } from '../platform/secrets/index.ts'
import { checkReceiver, parseReceiverUrl, type ReceiverRules } from '../webhooks/index.ts'
import { forgetTold, waitForLook } from './episode-store.ts'
import { getReceiver, removeReceiver, type StoredReceiver, saveReceiver } from './receiver-store.ts'
import { isSlack } from './slack.ts'

export interface ReceiverDeps {
  readonly db: Db
  readonly keyRing: KeyRing
  readonly receivers: ReceiverRules
}

export async function setReceiver(
  { db, keyRing, receivers }: ReceiverDeps,
  tenantId: string,
  { url, kinds = [...alertKinds] }: SetAlertsBody,
): Promise<Alerts> {
  const parsed = parseReceiverUrl(url, '/url')
  await checkReceiver(receivers, tenantId, parsed)
  const ordered = alertKinds.filter((kind) => kinds.includes(kind))
  const urlSealed = keyRing.encrypt(url, urlPlaceOf(tenantId))
  return db.transaction(async (tx) => {
    await saveReceiver(tx, { tenantId, urlSealed, kinds: ordered })
    const stored = await getReceiver(tx, tenantId)
    if (stored === undefined) throw new Error('A row that was just written is not there')
    return toWire(keyRing, tenantId, stored)
  })
}

export async function showReceiver(
  { db, keyRing }: ReceiverDeps,
  tenantId: string,
): Promise<Alerts | null> {
  const stored = await getReceiver(db, tenantId)
  return stored === undefined ? null : toWire(keyRing, tenantId, stored)
}

export async function deleteReceiver({ db }: ReceiverDeps, tenantId: string): Promise<void> {
  const wasThere = await db.transaction(async (tx) => {
    await waitForLook(tx)
    await forgetTold(tx, tenantId)
    return removeReceiver(tx, tenantId)
  })
  if (!wasThere) throw new ApiError('not_found', { message: 'Not Found: no alerts are sent' })
}

export function openUrl(keyRing: KeyRing, tenantId: string, sealed: string): string {
  return keyRing.decrypt(sealed, urlPlaceOf(tenantId))
}

export function urlPlaceOf(tenantId: string): string {
  return `alerts|${tenantId}|url`
}

function toWire(keyRing: KeyRing, tenantId: string, stored: StoredReceiver): Alerts {
  const url = openUrl(keyRing, tenantId, stored.urlSealed)
  const isForSlack = isSlack(new URL(url))
  return {
    url: isForSlack ? `${new URL(url).origin}/services/…` : url,
    form: isForSlack ? 'slack' : 'json',
    kinds: [...stored.kinds],
    waiting: stored.waiting,
    last_ok_at: stored.lastOkAt?.toISOString() ?? null,
    last_error: stored.lastError,
    created_at: stored.createdAt.toISOString(),
    updated_at: stored.updatedAt.toISOString(),
  }
}
