/**
 * A tracker behind the real HTTP application, on a database of the test file's own, and emails whose
 * links and pixel are followed.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SendEmailBody, Tracking } from '@postrider/contract'
import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify'
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import { type Clock, createClock } from '../src/platform/clock.ts'
import type { Db } from '../src/platform/db/index.ts'
import { createFailpoints } from '../src/platform/failpoints.ts'
import { createHttpApp } from '../src/platform/http/app.ts'
import { newId } from '../src/platform/ids.ts'
import { createMetrics, type Metrics } from '../src/platform/metrics.ts'
import { createTracker, type Tracker } from '../src/tracking/create.ts'
import type { Hit } from '../src/tracking/intake/hit.ts'
import { trackingRoutes } from '../src/tracking/routes.ts'
import { createTrackingTokens } from '../src/tracking/tokens.ts'
import { createTrackingUrls } from '../src/tracking/tracking-urls.ts'
import { BODY_JSON } from '../src/webhooks/events/short-body.ts'
import { createWakeups } from '../src/webhooks/index.ts'
import type { TestDatabase } from './database.ts'
import { accept, keyRing } from './sender.ts'
import { addMailer, createSendingDatabase, silent } from './sending.ts'

export const tokens = createTrackingTokens(keyRing)
export const CHROME =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36'

/** However slow the machine, its database is not away. */
const ANSWER_MS = 30_000

/** One recipient's addresses, as paths. */
export interface TrackedMail {
  readonly tenantId: string
  readonly refId: string
  readonly n: number
  readonly open: string
  readonly unsubscribe: string
  click(link: number): string
}

export interface TrackingWorld {
  readonly db: Db
  readonly url: string
  readonly app: FastifyInstance
  readonly tracker: Tracker
  readonly metrics: Metrics
  /** Delivered a minute ago, unless told otherwise. */
  send(o?: {
    readonly email?: Partial<SendEmailBody>
    readonly tenantId?: string
    readonly n?: number
    readonly deliveredAgoMs?: number | null
  }): Promise<TrackedMail>
  /** With the user agent of a person, unless told otherwise. */
  get(url: string, o?: InjectOptions): Promise<LightMyRequestResponse>
  events(mail: TrackedMail): Promise<readonly TrackedEvent[]>
  /** Another tracker, as another process would have one, or on another way to the database. */
  another(o?: {
    db?: Db
    clock?: Clock
    dataDir?: string
    /** Where hits are before they are answered; in the database, unless told otherwise. */
    firstOn?: 'disk' | 'database'
    answerMs?: number
    trustedProxies?: readonly string[]
    geoipDb?: string
  }): Promise<AnotherTracker>
}

export interface AnotherTracker {
  readonly app: FastifyInstance
  readonly tracker: Tracker
  readonly metrics: Metrics
}

export interface TrackedEvent {
  readonly event: string
  readonly success: boolean
  readonly details: Readonly<Record<string, unknown>> & { readonly tracking: Tracking }
}

export const HTML = `<p><a href="https://shop.example.com/?a=1&amp;b=%20x">Shop</a>
<a href="https://example.com/2">2</a> <a href="https://example.com/3">3</a>
<a href="https://example.com/4">4</a></p>`

export function useTracking(): TrackingWorld {
  let database: TestDatabase
  let first: AnotherTracker
  const dataDir = mkdtempSync(join(tmpdir(), 'postrider-tracking-'))
  const cleanups: (() => Promise<unknown>)[] = []
  const urls = createTrackingUrls({ tokens, publicUrl: '' })

  beforeAll(async () => {
    database = await createSendingDatabase()
  })
  afterAll(async () => {
    rmSync(dataDir, { recursive: true, force: true })
    await database.close()
  })
  beforeEach(async () => {
    first = await another()
  })
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
  })

  async function another(o: Parameters<TrackingWorld['another']>[0] = {}): Promise<AnotherTracker> {
    const metrics = createMetrics()
    const { trustedProxies, geoipDb } = o
    const tracker = createTracker({
      db: o.db ?? database.db,
      clock: o.clock ?? createClock(),
      log: silent,
      metrics,
      wakeups: createWakeups(),
      tokens,
      failpoints: createFailpoints(undefined),
      answerMs: o.answerMs ?? ANSWER_MS,
      config: {
        dataDir: o.dataDir ?? dataDir,
        trackerDurability: o.firstOn ?? 'database',
        trustedProxies,
        geoipDb,
      },
    })
    const app = createHttpApp({ log: silent, metrics, authenticateKey: () => undefined })
    trackingRoutes(app, tracker.routes)
    await app.ready()
    for (const service of tracker.services) await service.start()
    cleanups.push(async () => {
      await app.close()
      for (const service of tracker.services) await service.stop()
    })
    return { app, tracker, metrics }
  }

  return {
    get db() {
      return database.db
    },
    get url() {
      return database.url
    },
    get app() {
      return first.app
    },
    get tracker() {
      return first.tracker
    },
    get metrics() {
      return first.metrics
    },
    another,
    async send({ email = {}, tenantId = newId('tn'), n = 0, deliveredAgoMs = 60_000 } = {}) {
      await addMailer(database.db, { tenantId })
      const settings = { open_tracking: true, click_tracking: true, unsubscribe: true }
      const content = [{ type: 'text/html' as const, value: HTML }]
      const refId = await accept(database.db, { content, settings, ...email }, tenantId)
      if (deliveredAgoMs !== null)
        await database.db.query(
          `update sending_recipient set status = 'delivered', attempts = 1,
             delivered_at = now() - make_interval(secs => $2) where ref_id = $1`,
          [refId, deliveredAgoMs / 1000],
        )
      const who = { tenantId, refId, n }
      return {
        ...who,
        open: urls.openUrl(who),
        unsubscribe: urls.unsubscribeUrl(who),
        click: (link) => urls.clickUrl(who, link),
      }
    },
    get: (url, o = {}) =>
      first.app.inject({ url, headers: { 'user-agent': CHROME }, ...o, method: o.method ?? 'GET' }),
    events: ({ refId }) => eventsOf(database.db, refId),
  }
}

/** Oldest first. */
export async function eventsOf(db: Db, refId: string): Promise<TrackedEvent[]> {
  const { rows } = await db.query<{ body: string }>(
    `select ${BODY_JSON} as body from webhooks_event where ref_id = $1 order by event_at`,
    [refId],
  )
  return rows.map(({ body }) => JSON.parse(body))
}

/** The sums of a recipient; without a row, undefined. */
export async function sumsOf(
  db: Db,
  mail: Pick<Hit, 'refId' | 'n'>,
): Promise<Record<string, unknown> | undefined> {
  const { rows } = await db.query<Record<string, unknown>>(
    `select opens, clicks, bot_opens, bot_clicks, opened_at is not null as opened,
            clicked_at is not null as clicked, unsubscribed_at is not null as unsubscribed
       from tracking_recipient where ref_id = $1 and n = $2`,
    [mail.refId, mail.n],
  )
  return rows[0]
}

export async function hitsOf(db: Db, { refId }: Pick<Hit, 'refId'>) {
  const { rows } = await db.query<{
    kind: string
    link: number | null
    bot: boolean
    rule: string | null
    ip: string
    user_agent: string
  }>(
    'select kind, link, bot, rule, ip, user_agent from tracking_hits where ref_id = $1 order by hit_at, hit_id',
    [refId],
  )
  return rows
}
