/**
 * Makes everything from a configuration and wires it up; the only file that knows all capabilities.
 * Nothing runs before `start`.
 */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import {
  deactivationReasons,
  exportsAtOnceMax,
  relayKinds,
  replayedEventsADayMax,
  replaysMax,
  webhookChecksMax,
} from '@postrider/contract'
import { activityRoutes } from './activity/routes.ts'
import type { Build } from './build.ts'
import { type Config, isInboundHostUnnamed, isPaused, type Role, roles } from './config.ts'
import { domainRoutes } from './domains/routes.ts'
import { createDomainWork, domainWorkOutcomes } from './domains/worker.ts'
import { heloNameOf } from './ehlo-hostname.ts'
import { createFeedback, type Feedback } from './feedback/create-feedback.ts'
import { createFeedbackInbox, type FeedbackInbox } from './feedback/intake/inbox.ts'
import { createFeedbackJanitor } from './feedback/janitor.ts'
import { callbackRoutes } from './feedback/routes.ts'
import { isHeld } from './inbound/domains/domain-store.ts'
import { createRouteFinder } from './inbound/domains/find-routes.ts'
import { createDomainProver } from './inbound/domains/prove-domain.ts'
import { inboundRoutes } from './inbound/domains/routes.ts'
import { createInboundWork } from './inbound/ingest/create-inbound-work.ts'
import { createIngest, type Ingest } from './inbound/ingest/ingest.ts'
import { createInboundJanitor } from './inbound/ingest/janitor.ts'
import { inboundMessageRoutes } from './inbound/messages/routes.ts'
import { listenWhenFree } from './inbound/smtp/listen-when-free.ts'
import { createInboundListener, type InboundListener } from './inbound/smtp/listener.ts'
import { createListenerObserver } from './inbound/smtp/observe-listener.ts'
import {
  createLinkFinder,
  createMailAuthenticator,
  createMessageParser,
  createPhishingScanner,
  createRspamd,
  createTemplateRenderer,
  type LinkFinder,
  type MessageParser,
  rspamdOutcomes,
  type TemplateRenderer,
  withSecondOpinion,
} from './mail/index.ts'
import {
  createMailboxes,
  createMailboxJanitor,
  createSentCopies,
  readMailboxHealth,
  type WokenMailbox,
} from './mailboxes/index.ts'
import { createImapBounds } from './mailers/imap/imap-bounds.ts'
import type { OnImapBound } from './mailers/imap/open-mailbox.ts'
import { imapRoutes } from './mailers/imap/routes.ts'
import {
  type AccessTokens,
  createAccessTokens,
  createNoteDeactivated,
  createRelaySends,
  createSmtpPool,
  listDomainsOfRelay,
  type NoteDeactivated,
  noteRelayChanged,
} from './mailers/index.ts'
import { oauthRoutes } from './mailers/oauth/routes.ts'
import { registerMailerRoutes } from './mailers/routes.ts'
import { migrationsDir } from './operator-database.ts'
import { type Clock, createClock } from './platform/clock.ts'
import { createConcurrencyLimiter } from './platform/concurrency-limiter.ts'
import { createCounterFolder } from './platform/counter-folder.ts'
import {
  type Wakeups as BucketWakeups,
  createWakeups as createBucketWakeups,
  createDayPartitions,
  createDb,
  createNotifications,
  createSchemaFence,
  type Db,
  type Notifications,
  type Others,
  type SchemaFence,
} from './platform/db/index.ts'
import { type BucketLeases, bucketOf, createBucketLeases } from './platform/db/leases.ts'
import { createDescriptors, type Descriptors } from './platform/descriptors.ts'
import { createDiskGuard, type DiskGuard, noDiskGuard } from './platform/disk-guard.ts'
import { createDnsResolver, type DnsResolver, rememberAnswers } from './platform/dns/index.ts'
import { createEgress, type Egress } from './platform/egress/index.ts'
import { createFailpoints, type Failpoints } from './platform/failpoints.ts'
import { createHttpApp } from './platform/http/app.ts'
import { describeRoutes } from './platform/http/openapi.ts'
import { createHttpServer, type HttpServer } from './platform/http/server.ts'
import { addStatusRoutes } from './platform/http/status-routes.ts'
import type { Logger } from './platform/log.ts'
import { createMetrics, type Metrics } from './platform/metrics.ts'
import { createRateLimit } from './platform/rate-limit.ts'
import { createRetention } from './platform/retention.ts'
import { createKeyRing, type KeyRing, withRetired } from './platform/secrets/index.ts'
import type { Secrets } from './platform/secrets-file.ts'
import { loadCertificate } from './platform/server-certificate.ts'
import { createServiceGroup, type Service } from './platform/service.ts'
import { createThreadJobsObserver, type ThreadJobsObserver } from './platform/thread-observer.ts'
import { createWatchdog, type Watchdog } from './platform/watchdog.ts'
import { checkReadiness } from './readiness.ts'
import { adapterOf, createRelays, type Relays, requestResults } from './relays/index.ts'
import { relayRoutes } from './relays/routes.ts'
import { partitionedTables, retentionDays } from './retention-days.ts'
import { createAcceptEmails } from './sending/accept/accept-email.ts'
import { createKeysInProgress } from './sending/accept/idempotency.ts'
import { createQueueWakeups, createReturnPathTokens, type QueueWakeups } from './sending/index.ts'
import { createJanitor } from './sending/janitor.ts'
import { createPhishingCheck, phishingOutcomes } from './sending/phishing/check-phishing.ts'
import { createFreshSettings } from './sending/phishing/fresh-settings.ts'
import { phishingRoutes } from './sending/phishing/routes.ts'
import { createSender } from './sending/queue/worker.ts'
import { createQueueWatch, type QueueWatch } from './sending/queue-watch/queue-watch.ts'
import { rescueRoutes } from './sending/rescue/routes.ts'
import { createFinishAttempts } from './sending/results/finish-attempts.ts'
import { sendRoutes } from './sending/routes.ts'
import { suppressionRoutes } from './suppressions/routes.ts'
import { createAuditJanitor } from './tenants/audit-janitor.ts'
import { createKeyAuthenticator, createOperatorAccess } from './tenants/index.ts'
import { tenantRoutes } from './tenants/routes.ts'
import { createTracker, type Tracker } from './tracking/create-tracker.ts'
import { trackingRoutes } from './tracking/routes.ts'
import { createTrackingTokens, trackingKeys } from './tracking/tokens.ts'
import { createTrackingUrls } from './tracking/tracking-urls.ts'
import { type DeliverDeps, deliverBatch } from './webhooks/dispatch/deliver-batch.ts'
import { createBacklog } from './webhooks/dispatch/operate/backlog.ts'
import { createDiscovery } from './webhooks/dispatch/schedule/discover-streams.ts'
import { createDispatcher } from './webhooks/dispatch/schedule/worker.ts'
import { createDeliveryCommits } from './webhooks/dispatch/settle/delivery-commits.ts'
import { createWakeups, type Wakeups } from './webhooks/index.ts'
import { webhookRoutes } from './webhooks/routes.ts'

/** In the order of the contract. */
export function rolesOf(config: Config): string[] {
  return roles.filter((role) => config.roles.has(role))
}

const EXPIRES_IN_MS = 3 * 24 * 3_600_000
const CONNECT_CHECK_MS = 5_000
const CHECKS_AT_ONCE = { atOnceMax: 50, atOncePerCallerMax: 5, waitingPerCallerMax: 20 } as const
/** Each is a transaction of up to 10,000 rows. */
const RESCUES_AT_ONCE = { atOnceMax: 2, atOncePerCallerMax: 1, waitingPerCallerMax: 20 } as const
/** Each holds a connection for as long as a page takes, and a page of logs. */
const EXPORTS_AT_ONCE = {
  atOnceMax: 8,
  atOncePerCallerMax: exportsAtOnceMax,
  waitingPerCallerMax: 0,
} as const
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
const SETTLED: ReadonlySet<string> = new Set(['delivered', 'exhausted', 'discarded'])
const REFRESHED = ['refreshed', 'failed', 'deactivated', 'lost'] as const
const ATTEMPTED = ['accepted', 'deferred', 'failed', 'uncertain', 'blocked'] as const
const REQUESTED = ['delivered', 'retry', 'divided', 'parked', 'exhausted', 'superseded'] as const
/** Fine below the second that a good receiver or provider takes, and with their time-outs as edges. */
const REQUEST_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30, 60]

export interface App extends Service {
  readonly db: Db
  /** The names of its services, in the order in which they start. */
  readonly services: readonly string[]
  /** Where it listens, with the port that was really taken. */
  address(): { readonly host: string; readonly port: number }
  /** Likewise, of the SMTP listener, where it listens. */
  inboundAddress(): { readonly host: string; readonly port: number } | undefined
}

interface Parts {
  readonly config: Config
  readonly log: Logger
  readonly clock: Clock
  readonly metrics: Metrics
  readonly watchdog: Watchdog
  readonly db: Db
  readonly schema: SchemaFence
  readonly egress: Egress
  readonly descriptors: Descriptors
  readonly keyRing: KeyRing
  readonly failpoints: Failpoints
  readonly disk: DiskGuard
  readonly leases: Readonly<Record<LeasedRole, BucketLeases>>
  readonly wakeups: Wakeups
  readonly queueWakeups: QueueWakeups
  readonly mailboxWakeups: BucketWakeups<WokenMailbox>
  readonly noteDeactivated: NoteDeactivated
  readonly accessTokens: AccessTokens
  readonly inbox: FeedbackInbox
  readonly ingest: Ingest
  readonly parser: MessageParser
  readonly threadJobs: ThreadJobsObserver
  readonly dns: DnsResolver
  readonly relays: Relays
  readonly onImapBound: OnImapBound
}

/** Whose work is divided among its processes by buckets. */
type LeasedRole = 'dispatcher' | 'sender' | 'mailbox'
/** Processes whose sending is paused divide the queue among themselves, and take no bucket from a sender. */
const PAUSED_SENDER = 'paused sender'

export function compose(o: {
  readonly config: Config
  readonly secrets: Secrets
  readonly databaseUrl: string
  readonly log: Logger
  readonly build: Build
  /** What `checkKeys` answered. */
  readonly retiredKeys?: readonly Buffer[]
}): App {
  const { config, log } = o
  const metrics = createMetrics()
  metrics.collectProcess()
  const schema = createSchemaFence({
    dir: migrationsDir,
    db: () => db,
    everyMs: config.leaseTtlMs / 3,
    log,
  })
  const db: Db = createDb({
    url: o.databaseUrl,
    poolMax: config.databasePool,
    log,
    applicationName: 'postrider',
    check: schema.check,
  })
  const memberId = `${process.pid}-${randomBytes(6).toString('hex')}`
  const leasesOf = (role: LeasedRole | typeof PAUSED_SENDER) =>
    createBucketLeases({ db, role, memberId, ttlMs: config.leaseTtlMs, log })
  // Those of a role that this process does not have are never started, and own nothing.
  const leases = {
    dispatcher: leasesOf('dispatcher'),
    sender: leasesOf('sender'),
    mailbox: leasesOf('mailbox'),
  }
  const notifications = composeNotifications({ config, db, log, metrics, url: o.databaseUrl })
  const othersOf = (role: LeasedRole): Others => ({
    owned: leases[role].owned,
    notify: (buckets) => notifications.notify(role, buckets),
    onNotified: (listener) => notifications.onNotified(role, listener),
  })
  const clock = createClock()
  const inbox = createFeedbackInbox({ db, clock })
  const failpoints = createFailpoints(config.failpoints)
  const descriptors = createDescriptors({ log, metrics })
  const egress = createEgress({
    allowNetworks: config.allowNetworks,
    dnsServers: config.dnsServers,
    descriptors,
    ...(config.webhookTlsCa === undefined ? {} : { tlsCaFile: config.webhookTlsCa }),
  })
  const threadJobs = createThreadJobsObserver({ metrics, log })
  const core = {
    config,
    log,
    metrics,
    watchdog: createWatchdog({ log, metrics }),
    clock,
    db,
    schema,
    inbox,
    ingest: createIngest({ db, failpoints }),
    parser: createMessageParser({ observer: threadJobs }),
    threadJobs,
    egress,
    descriptors,
    dns: createDnsResolver({ servers: config.dnsServers, descriptors }),
    relays: composeRelays({ egress, clock, inbox, metrics }),
    keyRing: withRetired(createKeyRing(o.secrets.secretKeys), {
      purpose: trackingKeys.purpose,
      keys: o.retiredKeys ?? [],
    }),
    failpoints,
    disk:
      config.databaseUrl === undefined
        ? createDiskGuard({ dir: config.dataDir, freeMin: config.diskFreeMin, log })
        : noDiskGuard,
    leases,
    wakeups: createWakeups(othersOf('dispatcher')),
    queueWakeups: createQueueWakeups(othersOf('sender')),
    mailboxWakeups: createBucketWakeups<WokenMailbox>(othersOf('mailbox')),
    noteDeactivated: composeNoteDeactivated({ log, metrics }),
    onImapBound: createImapBounds({ log, metrics }),
  }
  const parts: Parts = { ...core, accessTokens: composeAccessTokens(core) }
  const templates = createTemplateRenderer({ observer: threadJobs })
  const places = createLinkFinder({ observer: threadJobs })
  const tracker = config.roles.has('tracker') ? composeTracker(parts) : undefined
  const feedback = config.roles.has('tracker') ? composeFeedback(parts) : undefined
  const isReceiving = config.roles.has('inbound') || config.roles.has('mailbox')
  const listener = config.roles.has('inbound') ? composeListener(parts) : undefined
  const sends = (role: Role) => config.roles.has(role) && !isPaused(config)
  const watch = config.roles.has('sender') ? composeQueueWatch(parts, leasesOf) : undefined
  const queueWatch = watch?.queueWatch
  const roles = { tracker, feedback, listener, queueWatch }
  const server = composeHttp(parts, { ...o, ...roles, templates, places })
  const services: readonly Service[] = [
    closer('database', () => db.close()),
    closer('egress', () => egress.close()),
    closer('dns', async () => parts.dns.close()),
    schema,
    parts.accessTokens,
    createDayPartitions({ db, tables: partitionedTables, log }),
    parts.disk,
    notifications,
    ...(sends('dispatcher') ? composeDispatcher(parts) : []),
    ...(sends('sender') ? composeSender(parts) : []),
    ...(watch?.services ?? []),
    // A copy would report the mail of a mailbox a second time, and store a second sent copy there.
    ...(sends('mailbox') ? composeMailboxes(parts) : []),
    ...(config.roles.has('janitor') ? composeJanitor(parts, o) : []),
    templates,
    places,
    parts.parser,
    parts.ingest,
    ...(tracker?.services ?? []),
    ...(feedback?.services ?? []),
    ...(isReceiving ? composeInboundWork(parts) : []),
    ...(listener === undefined ? [] : [listener]),
    server,
    // A start compiles much at once, when nobody waits for anything else yet.
    parts.watchdog,
  ]
  return {
    ...createServiceGroup('postrider', services),
    services: services.map(({ name }) => name),
    db,
    address: () => server.address(),
    inboundAddress: () => (listener?.isListening() === true ? listener.address() : undefined),
  }
}

function closer(name: string, close: () => Promise<void>): Service {
  return { name, start: async () => undefined, stop: close }
}

function composeRelays(o: Pick<Parts, 'egress' | 'clock' | 'inbox' | 'metrics'>): Relays {
  const requests = o.metrics.histogram(
    'relay_request_duration_seconds',
    'Requests to relay providers, by what came of them',
    ['relay', 'result'],
    REQUEST_SECONDS,
  )
  for (const relay of relayKinds)
    for (const result of requestResults) if (relay !== 'simulator') requests.zero({ relay, result })
  return createRelays({
    ...o,
    adapterOf,
    deliverCallback: o.inbox.store,
    observe: ({ kind, result, durationMs }) =>
      requests.observe({ relay: kind, result }, durationMs / 1000),
  })
}

function composeNoteDeactivated({ log, metrics }: Pick<Parts, 'log' | 'metrics'>): NoteDeactivated {
  const deactivated = metrics.counter(
    'mailers_deactivated_total',
    'Mailers that were deactivated, by why',
    ['reason'],
  )
  for (const reason of deactivationReasons) deactivated.inc({ reason }, 0)
  return createNoteDeactivated({ log, observe: (reason) => deactivated.inc({ reason }) })
}

function composeAccessTokens(core: Omit<Parts, 'accessTokens'>): AccessTokens {
  const refreshes = core.metrics.counter(
    'oauth_refreshes_total',
    'Refreshes of OAuth tokens, by what came of them',
    ['outcome'],
  )
  for (const outcome of REFRESHED) refreshes.inc({ outcome }, 0)
  return createAccessTokens({ ...core, observe: (outcome) => refreshes.inc({ outcome }) })
}

function composeHttp(
  parts: Parts,
  o: {
    readonly secrets: Secrets
    readonly build: Build
    readonly templates: TemplateRenderer
    readonly places: LinkFinder
    readonly tracker: Tracker | undefined
    readonly feedback: Feedback | undefined
    readonly listener: InboundListener | undefined
    readonly queueWatch: QueueWatch | undefined
  },
): HttpServer {
  const { clock, config, db, egress, keyRing, log, metrics } = parts
  const authenticator = createKeyAuthenticator({ db, clock })
  const app = createHttpApp({
    log,
    metrics,
    authenticateKey: authenticator.authenticate,
    adminToken: o.secrets.adminToken,
    operatorAccess: createOperatorAccess({ db, log }),
    trustedProxies: config.trustedProxies,
    connectionsMax: config.httpConnectionsMax,
  })
  const isApi = config.roles.has('api')
  const gates = recordGates(config.databasePool)
  // Of a thousand lookups at once: the rest is for what is sent and dispatched.
  const checksLimiter = createConcurrencyLimiter({ ...CHECKS_AT_ONCE, name: 'checks-at-once' })
  if (isApi) describeRoutes(app, { publicUrl: config.publicUrl, version: o.build.version })
  addStatusRoutes(app, {
    metrics,
    facts: () => ({ ...o.build, roles: rolesOf(config) }),
    readiness: () => checkReadiness({ ...parts, ...o }),
  })
  if (o.tracker !== undefined) trackingRoutes(app, o.tracker.routes)
  if (o.feedback !== undefined) callbackRoutes(app, o.feedback.intake)
  // The description of the routes needs to be in place before they are added.
  if (isApi)
    app.register(async (scope) => {
      tenantRoutes(scope, { db, clock, authenticator })
      const receivers = {
        egress,
        allowHttp: config.allowHttpWebhooks,
        connectTimeoutMs: CONNECT_CHECK_MS,
        limit: createRateLimit({ name: 'webhook-checks', usesMax: webhookChecksMax, windowS: 60 }),
        limiter: checksLimiter,
      }
      webhookRoutes(scope, {
        db,
        keyRing,
        receivers,
        wakeups: parts.wakeups,
        clock,
        replayLimit: createRateLimit({ name: 'replays', usesMax: replaysMax, windowS: 60 }),
        replayBudget: createRateLimit({
          name: 'replayed-events-a-day',
          // What is replayed stays in the record, once for each time.
          usesMax: replayedEventsADayMax,
          windowS: 86_400,
        }),
        gates,
      })
      const wakeMail = ({ tenantId, mailerId }: { tenantId: string; mailerId: string }) => {
        const mailer = { tenantId, mailerId, bucket: bucketOf(mailerId) }
        parts.queueWakeups.wake([{ ...mailer, isChanged: true }])
        parts.mailboxWakeups.wake([mailer])
      }
      const mailerDeps = {
        ...parts,
        ehloName: heloNameOf(config),
        wakeMail,
        readMailboxHealth,
        isInboundDomain: (key: { readonly tenantId: string; readonly domain: string }) =>
          isHeld(db, key),
        checks: {
          limit: createRateLimit({ name: 'mailer-checks', usesMax: 60, windowS: 60 }),
          limiter: checksLimiter,
        },
      }
      registerMailerRoutes(scope, mailerDeps)
      imapRoutes(scope, { ...mailerDeps, receivers })
      oauthRoutes(scope, {
        ...mailerDeps,
        callbackUrl: `${config.publicUrl}/oauth/callback`,
        loginLimit: createRateLimit({ name: 'oauth-logins', usesMax: 60, windowS: 60 }),
      })
      relayRoutes(scope, {
        ...mailerDeps,
        adapterOf,
        publicUrl: config.publicUrl,
        domainsOf: (key, limit) => listDomainsOfRelay(db, key, limit),
        async onChanged(tx, key) {
          const mailers = await noteRelayChanged(tx, key)
          return () => mailers.forEach(wakeMail)
        },
      })
      const domainLimiter = createConcurrencyLimiter({
        ...CHECKS_AT_ONCE,
        name: 'domain-checks-at-once',
      })
      const domainLimit = (name: string) => createRateLimit({ name, usesMax: 60, windowS: 60 })
      domainRoutes(scope, {
        ...mailerDeps,
        random: Math.random,
        checks: { limit: domainLimit('failed-domains'), limiter: domainLimiter },
        verifications: { limit: domainLimit('domain-checks'), limiter: domainLimiter },
      })
      inboundRoutes(scope, {
        ...parts,
        receivers,
        inboundHost: config.inboundHost,
        verifications: { limit: domainLimit('inbound-domain-checks'), limiter: domainLimiter },
      })
      inboundMessageRoutes(scope, {
        db,
        parser: parts.parser,
        publicUrl: config.publicUrl,
        limiter: createConcurrencyLimiter({
          ...MESSAGE_READS_AT_ONCE,
          name: 'received-message-reads',
        }),
        attachmentLimiter: createConcurrencyLimiter({
          ...ATTACHMENTS_AT_ONCE,
          name: 'attachments-at-once',
        }),
      })
      suppressionRoutes(scope, { db })
      phishingRoutes(scope, { db })
      sendRoutes(scope, {
        db,
        emails: createAcceptEmails(parts),
        templates: o.templates,
        places: o.places,
        log,
        keysInProgress: createKeysInProgress(),
        wakeups: parts.queueWakeups,
        defaults: { maxAttempts: config.sendMaxAttempts, expiresInMs: EXPIRES_IN_MS },
      })
      activityRoutes(scope, {
        db,
        clock,
        limiter: gates.record,
        exportLimiter: createConcurrencyLimiter({ ...EXPORTS_AT_ONCE, name: 'exports-at-once' }),
      })
      rescueRoutes(scope, {
        ...parts,
        wakeups: parts.queueWakeups,
        retentionMs: config.retentionMs,
        limiter: createConcurrencyLimiter({ ...RESCUES_AT_ONCE, name: 'rescues-at-once' }),
      })
    })
  return createHttpServer(app, { host: config.host, port: config.port })
}

/** Reading the record leaves half of the connections to others, and replays leave half of that. */
function recordGates(connections: number) {
  const gateOf = (name: string, part: number, atOncePerCallerMax: number) =>
    createConcurrencyLimiter({
      name,
      atOnceMax: Math.max(1, Math.floor(connections * part)),
      atOncePerCallerMax,
      waitingPerCallerMax: 20,
    })
  return { record: gateOf('record-reads', 0.5, 2), replays: gateOf('replays-at-once', 0.25, 1) }
}

function composeNotifications(
  o: Pick<Parts, 'config' | 'db' | 'log' | 'metrics'> & { readonly url: string },
): Notifications {
  const { config, db, log, url } = o
  const told = o.metrics.counter(
    'notifications_total',
    'Notifications between processes: sent, failed to be sent, received',
    ['what'],
  )
  for (const what of ['sent', 'failed', 'received']) told.inc({ what }, 0)
  const leasedRoles: readonly LeasedRole[] = ['dispatcher', 'sender', 'mailbox']
  return createNotifications({
    db,
    url,
    log,
    // The embedded database has one process, which nobody tells anything.
    listenTo:
      config.databaseUrl === undefined ? [] : leasedRoles.filter((r) => config.roles.has(r)),
    observe: (what) => told.inc({ what }),
  })
}

function composeDispatcher(parts: Parts): Service[] {
  const { config, db, log, metrics } = parts
  const leases = parts.leases.dispatcher
  const requests = metrics.histogram(
    'webhook_request_duration_seconds',
    'Duration of webhook requests, by what came of them',
    ['outcome'],
    REQUEST_SECONDS,
  )
  const settled = metrics.counter(
    'webhook_events_settled_total',
    'Events that left the queue: delivered, exhausted (given up) or discarded (no longer wanted)',
    ['outcome'],
  )
  // From the start: what begins with its first occurrence is no increase.
  for (const outcome of REQUESTED) requests.zero({ outcome })
  for (const outcome of SETTLED) settled.inc({ outcome }, 0)
  const deliverDeps: DeliverDeps = {
    ...parts,
    ...createDeliveryCommits(db),
    batchEventsMax: config.webhookBatchEvents,
    batchBytesMax: config.webhookBatchBytes,
    allowHttp: config.allowHttpWebhooks,
    timeoutMs: config.webhookTimeoutMs,
    policy: {
      retryScheduleMs: config.webhookRetrySchedule,
      retryForMs: config.webhookRetryForMs,
    },
    observe({ outcome, durationMs, events: count }) {
      if (durationMs !== undefined) requests.observe({ outcome }, durationMs / 1000)
      if (SETTLED.has(outcome)) settled.inc({ outcome }, count)
    },
  }
  const dispatcher = createDispatcher({
    log,
    leases,
    wakeups: parts.wakeups,
    discover: createDiscovery(db),
    deliver: (stream, signal, mayGoOn) => deliverBatch(deliverDeps, stream, signal, mayGoOn),
    concurrency: config.dispatcherConcurrency,
    lingerMs: config.webhookBatchLingerMs,
    timeoutMs: config.webhookTimeoutMs,
  })
  metrics.gaugeOf(
    'webhook_dispatcher_steps',
    'Webhooks served by this process now: under way by what is known of their receivers, and in line',
    'place',
    () => ({ ...dispatcher.counts() }),
  )
  return [leases, dispatcher, createBacklog({ db, leases, log, metrics })]
}

function composeSender(parts: Parts): Service[] {
  const { config, keyRing, metrics } = parts
  const leases = parts.leases.sender
  // So that an attempt has the time for a second try.
  const authConfirmDelayMs = Math.min(config.authConfirmDelayMs, config.sendTimeoutMs / 2)
  const pool = createSmtpPool({ ...parts, authConfirmDelayMs, ehloName: heloNameOf(config) })
  const attempts = metrics.histogram('send_attempt_duration_seconds', 'Attempts to send', [
    'outcome',
  ])
  for (const outcome of ATTEMPTED) attempts.zero({ outcome })
  const { services, phishing } = composePhishing(parts)
  const sender = createSender({
    ...parts,
    phishing,
    keyRing,
    leases,
    pool,
    relaySends: createRelaySends({ relays: parts.relays, authConfirmDelayMs }),
    wakeups: parts.queueWakeups,
    trackingUrls: createTrackingUrls({
      tokens: createTrackingTokens(keyRing),
      publicUrl: config.publicUrl,
    }),
    finishes: createFinishAttempts(parts),
    leaseMs: config.sendLeaseMs,
    timeoutMs: config.sendTimeoutMs,
    authConfirmDelayMs,
    retryScheduleMs: config.sendRetrySchedule,
    concurrency: config.senderConcurrency,
    observe: ({ outcome, durationMs }) => attempts.observe({ outcome }, durationMs / 1000),
  })
  metrics.gaugeOf(
    'sender_mailers',
    'Mailers that this process serves otherwise than at full speed now',
    'state',
    () => ({ ...sender.counts() }),
  )
  return [leases, pool, ...services, sender]
}

/** An operator of a paused copy wants to see what waits, too. */
function composeQueueWatch(
  parts: Parts,
  leasesOf: (role: typeof PAUSED_SENDER) => BucketLeases,
): { readonly queueWatch: QueueWatch; readonly services: readonly Service[] } {
  if (!isPaused(parts.config)) {
    const queueWatch = createQueueWatch({ ...parts, leases: parts.leases.sender })
    return { queueWatch, services: [queueWatch] }
  }
  const leases = leasesOf(PAUSED_SENDER)
  const queueWatch = createQueueWatch({ ...parts, leases })
  return { queueWatch, services: [leases, queueWatch] }
}

function composePhishing(parts: Parts) {
  const { db, log, metrics } = parts
  const checks = metrics.counter(
    'phishing_checks_total',
    'Recipients whose email was checked for phishing before an attempt, by what came of it',
    ['outcome'],
  )
  for (const outcome of phishingOutcomes) checks.inc({ outcome }, 0)
  const scanner = createPhishingScanner({ observer: parts.threadJobs })
  const second = composeRspamd(parts)
  const phishing = createPhishingCheck({
    scanner: second === undefined ? scanner : withSecondOpinion(scanner, second.rspamd),
    settings: createFreshSettings({ db, monotonicMs: () => performance.now() }),
    log,
    observe: (outcome) => checks.inc({ outcome }),
  })
  return { services: second === undefined ? [scanner] : [second.egress, scanner], phishing }
}

/** The operator's own service: wherever it is, it may be reached. */
function composeRspamd({ config, descriptors, log, metrics }: Parts) {
  const { rspamdUrl: url } = config
  if (url === undefined) return undefined
  const egress = createEgress({
    allowNetworks: ['0.0.0.0/0', '::/0'],
    dnsServers: config.dnsServers,
    descriptors,
  })
  const requests = metrics.counter(
    'rspamd_checks_total',
    'Emails on which Rspamd was to be asked, by what came of it',
    ['outcome'],
  )
  for (const outcome of rspamdOutcomes) requests.inc({ outcome }, 0)
  const rspamd = createRspamd({
    request: egress.request,
    url,
    log,
    observe: (outcome) => requests.inc({ outcome }),
    monotonicMs: () => performance.now(),
  })
  return { rspamd, egress: closer('rspamd', () => egress.close()) }
}

function composeTracker(parts: Parts): Tracker {
  return createTracker({ ...parts, tokens: createTrackingTokens(parts.keyRing) })
}

function composeFeedback(parts: Parts): Feedback {
  return createFeedback({ ...parts, adapterOf, retentionMs: parts.config.retentionMs })
}

function composeInboundWork(parts: Parts): readonly Service[] {
  const { config, dns } = parts
  const authenticator = createMailAuthenticator({
    name: heloNameOf(config),
    resolver: rememberAnswers(dns),
    observer: parts.threadJobs,
  })
  const work = createInboundWork({
    ...parts,
    publicUrl: config.publicUrl,
    returnPaths: createReturnPathTokens(parts.keyRing),
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
  return [authenticator, ...work]
}

function composeListener(parts: Parts): InboundListener {
  const { clock, config, db, disk, ingest, log, metrics } = parts
  const name = heloNameOf(config)
  const monotonicMs = () => performance.now()
  const returnPaths = createReturnPathTokens(parts.keyRing)
  const prover = createDomainProver({ ...parts, inboundHost: config.inboundHost, monotonicMs })
  const { inboundTlsCert: cert, inboundTlsKey: key } = config
  const files = cert === undefined || key === undefined ? undefined : { cert, key }
  const listener = createInboundListener({
    host: config.host,
    port: config.inboundPort,
    name,
    bytesMax: config.inboundBytesMax,
    recipientsMax: config.inboundRecipientsMax,
    certificate: loadCertificate({
      files,
      ownFile: join(config.dataDir, 'inbound-tls.pem'),
      host: isInboundHostUnnamed(config) ? name : config.inboundHost,
      nowMs: clock.now().getTime(),
      log,
    }),
    certificateFiles: files,
    findRoute: createRouteFinder({ db, prover, returnPaths }).find,
    store: ingest.store,
    disk,
    nowMicros: clock.nowMicros,
    monotonicMs,
    observe: createListenerObserver(metrics),
    log,
  })
  if (config.isInboundPortSet) return listener
  return listenWhenFree(listener, { port: config.inboundPort, log })
}

function composeMailboxes(parts: Parts): Service[] {
  const { config } = parts
  const leases = parts.leases.mailbox
  const mailboxes = createMailboxes({
    ...parts,
    leases,
    authConfirmDelayMs: config.authConfirmDelayMs,
    errorRepeatMs: config.imapErrorRepeatMs,
    messageBytesMax: config.inboundBytesMax,
    retentionMs: config.retentionMs,
    onStored: parts.ingest.wake,
  })
  return [leases, mailboxes, createSentCopies({ ...parts, leases })]
}

function composeDomainWork(parts: Parts): Service {
  const worked = parts.metrics.counter(
    'domain_checks_total',
    'Sending domains that were checked, created or deleted by themselves, by what came of it',
    ['outcome'],
  )
  for (const outcome of domainWorkOutcomes) worked.inc({ outcome }, 0)
  return createDomainWork({
    ...parts,
    random: Math.random,
    observe: (outcome) => worked.inc({ outcome }),
  })
}

function composeJanitor(parts: Parts, o: { readonly databaseUrl: string }): Service[] {
  const { config, db, log } = parts
  const { retentionMs, webhookRetryForMs } = config
  const { databaseUrl } = o
  const groups = retentionDays({ db, webhookRetryForMs, retentionMs })
  return [
    // It asks providers, and tells of domains that a copy cannot see as the service does.
    ...(isPaused(config) ? [] : [composeDomainWork(parts)]),
    createJanitor({ db, log, retentionMs }),
    createFeedbackJanitor({ db, log, retentionMs }),
    createMailboxJanitor({ db, log, retentionMs }),
    createInboundJanitor({ db, log }),
    createAuditJanitor({ db, log, retentionMs: config.auditRetentionMs }),
    createCounterFolder({ db, log }),
    createRetention({ ...parts, check: parts.schema.check, databaseUrl, retentionMs, groups }),
  ]
}
