/**
 * Makes everything from a configuration, one capability after the other by its `create.ts`; the only file that
 * knows all capabilities. Nothing runs before `start`.
 */

import { hostname } from 'node:os'
import { createMail } from '@postrider/mail'
import { createConcurrencyLimiter } from '@postrider/runtime/concurrency-limiter'
import { closer, createServiceGroup, type Service } from '@postrider/runtime/service'
import { createActivity } from './activity/create.ts'
import { createAlerts } from './alerts/create.ts'
import { type Config, isInboundHostUnnamed, isPaused, type Role, roles } from './config.ts'
import { createPlatform, type Platform, type ProcessOptions } from './create-platform.ts'
import { createDashboard } from './dashboard/create.ts'
import { describeSettings } from './describe-settings.ts'
import { createServiceDoctor } from './doctor/create.ts'
import { createDomains } from './domains/create.ts'
import { createFeedback } from './feedback/create.ts'
import { type CreateInboundDeps, createInbound } from './inbound/create.ts'
import { createMailboxes } from './mailboxes/create.ts'
import { createMailers, type Mailers, type MailersDeps } from './mailers/create.ts'
import { createOperator } from './operator/create.ts'
import { createPeople } from './people/create.ts'
import { createCounterFolder } from './platform/counters/counter-folder.ts'
import { createDayPartitions, type Db } from './platform/db/index.ts'
import { createRetention } from './platform/db/partitions/retention.ts'
import { createHttpApp } from './platform/http/app.ts'
import { describeRoutes } from './platform/http/openapi.ts'
import { createHttpServer, type HttpServer } from './platform/http/server.ts'
import { addStatusRoutes } from './platform/http/status-routes.ts'
import { createRateLimit } from './platform/limits/rate-limit.ts'
import { createProcessRegistry } from './platform/process/process-registry.ts'
import type { Secrets } from './platform/secrets/secrets-file.ts'
import { checkReadiness } from './readiness.ts'
import { createRelays } from './relays/create.ts'
import { partitionedTables, retentionDays } from './retention-days.ts'
import { createSending } from './sending/create.ts'
import { createSubmission, type SubmissionDeps } from './submission/create.ts'
import { createSuppressions } from './suppressions/create.ts'
import { tenantTables } from './tenant-tables.ts'
import { createTenants } from './tenants/create.ts'
import { createTracking } from './tracking/create.ts'
import { createWebhooks } from './webhooks/create.ts'

const CHECKS_AT_ONCE = { atOnceMax: 50, atOncePerCallerMax: 5, waitingPerCallerMax: 20 } as const

export interface App extends Service {
  readonly db: Db
  /** The names of its services, in the order in which they start. */
  readonly services: readonly string[]
  /** Where it listens, with the port that was really taken. */
  address(): { readonly host: string; readonly port: number }
  /** Likewise, of the SMTP listener, where it listens. */
  inboundAddress(): { readonly host: string; readonly port: number } | undefined
  /** Likewise, of each port of the submission listener. */
  submissionAddresses(): readonly { readonly host: string; readonly port: number }[]
}

export type ComposeOptions = ProcessOptions

/** In the order of the contract. */
export function rolesOf(config: Config): string[] {
  return roles.filter((role) => config.roles.has(role))
}

export function compose(o: ComposeOptions): App {
  const { config } = o
  const platform = createPlatform(o)
  const { db, log } = platform
  const capabilities = createCapabilities(platform, config)
  const { feedback, inbound, mail, mailboxes, mailers, sending, tracking, webhooks } = capabilities
  const { submission } = capabilities
  const server = createServer(platform, capabilities, o)
  const services: readonly Service[] = [
    closer('database', () => db.close()),
    closer('egress', () => platform.egress.close()),
    closer('dns', async () => platform.dns.close()),
    // Ends after all whose spans it exports.
    ...(platform.tracing === undefined ? [] : [platform.tracing]),
    platform.schema,
    ...mailers.services,
    createDayPartitions({ db, tables: partitionedTables, log }),
    platform.disk,
    platform.notifications,
    createRegistry(platform, o),
    ...webhooks.services,
    ...sending.services,
    ...mailboxes.services,
    ...(config.roles.has('janitor') ? janitorsOf(platform, capabilities, o) : []),
    ...mail.services,
    inbound.intake,
    ...tracking.services,
    ...feedback.services,
    ...inbound.services,
    ...submission.services,
    server,
    // A start compiles much at once, when nobody waits for anything else yet.
    platform.watchdog,
  ]
  return {
    ...createServiceGroup('postrider', services),
    services: services.map(({ name }) => name),
    db,
    address: () => server.address(),
    inboundAddress: inbound.address,
    submissionAddresses: submission.addresses,
  }
}

/** Limits that several capabilities share. */
function createSharedLimits(config: Config) {
  // Of a thousand lookups at once: the rest is for what is sent and dispatched.
  const checks = createConcurrencyLimiter({ ...CHECKS_AT_ONCE, name: 'checks-at-once' })
  return {
    checks,
    domainChecks: createConcurrencyLimiter({ ...CHECKS_AT_ONCE, name: 'domain-checks-at-once' }),
    mailerChecks: {
      limit: createRateLimit({ name: 'mailer-checks', usesMax: 60, windowS: 60 }),
      limiter: checks,
    },
    // Half of the connections are left to others.
    recordReads: createConcurrencyLimiter({
      name: 'record-reads',
      atOnceMax: Math.max(1, Math.floor(config.databasePool * 0.5)),
      atOncePerCallerMax: 2,
      waitingPerCallerMax: 20,
    }),
  }
}

type Parts = ReturnType<typeof partsOf>

/** What of each capability works in this process. */
function partsOf(config: Config) {
  const runs = (role: Role) => config.roles.has(role)
  const works = (role: Role) => runs(role) && !isPaused(config)
  return {
    webhooks: {
      isApi: runs('api'),
      isDispatching: works('dispatcher'),
      isSendingPaused: isPaused(config),
    },
    tracking: { isTracking: runs('tracker') },
    // It asks providers, and tells of domains that a copy cannot see as the service does.
    domains: { isChecking: works('janitor') },
    sending: { isSender: runs('sender'), isPaused: isPaused(config) },
    inbound: {
      isListening: runs('inbound'),
      isReceiving: runs('inbound') || runs('mailbox'),
    },
    submission: { isListening: runs('submission') },
    // A copy would report the mail of a mailbox a second time, and store a second sent copy there.
    mailboxes: { isWatching: works('mailbox') },
  }
}

type Capabilities = ReturnType<typeof createCapabilities>

/** Each is given what those before it made; what is made later is called by a function. */
function createCapabilities(platform: Platform, config: Config) {
  const { leasesOf, shareOf } = platform
  const parts = partsOf(config)
  const { checks, domainChecks, mailerChecks, recordReads } = createSharedLimits(config)
  const mail = createMail(platform)
  const tenants = createTenants({
    ...platform,
    tables: tenantTables,
    removeMembers: (...args) => people.removeMembers(...args),
    countQueued: (...args) => sending.countQueued(...args),
  })
  const people = createPeople({
    ...platform,
    submissionAddress: () => submission.publicAddress(),
  })
  const suppressions = createSuppressions(platform)
  const activity = createActivity({ ...platform, recordReads })
  const webhooks = createWebhooks({
    ...platform,
    ...shareOf('dispatcher'),
    ...parts.webhooks,
    checks,
    recordReads,
  })
  const { receivers, wakeups } = webhooks
  const wakeMail: MailersDeps['wakeMail'] = (mailer) => {
    sending.wakeMailer(mailer)
    mailboxes.wakeMailer(mailer)
  }
  const mailers: Mailers = createMailers({
    ...platform,
    wakeups,
    receivers,
    checks: mailerChecks,
    sendByRelay: (...args) => relays.calls.send(...args),
    wakeMail,
    readMailboxHealth: (...args) => mailboxes.readHealth(...args),
    isInboundDomain: (key) => inbound.isDomainOwned(key),
  })
  const { accessTokens, noteDeactivated, onImapBound } = mailers
  const feedback = createFeedback({ ...platform, ...parts.tracking, wakeups })
  const tracking = createTracking({
    ...platform,
    ...parts.tracking,
    wakeups,
    reports: feedback.inbox,
  })
  const relays = createRelays({
    ...platform,
    deliverCallback: feedback.inbox.store,
    checks: mailerChecks,
    domainsOf: mailers.domainsOfRelay,
    async onChanged(tx, key) {
      const changed = await mailers.noteRelayChanged(tx, key)
      return () => changed.forEach(wakeMail)
    },
  })
  const domains = createDomains({
    ...platform,
    ...parts.domains,
    relays: relays.calls,
    wakeups,
    wakeMail,
    checks: domainChecks,
  })
  const sending = createSending({
    ...platform,
    ...shareOf('sender'),
    ...parts.sending,
    pausedLeases: leasesOf('paused sender'),
    wakeups,
    accessTokens,
    noteDeactivated,
    relays: relays.calls,
    trackingUrls: tracking.urls,
    templates: mail.templates,
    links: mail.links,
    rawReader: mail.rawReader,
  })
  const { inbound, submission, mailboxes } = createIncoming(platform, parts, {
    parser: mail.parser,
    rawReader: mail.rawReader,
    ...{ wakeups, receivers, accessTokens, noteDeactivated, onImapBound },
    noteReports: feedback.noteReports,
    checks: domainChecks,
    authenticateKey: tenants.authenticateKey,
    submit: sending.submit,
  })
  const alerts = createAlerts({ ...platform, receivers })
  return {
    ...{ mail, tenants, people, suppressions, activity, webhooks, mailers, feedback, tracking },
    ...{ relays, domains, sending, inbound, submission, mailboxes, alerts },
  }
}

/** By which mail comes in: from other servers, from programs, and from mailboxes. */
function createIncoming(platform: Platform, parts: Parts, deps: IncomingDeps) {
  const { config, ehloName, shareOf } = platform
  const certificateHost = isInboundHostUnnamed(config) ? ehloName : config.inboundHost
  const { wakeups, receivers, parser, rawReader, noteReports, checks } = deps
  const { authenticateKey, submit, accessTokens, noteDeactivated, onImapBound } = deps
  const inbound = createInbound({
    ...platform,
    ...parts.inbound,
    ...{ parser, wakeups, receivers, noteReports, checks, certificateHost },
  })
  const submission = createSubmission({
    ...platform,
    ...parts.submission,
    ...{ authenticateKey, submit, rawReader, certificateHost },
  })
  const mailboxes = createMailboxes({
    ...platform,
    ...shareOf('mailbox'),
    ...parts.mailboxes,
    ...{ wakeups, accessTokens, noteDeactivated, onImapBound },
    onStored: inbound.wake,
  })
  return { inbound, submission, mailboxes }
}

type IncomingDeps = Pick<
  CreateInboundDeps,
  'parser' | 'wakeups' | 'receivers' | 'noteReports' | 'checks'
> &
  Pick<SubmissionDeps, 'authenticateKey' | 'submit' | 'rawReader'> &
  Pick<Mailers, 'accessTokens' | 'noteDeactivated' | 'onImapBound'>

function createServer(platform: Platform, all: Capabilities, o: ComposeOptions): HttpServer {
  const { config, log, metrics, tracing } = platform
  const app = createHttpApp({
    log,
    metrics,
    tracing,
    authenticateKey: all.tenants.authenticateKey,
    adminToken: o.secrets.adminToken,
    operatorAccess: all.tenants.operatorAccess,
    sessions: all.people.sessions,
    trustedProxies: config.trustedProxies,
    connectionsMax: config.httpConnectionsMax,
  })
  const isApi = config.roles.has('api')
  if (isApi && config.dashboard === 'on') {
    const hasOidc = config.oidcIssuer !== undefined
    createDashboard({ log, hasOidc, isOidcOnly: config.oidcOnly === true }).routes(app)
  }
  if (isApi) describeRoutes(app, { publicUrl: config.publicUrl, version: o.build.version })
  const listener = all.inbound.readiness
  const submission = all.submission.readiness
  const queueWatch = all.sending.readiness
  addStatusRoutes(app, {
    metrics,
    facts: () => ({ ...o.build, roles: rolesOf(config) }),
    readiness: () => checkReadiness({ ...platform, listener, submission, queueWatch }),
  })
  all.tracking.routes(app)
  all.feedback.routes(app)
  // The description of the routes needs to be in place before they are added; it is in their order.
  if (isApi)
    app.register(async (scope) => {
      const { tenants, people, webhooks, mailers, relays, domains, inbound, suppressions } = all
      const { sending } = all
      for (const { routes } of [tenants, people, webhooks, mailers, relays, domains]) routes(scope)
      for (const { routes } of [inbound, suppressions]) routes(scope)
      sending.routes(scope)
      all.tracking.apiRoutes(scope)
      all.activity.routes(scope)
      all.alerts.routes(scope)
      sending.laterRoutes(scope)
      operatorOf(platform, o.secrets).routes(scope)
    })
  return createHttpServer(app, { host: config.host, port: config.port })
}

function operatorOf({ config, db }: Platform, secrets: Secrets) {
  return createOperator({
    db,
    isEmbedded: config.databaseUrl === undefined,
    settings: () => describeSettings(config, secrets),
    examine: createServiceDoctor({ db, config }),
  })
}

function createRegistry(platform: Platform, { build }: ComposeOptions) {
  const { config, db, log, metrics, processId } = platform
  const facts = { processId, host: hostname(), roles: rolesOf(config), node: process.version }
  return createProcessRegistry({ db, log, metrics, facts: { ...facts, ...build } })
}

function janitorsOf(platform: Platform, all: Capabilities, o: ComposeOptions): Service[] {
  const { config, db, log, schema } = platform
  const { databaseUrl } = o
  const groups = retentionDays({ db, ...config })
  const { retentionMs } = config
  return [
    ...all.domains.services,
    // A copy that sends nothing has no alerts of its own.
    ...(isPaused(config) ? [] : all.alerts.services),
    all.sending.janitor,
    all.feedback.janitor,
    all.mailboxes.janitor,
    all.inbound.janitor,
    all.tenants.janitor,
    all.tenants.deletions,
    all.people.janitor,
    all.suppressions.janitor,
    createCounterFolder({ db, log }),
    createRetention({ ...platform, check: schema.check, databaseUrl, retentionMs, groups }),
  ]
}
