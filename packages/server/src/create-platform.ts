/** Makes what all capabilities are made from: the database, the network, keys, metrics, and leases. */

import { randomBytes } from 'node:crypto'
import { createDnsResolver } from '@postrider/runtime/dns'
import type { Build } from './build.ts'
import type { Config } from './config.ts'
import { heloNameOf } from './ehlo-hostname.ts'
import { migrationsDir } from './operator-database.ts'
import { createClock } from './platform/clock.ts'
import {
  createDb,
  createNotifications,
  createSchemaFence,
  type Db,
  type Notifications,
  type Others,
} from './platform/db/index.ts'
import { createBucketLeases } from './platform/db/leases.ts'
import { createEgress } from './platform/egress/index.ts'
import { createFailpoints } from './platform/failpoints.ts'
import type { Logger } from './platform/log.ts'
import { createMetrics, type Metrics } from './platform/metrics.ts'
import { createDescriptors } from './platform/process/descriptors.ts'
import { createDiskGuard, noDiskGuard } from './platform/process/disk-guard.ts'
import { createThreadJobsObserver } from './platform/process/observe-threads.ts'
import { createWatchdog } from './platform/process/watchdog.ts'
import { createKeyRing, withRetired } from './platform/secrets/index.ts'
import type { Secrets } from './platform/secrets/secrets-file.ts'
import { createTracing } from './platform/tracing/tracing.ts'
import { trackingKeys } from './sealed-columns.ts'

/** Whose work is divided among its processes by buckets. */
const LEASED_ROLES = ['dispatcher', 'sender', 'mailbox'] as const
type LeasedRole = (typeof LEASED_ROLES)[number]

export interface ProcessOptions {
  readonly build: Build
  readonly config: Config
  readonly secrets: Secrets
  readonly databaseUrl: string
  readonly log: Logger
  /** What `checkKeys` answered. */
  readonly retiredKeys?: readonly Buffer[]
}

export type Platform = ReturnType<typeof createPlatform>

/** Under the names that capabilities give it. */
export function createPlatform(o: ProcessOptions) {
  const { config, databaseUrl, log } = o
  const metrics = createMetrics()
  metrics.collectProcess()
  const everyMs = config.leaseTtlMs / 3
  const schema = createSchemaFence({ dir: migrationsDir, db: () => db, everyMs, log })
  const db: Db = createDb({
    url: databaseUrl,
    poolMax: config.databasePool,
    log,
    applicationName: 'postrider',
    check: schema.check,
  })
  const descriptors = createDescriptors({ log, metrics })
  const notifications = createCountedNotifications({ config, db, log, metrics, url: databaseUrl })
  const memberId = `${process.pid}-${randomBytes(6).toString('hex')}`
  const leasesOf = (role: LeasedRole | 'paused sender') =>
    createBucketLeases({ db, role, memberId, ttlMs: config.leaseTtlMs, log })
  return {
    config,
    log,
    metrics,
    schema,
    db,
    descriptors,
    notifications,
    watchdog: createWatchdog({ log, metrics }),
    clock: createClock(),
    failpoints: createFailpoints(config.failpoints),
    tracing: createTracing({
      log,
      metrics,
      settings: config.tracing,
      version: o.build.version,
      processId: memberId,
    }),
    threadJobs: createThreadJobsObserver({ metrics, log }),
    dns: createDnsResolver({ servers: config.dnsServers, descriptors }),
    egress: createEgress({
      allowNetworks: config.allowNetworks,
      dnsServers: config.dnsServers,
      descriptors,
      ...(config.webhookTlsCa === undefined ? {} : { tlsCaFile: config.webhookTlsCa }),
    }),
    keyRing: withRetired(createKeyRing(o.secrets.secretKeys), {
      purpose: trackingKeys.purpose,
      keys: o.retiredKeys ?? [],
    }),
    disk:
      config.databaseUrl === undefined
        ? createDiskGuard({ dir: config.dataDir, freeMin: config.diskFreeMin, log })
        : noDiskGuard,
    /** New at each start. */
    processId: memberId,
    /** By which this service greets. */
    ehloName: heloNameOf(config),
    /** Leases that are not started own nothing. */
    leasesOf,
    /** This process's part of a role's work, and those who have the other parts. */
    shareOf(role: LeasedRole) {
      const leases = leasesOf(role)
      const others: Others = {
        owned: leases.owned,
        notify: (buckets) => notifications.notify(role, buckets),
        onNotified: (listener) => notifications.onNotified(role, listener),
      }
      return { leases, others }
    },
  }
}

function createCountedNotifications(o: {
  readonly config: Config
  readonly db: Db
  readonly log: Logger
  readonly metrics: Metrics
  readonly url: string
}): Notifications {
  const { config, db, log, url } = o
  const told = o.metrics.counterOf(
    'notifications_total',
    'Notifications between processes: sent, failed to be sent, received',
    'what',
    ['sent', 'failed', 'received'],
  )
  return createNotifications({
    db,
    url,
    log,
    // The embedded database has one process, which nobody tells anything.
    listenTo:
      config.databaseUrl === undefined ? [] : LEASED_ROLES.filter((r) => config.roles.has(r)),
    observe: told,
  })
}
