/** Makes tracking: tokens and addresses for every role, and what the role `tracker` is made of. */
import { join } from 'node:path'
import { createUserAgentReader } from '@postrider/mail'
import type { Service } from '@postrider/runtime/service'
import type { FeedbackInbox } from '../feedback/index.ts'
import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/db/index.ts'
import type { Failpoints } from '../platform/failpoints.ts'
import type { HttpApp } from '../platform/http/app.ts'
import { createClientAddress } from '../platform/http/client-address.ts'
import type { Logger } from '../platform/log.ts'
import type { Metrics } from '../platform/metrics.ts'
import type { KeyRing } from '../platform/secrets/index.ts'
import type { Wakeups } from '../webhooks/index.ts'
import { createGeoip } from './geoip/geoip.ts'
import { packagedGeoip } from './geoip/packaged-geoip.ts'
import { createFloodGuard } from './intake/flood-guard.ts'
import { createHitIntake, type HitIntake } from './intake/hit-intake.ts'
import { createHitObserver, type HitObserver } from './record/observe-hits.ts'
import { createHitRecorder } from './record/record-hits.ts'
import { trackingRoutes } from './routes.ts'
import { simulateRoutes } from './simulate/routes.ts'
import { createHitSpool } from './spool/hit-spool.ts'
import { createTrackingTokens, type TrackingTokens } from './tokens.ts'
import { createTrackingUrls } from './tracking-urls.ts'

export interface TrackerDeps {
  readonly db: Db
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
  readonly wakeups: Wakeups
  readonly tokens: TrackingTokens
  readonly failpoints: Failpoints
  readonly answerMs?: number
  readonly config: {
    readonly dataDir: string
    readonly trackerDurability: 'disk' | 'database'
    readonly geoipDb: string | undefined
    readonly trustedProxies: readonly string[] | undefined
  }
}

export interface Tracker {
  readonly services: readonly Service[]
  /** What its routes need. */
  readonly routes: {
    readonly tokens: TrackingTokens
    readonly intake: HitIntake
    readonly clientAddress: ReturnType<typeof createClientAddress>
    readonly clock: Clock
    readonly observe: HitObserver
  }
}

const GROUP_SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]

/** Throws when a location file cannot be read. Nothing runs before its services start. */
export function createTracking(
  deps: Omit<TrackerDeps, 'tokens'> & {
    readonly keyRing: KeyRing
    /** Whether this process has the role `tracker`. */
    readonly isTracking: boolean
    /** Takes what is reported of test mail. */
    readonly reports: Pick<FeedbackInbox, 'store'>
    readonly config: { readonly publicUrl: string }
  },
) {
  const tokens = createTrackingTokens(deps.keyRing)
  const tracker = deps.isTracking ? createTracker({ ...deps, tokens }) : undefined
  return {
    /** For the messages that are sent. */
    urls: createTrackingUrls({ tokens, publicUrl: deps.config.publicUrl }),
    services: tracker?.services ?? [],
    /** Public ones: none without the role. */
    routes(app: HttpApp) {
      if (tracker !== undefined) trackingRoutes(app, tracker.routes)
    },
    /** What is done with test mail comes from nowhere, and counts in no metric of the tracker. */
    apiRoutes(app: HttpApp) {
      const recorder = createHitRecorder({
        ...deps,
        readUserAgent: createUserAgentReader(),
        locateAddress: createGeoip([]),
        observeGroup: () => undefined,
      })
      simulateRoutes(app, { ...deps, recorder })
    },
  }
}

/** What the role `tracker` is made of. Throws when a location file cannot be read. */
export function createTracker(deps: TrackerDeps): Tracker {
  const { config, clock, db, log, metrics, tokens } = deps
  const hits = metrics.counter(
    'tracking_hits_total',
    'Requests for pixels and links and to unsubscribe, by what came of them',
    ['kind', 'result'],
  )
  const groups = metrics.histogram(
    'tracking_group_size',
    'Hits that were recorded in one transaction',
    [],
    GROUP_SIZES,
  )
  const observe = createHitObserver({
    log,
    count: (kind, result, by) => hits.inc({ kind, result }, by),
    countGroup: (size) => groups.observe({}, size),
  })
  const spool = createHitSpool({ dir: join(config.dataDir, 'hits') })
  const intake = createHitIntake({
    db,
    spool,
    log,
    failpoints: deps.failpoints,
    firstOn: config.trackerDurability,
    answerMs: deps.answerMs,
    floods: createFloodGuard(),
    recorder: createHitRecorder({
      ...deps,
      readUserAgent: createUserAgentReader(),
      locateAddress: createGeoip(config.geoipDb === undefined ? packagedGeoip() : [config.geoipDb]),
      observeGroup: observe.group,
    }),
    observe: (hit, result) => observe.result(hit.kind, result),
  })
  metrics.gaugeOf(
    'tracking_spool',
    'Hits kept in files until they are in the database: their bytes, the age of the oldest file, and whether the database is away',
    'what',
    () => ({
      bytes: spool.bytes,
      oldest_seconds: spool.oldestMs / 1000,
      database_away: intake.isDatabaseAway ? 1 : 0,
    }),
  )
  const clientAddress = createClientAddress(config.trustedProxies ?? [])
  return { services: [intake], routes: { tokens, intake, clientAddress, clock, observe } }
}
