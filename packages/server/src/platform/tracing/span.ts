/** What is recorded, and by what: types that load nothing. */
import type { Service } from '@postrider/runtime/service'
import type { Logger } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import type { TracingSettings } from './settings.ts'

export type SpanAttributes = Readonly<Record<string, string | number | undefined>>

export interface SpanRecord {
  readonly name: string
  readonly kind: 'server' | 'client'
  /** Of the span itself. */
  readonly traceparent: string
  /** Of the span that caused it; a header of the caller may be anything. */
  readonly parent: string | undefined
  /** Of further spans that it works for. */
  readonly links?: readonly string[]
  /** How long ago it ended, in milliseconds. */
  readonly endedAgoMs: number
  readonly durationMs: number
  /** Never an address, a subject, a body, or a URL of a tenant. */
  readonly attributes: SpanAttributes
  /** The class of the failure. */
  readonly error?: string | undefined
}

export interface Tracing extends Service {
  /** As `continueTrace`, with the decision of the sampler in its flags. */
  continueTrace(header: string | undefined): string
  record(span: SpanRecord): void
}

export interface TracingDeps {
  readonly log: Logger
  readonly metrics: Metrics
  readonly settings: TracingSettings
  readonly version: string
  /** New at each start. */
  readonly processId: string
}

export const spanOutcomes = ['exported', 'failed', 'dropped'] as const
export type SpanOutcome = (typeof spanOutcomes)[number]

export type ExportedSpans = Pick<Tracing, 'continueTrace' | 'record' | 'stop'>
