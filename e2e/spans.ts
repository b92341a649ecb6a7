/** Spans as a collector of OpenTelemetry gets them: a receiver on loopback that reads OTLP in JSON. */
import { createWebhookReceiver, type WebhookReceiver } from '@postrider/testkit'

export interface Span {
  readonly name: string
  readonly kind: 'server' | 'client' | undefined
  readonly traceId: string
  readonly spanId: string
  readonly parent: string | undefined
  readonly links: readonly string[]
  readonly attributes: Readonly<Record<string, unknown>>
  /** Of a span that failed: its class. */
  readonly error: string | undefined
  readonly startNs: bigint
  readonly endNs: bigint
  readonly resource: Readonly<Record<string, unknown>>
}

export interface Collector {
  readonly receiver: WebhookReceiver
  readonly env: Readonly<Record<string, string>>
  spansOf(traceId: string): Span[]
  /** Everything that it got, as text. */
  text(): string
}

interface Otlp {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly OtlpAttribute[] }
    readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[]
  }[]
}

interface OtlpAttribute {
  readonly key: string
  readonly value: Readonly<Record<string, unknown>>
}

interface OtlpSpan {
  readonly name: string
  readonly kind: number
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly links?: readonly { readonly spanId: string }[]
  readonly attributes: readonly OtlpAttribute[]
  readonly status: { readonly code?: number; readonly message?: string }
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
}

const KINDS = { 2: 'server', 3: 'client' } as Readonly<Record<number, Span['kind']>>
const ERROR = 2

export async function createCollector(): Promise<Collector> {
  const receiver = await createWebhookReceiver()
  const spans = () => receiver.requests.flatMap(({ json }) => read(json as Otlp))
  return {
    receiver,
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.origin },
    spansOf: (traceId) => spans().filter((span) => span.traceId === traceId),
    text: () => receiver.requests.map(({ body }) => body.toString()).join('\n'),
  }
}

function read({ resourceSpans }: Otlp): Span[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        name: span.name,
        kind: KINDS[span.kind],
        traceId: span.traceId,
        spanId: span.spanId,
        parent: span.parentSpanId,
        links: (span.links ?? []).map(({ spanId }) => spanId),
        attributes: valuesOf(span.attributes),
        error: span.status.code === ERROR ? (span.status.message ?? '') : undefined,
        startNs: BigInt(span.startTimeUnixNano),
        endNs: BigInt(span.endTimeUnixNano),
        resource: valuesOf(resource.attributes),
      })),
    ),
  )
}

function valuesOf(attributes: readonly OtlpAttribute[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))
}
