/**
 * What a tenant should look at first: its suspension, mailers that are down or fail, queues that are late,
 * webhooks that fail; after these what a person paused, with what waits for it first.
 */
import { type Attention, attentionMax } from '@postrider/contract'
import { listMailers } from '../mailers/index.ts'
import type { Queryable } from '../platform/db/index.ts'
import type { measureTenantQueue } from '../sending/index.ts'
import { listFailingOf } from '../webhooks/index.ts'

type TenantQueue = Awaited<ReturnType<typeof measureTenantQueue>>

export async function findAttention(
  q: Queryable,
  o: { readonly tenantId: string; readonly queue: TenantQueue; readonly nowMs: number },
): Promise<Attention[]> {
  const { tenantId, queue, nowMs } = o
  const inactive = { tenantId, before: undefined, limit: attentionMax }
  const deactivated = await listMailers(q, { ...inactive, state: 'deactivated' })
  const disabled = await listMailers(q, { ...inactive, state: 'disabled' })
  const webhooks = await listFailingOf(q, tenantId, attentionMax)
  const holds = new Set(queue.heldMailers.map(({ mailerId }) => mailerId))
  return [
    ...(queue.suspendedSince === undefined
      ? []
      : [
          {
            reason: 'tenant_suspended' as const,
            since: queue.suspendedSince.toISOString(),
            detail: 'The operator suspended the tenant: it sends nothing, and its mail waits',
          },
        ]),
    ...deactivated.map(({ mailerId, stateReason, stateEvidence, stateChangedAt }) => ({
      mailer_id: mailerId,
      reason: 'mailer_deactivated' as const,
      since: stateChangedAt.toISOString(),
      detail: stateEvidence ?? stateReason ?? '',
    })),
    ...queue.failing.slice(0, attentionMax).map(({ mailerId, failedReason, providerError }) => ({
      mailer_id: mailerId,
      reason: 'mailer_failing' as const,
      since: null,
      detail: providerError === '' ? failedReason : providerError,
    })),
    ...queue.late.slice(0, attentionMax).map(({ mailerId, dueForMs, host }) => ({
      mailer_id: mailerId,
      reason: 'queue_late' as const,
      since: new Date(nowMs - dueForMs).toISOString(),
      detail: `Mail by ${host} has been due since then, and the limits of the mailer do not explain it`,
    })),
    ...ofWebhooks(
      webhooks.filter(({ isPaused }) => !isPaused),
      'webhook_failing',
      'Its last request failed, or its receiver refuses every event',
    ),
    ...ofDisabled(
      disabled.filter(({ mailerId }) => holds.has(mailerId)),
      'mail_held',
      'A person disabled the mailer, and its mail waits',
    ),
    ...ofWebhooks(
      webhooks.filter(({ isPaused }) => isPaused),
      'webhook_paused',
      'A person paused the webhook, and its events wait',
    ),
    ...ofDisabled(
      disabled.filter(({ mailerId }) => !holds.has(mailerId)),
      'mailer_disabled',
      'A person disabled it: it sends and reads nothing',
    ),
  ]
}

function ofWebhooks(
  webhooks: Awaited<ReturnType<typeof listFailingOf>>,
  reason: Attention['reason'],
  detail: string,
): Attention[] {
  return webhooks.map(({ webhookId, since }) => ({
    ...{ webhook_id: webhookId, reason, detail },
    since: since?.toISOString() ?? null,
  }))
}

function ofDisabled(
  mailers: Awaited<ReturnType<typeof listMailers>>,
  reason: Attention['reason'],
  detail: string,
): Attention[] {
  return mailers.map(({ mailerId, stateChangedAt }) => ({
    ...{ mailer_id: mailerId, reason, detail },
    since: stateChangedAt.toISOString(),
  }))
}
