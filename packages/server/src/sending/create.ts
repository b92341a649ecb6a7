/** Makes sending: what accepts emails in every role, the send queue, and what watches that queue. */
import type { LinkFinder, RawReader, TemplateRenderer } from '@postrider/mail'
import { createConcurrencyLimiter } from '@postrider/runtime/concurrency-limiter'
import { type BucketLeases, bucketOf, type Others } from '../platform/db/index.ts'
import type { HttpApp } from '../platform/http/app.ts'
import type { DiskGuard } from '../platform/process/disk-guard.ts'
import { createUsageCounts } from '../tenants/index.ts'
import { createAcceptEmails } from './accept/accept-email.ts'
import { createAcceptSubmitted } from './accept/accept-submitted.ts'
import { createAcceptedMail } from './accept/accepted-mail.ts'
import { createKeysInProgress } from './accept/idempotency.ts'
import { batchRoutes } from './batch/routes.ts'
import { previewRoute } from './content/preview/routes.ts'
import { contentRoutes } from './content/routes.ts'
import { createSendingJanitor } from './janitor.ts'
import { phishingRoutes } from './phishing/routes.ts'
import { createSendQueue, type SendQueueDeps } from './queue/create.ts'
import { createQueueWakeups } from './queue/queue-wakeups.ts'
import { createQueueWatch } from './queue-watch/queue-watch.ts'
import { countQueued } from './queue-watch/tenant-store.ts'
import { rescueRoutes } from './rescue/routes.ts'
import { sendRoutes } from './routes.ts'
import { templatePreviewRoute } from './templates/preview/routes.ts'
import { templateRoutes } from './templates/routes.ts'
import { waitingRoutes } from './waiting/routes.ts'

export interface SendingDeps extends SendQueueDeps {
  readonly disk: DiskGuard
  /** The other processes with the role `sender`. */
  readonly others: Others
  /** Processes whose sending is paused divide the queue by these, and take no bucket from a sender. */
  readonly pausedLeases: BucketLeases
  readonly templates: TemplateRenderer
  readonly links: Pick<LinkFinder, 'find'>
  readonly rawReader: Pick<RawReader, 'read'>
  /** Whether this process has the role `sender`. */
  readonly isSender: boolean
  /** Accepts, and sends nothing. */
  readonly isPaused: boolean
  readonly config: SendQueueDeps['config'] & {
    readonly retentionMs: number
    readonly contentRetentionMs: number
    readonly sendMaxAttempts: number
  }
}

const EXPIRES_IN_MS = 3 * 24 * 3_600_000
/** Rescues and the like: each changes up to 10,000 rows. */
const BULK_CHANGES_AT_ONCE = {
  atOnceMax: 2,
  atOncePerCallerMax: 1,
  waitingPerCallerMax: 20,
} as const

/** Of one tenant: one is made ready while the other is committed. */
const BATCHES_AT_ONCE = { atOnceMax: 4, atOncePerCallerMax: 2, waitingPerCallerMax: 20 } as const

/** Each holds an email with its attachments while it is read and sent. */
const CONTENTS_AT_ONCE = { atOnceMax: 6, atOncePerCallerMax: 1, waitingPerCallerMax: 20 } as const

/** Nothing runs before its services start. */
export function createSending(deps: SendingDeps) {
  const { config, db, isPaused, isSender, log } = deps
  const { retentionMs, contentRetentionMs } = config
  const usageCounts = createUsageCounts({ db, retentionMs, contentRetentionMs, countQueued })
  const wakeups = createQueueWakeups(deps.others)
  const isServedHere = (mailerId: string) => deps.leases.owned().has(bucketOf(mailerId))
  const acceptedMail = isSender && !isPaused ? createAcceptedMail(isServedHere) : undefined
  const queue = acceptedMail === undefined ? [] : createSendQueue(deps, wakeups, acceptedMail)
  const watch = isSender ? createWatch(deps) : undefined
  const accepting = {
    emails: createAcceptEmails({ ...deps, usageCounts, acceptedMail }),
    templates: deps.templates,
    links: deps.links,
    log,
    keysInProgress: createKeysInProgress(),
    wakeups,
    defaults: { maxAttempts: config.sendMaxAttempts, expiresInMs: EXPIRES_IN_MS },
  }
  return {
    /** A message that a program hands in over SMTP. */
    submit: createAcceptSubmitted({ ...accepting, rawReader: deps.rawReader }),
    /** After a change of a mailer. */
    wakeMailer({ tenantId, mailerId }: { readonly tenantId: string; readonly mailerId: string }) {
      wakeups.wake([{ tenantId, mailerId, bucket: bucketOf(mailerId), isChanged: true }])
    },
    countQueued,
    services: [...queue, ...(watch?.services ?? [])],
    janitor: createSendingJanitor({ db, log, retentionMs }),
    /** What `/readyz` tells of the queue. */
    readiness: watch?.queueWatch,
    routes(app: HttpApp) {
      phishingRoutes(app, { db })
      templateRoutes(app, { db, renderer: deps.templates })
      templatePreviewRoute(app, { db, renderer: deps.templates })
      const sendDeps = { ...accepting, db, tracing: deps.tracing }
      sendRoutes(app, sendDeps)
      const limiter = createConcurrencyLimiter({ ...BATCHES_AT_ONCE, name: 'batches-at-once' })
      batchRoutes(app, { ...sendDeps, limiter })
    },
    /** Described after the routes of activity. */
    laterRoutes(app: HttpApp) {
      const name = 'bulk-changes-at-once'
      const limiter = createConcurrencyLimiter({ ...BULK_CHANGES_AT_ONCE, name })
      rescueRoutes(app, {
        ...{ ...deps, wakeups, retentionMs, contentRetentionMs },
        limiter,
        usageCounts,
      })
      waitingRoutes(app, { ...deps, wakeups, limiter })
      const contents = createConcurrencyLimiter({ ...CONTENTS_AT_ONCE, name: 'contents-at-once' })
      contentRoutes(app, { ...deps, limiter: contents })
      previewRoute(app, { db, limiter: contents })
    },
  }
}

/** An operator of a paused copy wants to see what waits, too. */
function createWatch(deps: SendingDeps) {
  const { isPaused, pausedLeases } = deps
  const leases = isPaused ? pausedLeases : deps.leases
  const queueWatch = createQueueWatch({ ...deps, leases })
  return { queueWatch, services: isPaused ? [leases, queueWatch] : [queueWatch] }
}
