/** streamEvents (docs/reference/events.md#stream). */
import { Readable } from 'node:stream'
import { type StreamEventsQuery, streamEventsQuery, streamsPerTenantMax } from '@postrider/contract'
import type { FastifyRequest } from 'fastify'
import { ApiError } from '../../platform/errors.ts'
import type { HttpApp } from '../../platform/http/app.ts'
import { addStreamOperation } from '../../platform/http/operation.ts'
import { soughtUlid } from '../../platform/ids.ts'
import type { Logger } from '../../platform/log.ts'
import { asciiLower, mayReadContent } from '../log/shown-event.ts'
import { type CatchUpDeps, catchUp } from './catch-up.ts'
import type { FeedHub } from './feed-hub.ts'
import type { StreamCounts } from './stream-counts.ts'
import { createSubscriber, type Subscriber } from './subscriber.ts'

export interface FeedRouteDeps extends CatchUpDeps {
  readonly log: Logger
  readonly hub: FeedHub
  readonly counts: StreamCounts
  readonly onGap: () => void
  readonly monotonicMs?: () => number
}

const TICK_MS = 1_000
/** How soon a stream ends after its key was revoked, with the seconds for which a key is believed. */
const ADMISSION_MS = 3_000
const ASKED_AT_ONCE = 4

export function feedRoutes(app: HttpApp, deps: FeedRouteDeps): void {
  const { monotonicMs = () => performance.now() } = deps
  const open = new Map<Subscriber, FastifyRequest>()
  watchStreams(app, open, monotonicMs)
  let isEnding = false
  app.addHook('preClose', (done) => {
    isEnding = true
    for (const subscriber of open.keys()) subscriber.end()
    deps.hub.endAll()
    done()
  })

  addStreamOperation(app, 'streamEvents', {
    summary: 'Events as they are committed, as server-sent events',
    description: `Each event has \`id:\` (its \`event_id\`), \`event:\` (its name) and \`data:\` (the event, as listEvents has it), in the order of commits. After 15 s without an event there is a comment. With the header \`Last-Event-ID\` the stream goes on behind that event, for 24 h, and none is missed. An unknown or older id gets \`event: gap\` first, and then what there is of the last 24 h. A reader that is too slow gets \`event: gap\`, with the \`count\` of events that were left out; a new request with the last id before the gap gets them. The stream ends when its key is revoked. A tenant may have ${streamsPerTenantMax} streams in a process, then 429.`,
    tag: 'Events',
    query: streamEventsQuery,
    contentTypes: ['text/event-stream'],
    requestHeaders: ['Last-Event-ID'],
    answerHeaders: ['X-Accel-Buffering'],
    scopes: ['read'],
    errors: ['rate_limited'],
    async handle({ tenant, query, request, reply }) {
      reply.header('content-type', 'text/event-stream')
      reply.header('cache-control', 'no-store, no-transform')
      reply.header('x-accel-buffering', 'no')
      if (request.method === 'HEAD') return Readable.from([])
      if (isEnding) throw new ApiError('unavailable', { retryAfterS: 1 })
      const leave = deps.counts.enter(tenant)
      const subscriber = createSubscriber({
        tenantId: tenant.tenantId,
        filters: filtersOf(query),
        mayReadContent: mayReadContent(tenant),
        monotonicMs,
        onGap: deps.onGap,
        unsentOctets: () => reply.raw.writableLength,
      })
      const { stream } = subscriber
      reply.raw.once('close', () => stream.destroy())
      stream.once('close', () => {
        open.delete(subscriber)
        leave()
      })
      const lastEventId = request.headers['last-event-id']
      try {
        open.set(subscriber, request)
        if (typeof lastEventId === 'string' && lastEventId !== '')
          resume(deps, subscriber, lastEventId)
        else await deps.hub.joinNow(subscriber)
      } catch (error) {
        stream.destroy()
        throw error
      }
      request.becomeStream()
      return stream
    },
  })
}

/** Where it fails, the stream ends: its reader comes back. */
function resume(deps: FeedRouteDeps, subscriber: Subscriber, lastEventId: string): void {
  catchUp(deps, subscriber, lastEventId).catch((error: unknown) => {
    deps.log.warn({ err: error }, 'event_stream.not_resumed')
    subscriber.end()
  })
}

function filtersOf({ event, ref_id: refId, email, mailer_id: mailerId }: StreamEventsQuery) {
  return {
    event,
    refId: refId === undefined ? undefined : soughtUlid(refId),
    email: email === undefined ? undefined : asciiLower(email),
    mailerId,
  }
}

/** Tells silence, and ends the streams of those who may not read any more. */
function watchStreams(
  app: HttpApp,
  open: ReadonlyMap<Subscriber, FastifyRequest>,
  monotonicMs: () => number,
): void {
  let timer: NodeJS.Timeout | undefined
  let askedMs = monotonicMs()
  let isAsking = false

  /** A few at a time: an answer may need a query. */
  async function ask(): Promise<void> {
    isAsking = true
    const waiting = [...open]
    const askNext = async () => {
      for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
        const [subscriber, request] = next
        // What cannot be asked now is asked again.
        const isAdmitted = await request.isStillAdmitted().catch(() => true)
        if (!isAdmitted) subscriber.end()
      }
    }
    await Promise.all(Array.from({ length: ASKED_AT_ONCE }, askNext))
    isAsking = false
  }

  const tick = () => {
    const nowMs = monotonicMs()
    for (const subscriber of open.keys()) subscriber.tick(nowMs)
    if (isAsking || nowMs - askedMs < ADMISSION_MS) return
    askedMs = nowMs
    void ask()
  }
  app.addHook('onReady', (done) => {
    timer = setInterval(tick, TICK_MS).unref()
    done()
  })
  app.addHook('onClose', (_app, done) => {
    clearInterval(timer)
    done()
  })
}
