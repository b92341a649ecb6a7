/** Makes inbound: what stores received mail in every role, its listener, and what reports the mail. */
import { createMailAuthenticator, createUserAgentReader, type MessageParser } from '@postrider/mail'
import {
  type ConcurrencyLimiter,
  createConcurrencyLimiter,
} from '@postrider/runtime/concurrency-limiter'
import { rememberAnswers } from '@postrider/runtime/dns'
import type { Service } from '@postrider/runtime/service'
import type { ThreadJobsObserver } from '@postrider/runtime/thread-observer'
import type { NoteReports } from '../feedback/index.ts'
import type { Failpoints } from '../platform/failpoints.ts'
import type { HttpApp } from '../platform/http/app.ts'
import { createRateLimit } from '../platform/limits/rate-limit.ts'
import type { KeyRing } from '../platform/secrets/index.ts'
import { createReturnPathTokens, type ReturnPathTokens } from '../sending/index.ts'
import type { ReceiverRules, Wakeups } from '../webhooks/index.ts'
import { isOwned } from './domains/domain-store.ts'
import { inboundRoutes } from './domains/routes.ts'
import { createIngest, type Ingest } from './ingest/ingest.ts'
import { createInboundJanitor } from './ingest/janitor.ts'
import { inboundPreviewRoute } from './messages/preview/routes.ts'
import { inboundMessageRoutes } from './messages/routes.ts'
import { createInboundWorker } from './process/inbound-worker.ts'
import { createInboundGauge, createInboundObserver } from './process/observe-inbound.ts'
import { createMessageReader } from './process/read-message.ts'
import { createListener, type ListenerDeps } from './smtp/create.ts'

export interface CreateInboundDeps extends ListenerDeps {
  readonly keyRing: KeyRing
  readonly failpoints: Failpoints
  readonly threadJobs: ThreadJobsObserver
  readonly parser: MessageParser
  readonly wakeups: Wakeups
  readonly receivers: ReceiverRules
  readonly noteReports: NoteReports
  /** Of checks of domains, shared with sending domains. */
  readonly checks: ConcurrencyLimiter
  /** Whether this process has the role `inbound`. */
  readonly isListening: boolean
  /** Whether it reports what was received: with the role `inbound` or `mailbox`. */
  readonly isReceiving: boolean
  readonly config: ListenerDeps['config'] & {
    readonly inboundInlineBytes: number
    readonly publicUrl: string
  }
}

/** Each is a piece of a message, or a page of what is known of some. */
const MESSAGE_READS_AT_ONCE = {
  atOnceMax: 4,
  atOncePerCallerMax: 2,
  waitingPerCallerMax: 100,
} as const
/** Each holds a whole message while it is read, and the attachment while it is sent. */
const ATTACHMENTS_AT_ONCE = {
  atOnceMax: 8,
  atOncePerCallerMax: 2,
  waitingPerCallerMax: 100,
} as const

/** Nothing runs before its services start. Throws when the configured certificate cannot be used. */
export function createInbound(deps: CreateInboundDeps) {
  const { config, db, log } = deps
  const returnPaths = createReturnPathTokens(deps.keyRing)
  const ingest = createIngest(deps)
  const listener = deps.isListening ? createListener(deps, { ingest, returnPaths }) : undefined
  const work = deps.isReceiving ? createReports(deps, { ingest, returnPaths }) : []
  return {
    /** After mail was stored by another way than SMTP. */
    wake: ingest.wake,
    /** Whether it is an inbound domain of the tenant. */
    isDomainOwned: (key: { readonly tenantId: string; readonly domain: string }) =>
      isOwned(db, key),
    intake: ingest,
    /** Those that report and listen: they start after what receives otherwise. */
    services: [...work, ...(listener === undefined ? [] : [listener])],
    janitor: createInboundJanitor({ db, log }),
    /** What `/readyz` tells of the listener. */
    readiness: listener,
    /** Where it listens. */
    address: () => (listener?.isListening() === true ? listener.address() : undefined),
    routes(app: HttpApp) {
      inboundRoutes(app, {
        ...deps,
        inboundHost: config.inboundHost,
        verifications: {
          limit: createRateLimit({ name: 'inbound-domain-checks', usesMax: 60, windowS: 60 }),
          limiter: deps.checks,
        },
      })
      const attachmentLimiter = createConcurrencyLimiter({
        ...ATTACHMENTS_AT_ONCE,
        name: 'attachments-at-once',
      })
      inboundPreviewRoute(app, { db, parser: deps.parser, attachmentLimiter })
      inboundMessageRoutes(app, {
        db,
        parser: deps.parser,
        attachmentLimiter,
        publicUrl: config.publicUrl,
        limiter: createConcurrencyLimiter({
          ...MESSAGE_READS_AT_ONCE,
          name: 'received-message-reads',
        }),
      })
    },
  }
}

/**
 * What reads and reports received mail, however it was received. Nothing runs before its services
 * start.
 */
function createReports(
  deps: CreateInboundDeps,
  o: { readonly ingest: Ingest; readonly returnPaths: ReturnPathTokens },
): readonly Service[] {
  const { config } = deps
  const authenticator = createMailAuthenticator({
    name: deps.ehloName,
    resolver: rememberAnswers(deps.dns),
    observer: deps.threadJobs,
  })
  const observer = createInboundObserver(deps.metrics)
  const reader = createMessageReader({
    ...deps,
    ...o,
    publicUrl: config.publicUrl,
    inlineBytesMax: config.inboundInlineBytes,
    authenticate: ({ tenantId, raw, envelope }, { from, headers }, timeoutMs) =>
      authenticator.authenticate(tenantId, {
        raw,
        author: from.email,
        headers,
        timeoutMs,
        client:
          envelope === null
            ? undefined
            : { remoteIp: envelope.remote_ip, helo: envelope.helo, mailFrom: envelope.from },
      }),
  })
  const worker = createInboundWorker({
    ...deps,
    takeStored: o.ingest.takeStored,
    readUserAgent: createUserAgentReader(),
    reader,
    observe: observer.reported,
  })
  o.ingest.onStored(() => worker.wake())
  return [authenticator, createInboundGauge(deps), worker]
}
