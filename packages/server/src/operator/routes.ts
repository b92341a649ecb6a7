/** What the operator sees of the whole service (docs/reference/operator.md#health). */
import {
  getHealthAnswer,
  getQueuesAnswer,
  getQueuesQuery,
  getSystemAnswer,
  type HealthCheck,
  type SystemSetting,
  searchAnswer,
  searchQuery,
} from '@postrider/contract'
import type { ConcurrencyLimiter } from '@postrider/runtime/concurrency-limiter'
import type { FastifyInstance } from 'fastify'
import type { Db } from '../platform/db/index.ts'
import { addOperation } from '../platform/http/operation.ts'
import { getSystem } from './get-system.ts'
import { listQueues } from './list-queues.ts'
import { search } from './search.ts'

export interface OperatorRouteDeps {
  readonly db: Db
  readonly isEmbedded: boolean
  readonly settings: () => SystemSetting[]
  readonly examine: () => Promise<{
    readonly checkedAt: Date
    readonly checks: readonly HealthCheck[]
  }>
  /** Of looks at everything: few at once, so that tenants keep their connections. */
  readonly limiter: ConcurrencyLimiter
}

const TAG = 'Administration'
const OPERATOR = 'operator'

export function operatorRoutes(app: FastifyInstance, deps: OperatorRouteDeps): void {
  const { limiter } = deps
  addOperation(app, 'getHealth', {
    summary: 'Check the service, as `postrider doctor` does',
    description:
      'Each check with what was found and what to do. One look serves all who ask within ten seconds. A look that takes longer than 15 seconds is answered as a failed check.',
    tag: TAG,
    answer: getHealthAnswer,
    async handle() {
      const { checkedAt, checks } = await deps.examine()
      const ok = checks.every(({ state }) => state !== 'failed')
      return {
        message: 'Health',
        health: { ok, checked_at: checkedAt.toISOString(), checks: [...checks] },
      }
    },
  })

  addOperation(app, 'getQueues', {
    summary: 'List what waits of mailers and webhooks, over all tenants',
    description:
      'Late ones first, then those whose oldest mail or event has waited for longest. Queues change while pages are read: one that moves may appear twice, or be missed.',
    tag: TAG,
    query: getQueuesQuery,
    answer: getQueuesAnswer,
    errors: ['rate_limited'],
    async handle({ query }) {
      return {
        message: 'Queues',
        ...(await limiter.run(OPERATOR, () => listQueues(deps.db, query))),
      }
    },
  })

  addOperation(app, 'getSystem', {
    summary: 'Get processes, versions, storage and configuration',
    description:
      'Values that may hold a secret are never shown. Sizes and numbers of rows are those of the planner’s statistics.',
    tag: TAG,
    answer: getSystemAnswer,
    errors: ['rate_limited'],
    async handle() {
      return { message: 'System', system: await limiter.run(OPERATOR, () => getSystem(deps)) }
    },
  })

  addOperation(app, 'search', {
    summary: 'Find whose an id, an address or a domain is, over all tenants',
    description:
      'Whole ids, addresses and domains, by index. Recipients are found in emails of the last 90 days, of fewer days where there are more than 200 tenants.',
    tag: TAG,
    query: searchQuery,
    answer: searchAnswer,
    errors: ['rate_limited'],
    async handle({ query }) {
      return {
        message: 'Search',
        ...(await limiter.run(OPERATOR, () => search(deps.db, query.q))),
      }
    },
  })
}
