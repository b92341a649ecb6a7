/**
 * Spans for OpenTelemetry, for those who set its variables (docs/operations/monitor.md#traces). Without them there
 * is no tracing object, and nothing of the SDK is loaded.
 *
 * A span is recorded once, when its work is over: its ids are those of the `traceparent` that the work had from
 * the start. So processes that know each other by the database alone write spans of one trace.
 */
import { continueTrace } from '../trace.ts'
import { type ExportedSpans, spanOutcomes, type Tracing, type TracingDeps } from './span.ts'

/** Undefined where nobody has asked for traces. */
export function createTracing(deps: TracingDeps): Tracing | undefined {
  const { log, metrics, settings } = deps
  for (const problem of settings.problems) log.warn({ problem }, 'traces.setting_ignored')
  if (!settings.isOn) return undefined
  const count = metrics.counterOf(
    'trace_spans_total',
    'Spans: exported, failed (the collector did not take them) or dropped (too many waited)',
    'outcome',
    spanOutcomes,
  )
  let spans: ExportedSpans | undefined
  return {
    name: 'tracing',
    async start() {
      const { exportSpans } = await import('./export-spans.ts')
      spans = exportSpans({ ...deps, count })
    },
    continueTrace: (header) => spans?.continueTrace(header) ?? continueTrace(header),
    record: (span) => spans?.record(span),
    async stop() {
      const ending = spans
      spans = undefined
      await ending?.stop()
    },
  }
}
