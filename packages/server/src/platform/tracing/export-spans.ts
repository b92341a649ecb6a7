/**
 * Spans by the SDK of OpenTelemetry. Loaded only where traces are asked for.
 *
 * A collector harms nothing: a bounded number of spans waits, each export has a time limit, and what the
 * collector does not take is dropped and counted.
 */
import {
  type Attributes,
  type Context,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources'
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  SamplingDecision,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import { waitAtMost } from '@postrider/runtime/timeout'
import type { Logger } from '../log.ts'
import { continueTrace, parseTraceparent, type TraceContext, withSampled } from '../trace.ts'
import type { TracingSettings } from './settings.ts'
import type { ExportedSpans, SpanOutcome, TracingDeps } from './span.ts'

const BATCH_MAX = 512
/** About 10 MB. */
const WAITING_MAX = 4_096
/** A stop may export all that wait at once. */
const EXPORTS_AT_ONCE = WAITING_MAX / BATCH_MAX + 2
const EXPORT_EVERY_MS = 2_000

export function exportSpans(
  deps: Omit<TracingDeps, 'metrics'> & {
    readonly count: (outcome: SpanOutcome, by?: number) => void
  },
): ExportedSpans {
  const { settings } = deps
  const episodes = createEpisodes(deps.log)
  const sampler = samplerOf(settings)
  let waiting = 0
  /** Of the span that is made now: the SDK asks for ids, and ours are known. */
  let own: Pick<TraceContext, 'traceId' | 'spanId'> = { traceId: '', spanId: '' }

  const otlp = new OTLPTraceExporter({
    timeoutMillis: settings.timeoutMs,
    concurrencyLimit: EXPORTS_AT_ONCE,
  })
  const exporter: SpanExporter = {
    export(spans, done) {
      waiting -= spans.length
      otlp.export(spans, (result) => {
        const isExported = result.error === undefined && result.code === 0
        deps.count(isExported ? 'exported' : 'failed', spans.length)
        if (isExported) episodes.over()
        else episodes.lost(spans.length, result.error)
        // It is noted: at a stop, the processor would not wait for its other batches.
        done({ code: 0 })
      })
    },
    shutdown: () => otlp.shutdown(),
  }
  const provider = new TracerProvider({
    sampler,
    resource: resourceOf(deps),
    idGenerator: { generateTraceId: () => own.traceId, generateSpanId: () => own.spanId },
    spanProcessors: [
      new BatchSpanProcessor({
        exporter,
        maxExportBatchSize: BATCH_MAX,
        maxQueueSize: WAITING_MAX,
        scheduledDelayMillis: EXPORT_EVERY_MS,
        exportTimeoutMillis: settings.timeoutMs + 1_000,
      }),
    ],
  })
  const tracer = provider.getTracer('postrider', deps.version)

  return {
    continueTrace(header) {
      const traceparent = continueTrace(header)
      const traceId = parseTraceparent(traceparent)?.traceId ?? ''
      const { decision } = sampler.shouldSample(below(header), traceId, '', SpanKind.SERVER, {}, [])
      return withSampled(traceparent, decision === SamplingDecision.RECORD_AND_SAMPLED)
    },
    record(span) {
      const context = parseTraceparent(span.traceparent)
      if (context === undefined) return
      own = context
      const { durationMs, error } = span
      const endedMs = Date.now() - span.endedAgoMs
      const made = tracer.startSpan(
        span.name,
        {
          kind: span.kind === 'server' ? SpanKind.SERVER : SpanKind.CLIENT,
          startTime: endedMs - durationMs,
          attributes: knownOf(span.attributes),
          links: (span.links ?? []).flatMap((link) => {
            const linked = contextOf(link)
            return linked === undefined ? [] : [{ context: linked }]
          }),
        },
        below(span.parent),
      )
      if (!made.isRecording()) return
      if (waiting >= WAITING_MAX) {
        deps.count('dropped')
        return episodes.lost(1, undefined)
      }
      if (error !== undefined) made.setStatus({ code: SpanStatusCode.ERROR, message: error })
      waiting += 1
      made.end(endedMs)
    },
    async stop() {
      const ended = provider.shutdown().catch(() => undefined)
      await waitAtMost(ended, settings.timeoutMs + 1_000)
    },
  }
}

/** One line when spans begin to be lost, and one when they are taken again. */
function createEpisodes(log: Logger) {
  let count = 0
  return {
    lost(spans: number, error: Error | undefined) {
      if (count === 0)
        log.warn(error === undefined ? { reason: 'too many wait' } : { err: error }, 'traces.lost')
      count += spans
    },
    over() {
      if (count > 0) log.info({ spans_lost: count }, 'traces.exported_again')
      count = 0
    },
  }
}

function samplerOf({ sampler, ratio }: TracingSettings): Sampler {
  switch (sampler) {
    case 'always_on':
      return new AlwaysOnSampler()
    case 'always_off':
      return new AlwaysOffSampler()
    case 'traceidratio':
      return new TraceIdRatioBasedSampler(ratio)
    case 'parentbased_always_on':
      return new ParentBasedSampler({ root: new AlwaysOnSampler() })
    case 'parentbased_always_off':
      return new ParentBasedSampler({ root: new AlwaysOffSampler() })
    case 'parentbased_traceidratio':
      return new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) })
  }
}

/** The operator's variables win. */
function resourceOf({ version, processId }: Pick<TracingDeps, 'version' | 'processId'>) {
  const own = resourceFromAttributes({
    'service.name': 'postrider',
    'service.version': version,
    'service.instance.id': processId,
  })
  return defaultResource()
    .merge(own)
    .merge(detectResources({ detectors: [envDetector] }))
}

function below(header: string | undefined): Context {
  const parent = contextOf(header)
  return parent === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, parent)
}

function contextOf(header: string | undefined): SpanContext | undefined {
  const parsed = parseTraceparent(header)
  if (parsed === undefined) return undefined
  const { traceId, spanId, flags } = parsed
  const traceFlags = Number.parseInt(flags, 16) & TraceFlags.SAMPLED
  return { traceId, spanId, traceFlags, isRemote: true }
}

function knownOf(attributes: Readonly<Record<string, string | number | undefined>>): Attributes {
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined))
}
