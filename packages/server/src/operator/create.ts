/** Makes the operator's view of the whole service: routes that look, and change nothing. */
import { createConcurrencyLimiter } from '@postrider/runtime/concurrency-limiter'
import type { HttpApp } from '../platform/http/app.ts'
import { type OperatorRouteDeps, operatorRoutes } from './routes.ts'

const LOOKS_AT_ONCE = { atOnceMax: 2, atOncePerCallerMax: 2, waitingPerCallerMax: 20 } as const

export function createOperator(deps: Omit<OperatorRouteDeps, 'limiter'>) {
  const limiter = createConcurrencyLimiter({ ...LOOKS_AT_ONCE, name: 'operator-looks-at-once' })
  return { routes: (app: HttpApp) => operatorRoutes(app, { ...deps, limiter }) }
}
