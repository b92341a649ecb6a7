/** Makes alerts: their routes, the watch that makes them and the worker that delivers them. */
import type { Service } from '@postrider/runtime/service'
import type { HttpApp } from '../platform/http/app.ts'
import { countQueued } from '../sending/index.ts'
import { createUsageCounts } from '../tenants/index.ts'
import { createAlertDelivery, type DeliverDeps } from './deliver.ts'
import type { ReceiverDeps } from './receiver.ts'
import { alertRoutes } from './routes.ts'
import { createAlertWatch, type WatchDeps } from './watch.ts'

export interface AlertsDeps
  extends ReceiverDeps,
    Omit<DeliverDeps, 'allowHttp' | 'db' | 'keyRing'>,
    Pick<WatchDeps, 'disk'> {
  readonly config: {
    readonly alertAfterMs: number
    readonly allowHttpWebhooks: boolean
    readonly retentionMs: number
    readonly contentRetentionMs: number
  }
}

/** Nothing runs before its services start. */
export function createAlerts(deps: AlertsDeps) {
  const { alertAfterMs: afterMs, allowHttpWebhooks: allowHttp } = deps.config
  const { retentionMs, contentRetentionMs } = deps.config
  const usageCounts = createUsageCounts({
    db: deps.db,
    retentionMs,
    contentRetentionMs,
    countQueued,
  })
  const delivery = createAlertDelivery({ ...deps, allowHttp })
  const watch = createAlertWatch({ ...deps, usageCounts, afterMs, onTold: delivery.wake })
  const services: readonly Service[] = [delivery, watch]
  return {
    /** Of one process that may send. */
    services,
    routes: (app: HttpApp) => alertRoutes(app, deps),
  }
}
