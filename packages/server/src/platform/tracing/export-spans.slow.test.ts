/** What waits for a collector is bounded, and what is lost is counted. */
import { createWebhookReceiver, type WebhookReceiver } from '@postrider/testkit'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createLogger } from '../log.ts'
import { startTrace } from '../trace.ts'
import { exportSpans } from './export-spans.ts'
import { readTracingSettings } from './settings.ts'
import type { SpanRecord } from './span.ts'

const WAITING_MAX = 4_096
/** The first batch is on its way by then. */
const TAKEN_MAX = WAITING_MAX + 512

let collector: WebhookReceiver
beforeEach(async () => {
  collector = await createWebhookReceiver()
})
afterEach(async () => {
  vi.unstubAllEnvs()
  await collector.close()
})

function start(timeoutMs: number) {
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.origin,
    OTEL_EXPORTER_OTLP_TIMEOUT: String(timeoutMs),
  }
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value)
  const counts = { exported: 0, failed: 0, dropped: 0 }
  const lines: string[] = []
  const spans = exportSpans({
    log: createLogger({ level: 'info', destination: { write: (line) => lines.push(line) } }),
    settings: readTracingSettings(env),
    version: '0.0.0',
    processId: '1-a',
    count(outcome, by = 1) {
      counts[outcome] += by
    },
  })
  return { spans, counts, lines }
}

const span = (): SpanRecord => ({
  ...{ name: 'attempt', kind: 'client', traceparent: startTrace(), parent: undefined },
  ...{ endedAgoMs: 0, durationMs: 1, attributes: {} },
})

it('exports at the end all that waits', async () => {
  const { spans, counts } = start(5_000)
  for (let n = 0; n < WAITING_MAX; n++) spans.record(span())
  await spans.stop()
  expect(counts).toEqual({ exported: WAITING_MAX, failed: 0, dropped: 0 })
})

it('drops what comes while too many wait for a collector that never answers', async () => {
  collector.setScript(() => ({ ending: 'hang' }))
  const { spans, counts, lines } = start(300)
  for (let n = 0; n < TAKEN_MAX + 1_000; n++) spans.record(span())
  expect(counts).toEqual({ exported: 0, failed: 0, dropped: 1_000 })
  await spans.stop()
  expect(counts).toEqual({ exported: 0, failed: TAKEN_MAX, dropped: 1_000 })
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { msg: 'traces.lost', reason: 'too many wait' },
  ])
})

it('a span that is not sampled takes no place', async () => {
  collector.setScript(() => ({ ending: 'hang' }))
  const { spans, counts } = start(300)
  const parent = startTrace().replace(/01$/, '00')
  const traceparent = parent.replace(/-[0-9a-f]{16}-/, '-00f067aa0ba902b7-')
  for (let n = 0; n < TAKEN_MAX + 1_000; n++) spans.record({ ...span(), traceparent, parent })
  await spans.stop()
  expect(counts).toEqual({ exported: 0, failed: 0, dropped: 0 })
})
