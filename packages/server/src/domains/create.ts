/** Makes sending domains: their routes, and what checks them by itself. */

import type { ConcurrencyLimiter } from '@postrider/runtime/concurrency-limiter'
import type { DnsResolver } from '@postrider/runtime/dns'
import type { MailerKey } from '../mailers/index.ts'
import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/db/index.ts'
import type { HttpApp } from '../platform/http/app.ts'
import { createRateLimit } from '../platform/limits/rate-limit.ts'
import type { Logger } from '../platform/log.ts'
import type { Metrics } from '../platform/metrics.ts'
import type { KeyRing } from '../platform/secrets/index.ts'
import type { Relays } from '../relays/index.ts'
import type { Wakeups } from '../webhooks/index.ts'
import { createDomainWork, domainWorkOutcomes } from './check/worker.ts'
import { domainRoutes } from './routes.ts'

export interface DomainsDeps {
  readonly db: Db
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
  readonly keyRing: KeyRing
  readonly dns: DnsResolver
  readonly relays: Relays
  readonly wakeups: Wakeups
  readonly wakeMail: (key: MailerKey) => void
  /** Of checks of domains, shared with inbound. */
  readonly checks: ConcurrencyLimiter
  /** Whether this process checks domains by itself. */
  readonly isChecking: boolean
}

/** Nothing runs before its services start. */
export function createDomains(deps: DomainsDeps) {
  const boundsOf = (name: string) => ({
    limit: createRateLimit({ name, usesMax: 60, windowS: 60 }),
    limiter: deps.checks,
  })
  return {
    services: deps.isChecking ? [createCountedWork(deps)] : [],
    routes: (app: HttpApp) =>
      domainRoutes(app, {
        ...deps,
        random: Math.random,
        checks: boundsOf('failed-domains'),
        verifications: boundsOf('domain-checks'),
      }),
  }
}

function createCountedWork(deps: DomainsDeps) {
  const worked = deps.metrics.counterOf(
    'domain_checks_total',
    'Sending domains that were checked, created or deleted by themselves, by what came of it',
    'outcome',
    domainWorkOutcomes,
  )
  return createDomainWork({
    ...deps,
    random: Math.random,
    observe: worked,
  })
}
