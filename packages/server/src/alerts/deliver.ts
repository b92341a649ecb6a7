/**
 * Delivers alerts: of each receiver one after the other, in the order in which they were made, each until it is
 * accepted, for a day. A receiver that hangs or fails holds its own place alone.
 *
 * What was sent and could not be settled, as its process was killed, is sent again with the same `webhook-id`.
 */
import type { Alert } from '@postrider/contract'
import type { Service } from '@postrider/runtime/service'
import type { Db } from '../platform/db/index.ts'
import { type Egress, EgressError } from '../platform/egress/index.ts'
import type { Failpoints } from '../platform/failpoints.ts'
import type { Logger } from '../platform/log.ts'
import { type KeyRing, SealedValueError } from '../platform/secrets/index.ts'
import { createLoop } from '../platform/work/loop.ts'
import { openUrl } from './receiver.ts'
import {
  DELIVERY_CLAIM_MS,
  type Delivery,
  type DeliveryKey,
  deliveryJobs,
  findDue,
  getReceiver,
  noteOutcome,
} from './receiver-store.ts'
import { isSlack, toSlack } from './slack.ts'

export interface DeliverDeps {
  readonly db: Db
  readonly log: Logger
  readonly egress: Egress
  readonly keyRing: KeyRing
  readonly failpoints: Failpoints
  /** ALLOW_HTTP_WEBHOOKS: a URL may have been stored when it was set. */
  readonly allowHttp: boolean
  readonly sweepMs?: number
  readonly waitsMs?: readonly number[]
  readonly keptMs?: number
}

export interface AlertDelivery extends Service {
  wake(): void
  /** What is due now, until nothing is. For tests. */
  runOnce(): Promise<void>
}

const AT_ONCE_MAX = 50
const TIMEOUT_MS = 10_000
const SWEEP_MS = 2_000
/** The last repeats. */
const WAITS_MS = [5_000, 30_000, 120_000, 600_000]
/** The last attempt is made after it. */
const KEPT_MS = 24 * 3_600_000
const ERROR_LENGTH_MAX = 200

type Outcome = { readonly error: string | undefined } | 'stopped' | 'busy'

export function createAlertDelivery(deps: DeliverDeps): AlertDelivery {
  const { db, log } = deps
  const underWay = new Map<string, Promise<void>>()
  let stopping = new AbortController()

  /** Answers how many begin. */
  async function begin(): Promise<number> {
    const limit = AT_ONCE_MAX - underWay.size
    if (limit <= 0) return 0
    const due = await findDue(db, { except: [...underWay.keys()], limit })
    const claimed = await db.transaction((tx) => deliveryJobs.claim(tx, due, DELIVERY_CLAIM_MS))
    for (const delivery of claimed) {
      const ended = deliver(delivery)
        .catch((error: unknown) => log.warn({ err: error }, 'alert_delivery.failed'))
        .finally(() => {
          underWay.delete(delivery.tenantId)
          loop.wake()
        })
      underWay.set(delivery.tenantId, ended)
    }
    return claimed.length
  }

  async function deliver(delivery: Delivery): Promise<void> {
    const outcome = await send(deps, delivery, stopping.signal)
    deps.failpoints.hit('alerts.after_post')
    if (outcome === 'stopped') return
    await settle(deps, delivery, outcome)
  }

  const loop = createLoop({
    ...{ name: 'alert delivery', log, failed: 'alert_deliveries.not_found' },
    sweepMs: deps.sweepMs ?? SWEEP_MS,
    pass: async () => void (await begin()),
  })

  return {
    name: 'alert delivery',
    wake: () => loop.wake(),
    async start() {
      stopping = new AbortController()
      await loop.start()
    },
    async stop() {
      await loop.stop()
      stopping.abort()
      await Promise.all(underWay.values())
    },
    async runOnce() {
      while ((await begin()) > 0) await Promise.all(underWay.values())
    },
  }
}

async function send(deps: DeliverDeps, delivery: Delivery, signal: AbortSignal): Promise<Outcome> {
  const { tenantId, deliveryId } = delivery
  try {
    const receiver = await getReceiver(deps.db, tenantId)
    // Removed with what waits for it.
    if (receiver === undefined) return 'stopped'
    const url = new URL(openUrl(deps.keyRing, tenantId, receiver.urlSealed))
    if (!deps.allowHttp && url.protocol === 'http:')
      return { error: 'url_not_allowed: http: URLs are not allowed here' }
    const alert = JSON.parse(delivery.body) as Alert
    const { status } = await deps.egress.request({
      poolKey: `alerts ${tenantId}`,
      url,
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        'User-Agent': 'Postrider',
        'webhook-id': deliveryId,
      },
      body: isSlack(url) ? JSON.stringify(toSlack(alert)) : delivery.body,
      timeoutMs: TIMEOUT_MS,
      signal,
    })
    return { error: status >= 200 && status < 300 ? undefined : `The receiver answered ${status}` }
  } catch (error) {
    if (error instanceof SealedValueError)
      return { error: 'configuration: the URL cannot be decrypted' }
    if (!(error instanceof EgressError)) throw error
    if (signal.aborted || error.code === 'aborted') return 'stopped'
    if (error.code === 'busy') return 'busy'
    // What it says may name the URL.
    return { error: error.code }
  }
}

async function settle(
  { db, log, waitsMs = WAITS_MS, keptMs = KEPT_MS }: DeliverDeps,
  delivery: Delivery,
  outcome: { readonly error: string | undefined } | 'busy',
): Promise<void> {
  if (outcome === 'busy') {
    await db.transaction((tx) =>
      deliveryJobs.putOff(tx, [{ ...delivery, waitMs: 1_000, isTry: false }]),
    )
    return
  }
  const error = outcome.error?.slice(0, ERROR_LENGTH_MAX)
  const isOver = Date.now() - delivery.createdAt.getTime() >= keptMs
  const waitMs = waitsMs[delivery.tries - 1] ?? waitsMs.at(-1) ?? 0
  await db.transaction(async (tx) => {
    const [held] = await deliveryJobs.hold(tx, [delivery])
    if (held === undefined) return
    await noteOutcome(tx, delivery.tenantId, error)
    if (error === undefined || isOver) await deliveryJobs.end(tx, [delivery])
    else await deliveryJobs.putOff(tx, [{ ...delivery, waitMs, isTry: true }])
  })
  log[error === undefined ? 'info' : 'warn'](
    { ...idsOf(delivery), attempt: delivery.tries, error },
    error === undefined ? 'alert.delivered' : isOver ? 'alert.given_up' : 'alert.not_delivered',
  )
}

function idsOf({ tenantId, deliveryId }: DeliveryKey) {
  return { tenant_id: tenantId, delivery_id: deliveryId }
}
