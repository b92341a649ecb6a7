/** What spans say of an email, by the semantic conventions of OpenTelemetry for messaging: ids alone. */
import type { SpanAttributes } from '../platform/tracing/span.ts'

export function messageAttributes(o: {
  readonly tenantId: string
  readonly refId?: string
}): SpanAttributes {
  return {
    'messaging.system': 'postrider',
    'messaging.operation.type': 'send',
    'messaging.message.id': o.refId,
    'postrider.tenant_id': o.tenantId,
  }
}
