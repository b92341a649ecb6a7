/** Makes relay providers: the calls to their APIs, and the routes of their accounts. */
import { relayKinds } from '@postrider/contract'
import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/db/index.ts'
import type { Egress } from '../platform/egress/index.ts'
import type { HttpApp } from '../platform/http/app.ts'
import type { CheckBounds } from '../platform/limits/counted-check.ts'
import { type Metrics, requestSeconds } from '../platform/metrics.ts'
import type { KeyRing } from '../platform/secrets/index.ts'
import { adapterOf } from './adapters.ts'
import { createRelayCalls, type RelaysDeps } from './call-relays.ts'
import { requestResults } from './make-request.ts'
import { type RelayRoutesDeps, relayRoutes } from './routes.ts'

export function createRelays(
  deps: {
    readonly db: Db
    readonly clock: Clock
    readonly metrics: Metrics
    readonly keyRing: KeyRing
    readonly egress: Egress
    /** Of lookups of hosts. */
    readonly checks: CheckBounds
    readonly config: { readonly publicUrl: string }
  } & Pick<RelaysDeps, 'deliverCallback'> &
    Pick<RelayRoutesDeps, 'domainsOf' | 'onChanged'>,
) {
  return {
    calls: createRelayCalls({ ...deps, adapterOf, observe: createRequestObserver(deps.metrics) }),
    routes: (app: HttpApp) =>
      relayRoutes(app, { ...deps, adapterOf, publicUrl: deps.config.publicUrl }),
  }
}

function createRequestObserver(metrics: Metrics): NonNullable<RelaysDeps['observe']> {
  const requests = metrics.histogram(
    'relay_request_duration_seconds',
    'Requests to relay providers, by what came of them',
    ['relay', 'result'],
    requestSeconds,
  )
  for (const relay of relayKinds)
    for (const result of requestResults) if (relay !== 'simulator') requests.zero({ relay, result })
  return ({ kind, result, durationMs }) =>
    requests.observe({ relay: kind, result }, durationMs / 1000)
}
