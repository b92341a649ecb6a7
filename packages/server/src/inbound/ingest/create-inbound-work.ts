/** Makes what reports received mail; nothing runs before its services start. */
import { createUserAgentReader, type MessageParser } from '../../mail/index.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Db } from '../../platform/db/index.ts'
import type { Failpoints } from '../../platform/failpoints.ts'
import type { Logger } from '../../platform/log.ts'
import type { Metrics } from '../../platform/metrics.ts'
import type { Service } from '../../platform/service.ts'
import type { Wakeups } from '../../webhooks/index.ts'
import { createInboundWorker } from './inbound-worker.ts'
import type { Ingest } from './ingest.ts'
import { createInboundGauge, createInboundObserver } from './observe-inbound.ts'
import { createMessageReader, type MessageReaderDeps } from './read-message.ts'

export function createInboundWork(
  deps: {
    readonly db: Db
    readonly clock: Clock
    readonly log: Logger
    readonly metrics: Metrics
    readonly failpoints: Failpoints
    readonly wakeups: Wakeups
    readonly ingest: Pick<Ingest, 'onStored' | 'takeRaw'>
    readonly parser: MessageParser
  } & Pick<MessageReaderDeps, 'authenticate' | 'publicUrl' | 'returnPaths' | 'inlineBytesMax'>,
): readonly Service[] {
  const observer = createInboundObserver(deps.metrics)
  const worker = createInboundWorker({
    ...deps,
    takeRaw: deps.ingest.takeRaw,
    readUserAgent: createUserAgentReader(),
    reader: createMessageReader(deps),
    observe: observer.reported,
  })
  deps.ingest.onStored(() => worker.wake())
  return [createInboundGauge(deps), worker]
}
