/**
 * The span of a webhook request, a child of the send of its oldest event. The sends of the other events are links.
 *
 * Of its URL it has the host alone: path and query of a webhook may hold secrets.
 */
import type { SpanRecord } from '../../../platform/tracing/span.ts'
import type { ReadyDelivery } from '../take/take-deliveries.ts'
import type { MadeRequest } from './make-request.ts'

const LINKS_MAX = 100

export interface SentRequest {
  readonly ready: Pick<ReadyDelivery, 'delivery' | 'events' | 'target'>
  readonly made: Pick<MadeRequest, 'durationMs' | 'error' | 'status'>
  /** As the request had it. */
  readonly traceparent: string
  readonly endedMs: number
}

export function requestSpan(
  { ready, made, traceparent, endedMs }: SentRequest,
  outcome: string,
): SpanRecord {
  const { delivery, events, target } = ready
  const [parent, ...others] = new Set(events.map((event) => event.traceparent))
  const url = URL.parse(target.url)
  const error = errorOf(made)
  return {
    name: 'POST webhook',
    kind: 'client',
    traceparent,
    parent,
    links: others.slice(0, LINKS_MAX),
    durationMs: made.durationMs,
    endedAgoMs: Date.now() - endedMs,
    error,
    attributes: {
      'http.request.method': 'POST',
      'http.response.status_code': made.status,
      'http.request.resend_count': delivery.attempts === 0 ? undefined : delivery.attempts,
      'server.address': url?.hostname,
      'server.port': portOf(url),
      'messaging.system': 'postrider',
      'messaging.operation.type': 'send',
      'messaging.batch.message_count': events.length,
      'postrider.tenant_id': delivery.tenantId,
      'postrider.webhook_id': delivery.webhookId,
      'postrider.delivery_id': delivery.deliveryId,
      'postrider.outcome': outcome,
      'error.type': error,
    },
  }
}

/** The status of a refusal, or the code before the words. */
function errorOf({ status, error }: SentRequest['made']): string | undefined {
  if (error !== undefined) return /^\w+/.exec(error)?.[0] ?? 'error'
  return status === undefined || status < 300 ? undefined : String(status)
}

function portOf(url: URL | null): number | undefined {
  if (url === null) return undefined
  return url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port)
}
