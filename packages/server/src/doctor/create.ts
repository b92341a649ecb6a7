/**
 * The checks of `postrider doctor` for getHealth: the same code, on the database of the running service. One look
 * at a time serves all who ask, for ten seconds, and nobody waits for longer than a time limit.
 */
import type { HealthCheck } from '@postrider/contract'
import { withTimeout } from '@postrider/runtime/timeout'
import type { Config } from '../config.ts'
import type { Db } from '../platform/db/index.ts'
import { reasonOf } from '../platform/errors.ts'
import { examineRunning } from './examine.ts'
import type { Finding } from './examine-work.ts'
import { fixOf } from './fixes.ts'

export interface ServiceHealth {
  readonly checkedAt: Date
  readonly checks: readonly HealthCheck[]
}

const SERVES_MS = 10_000
const TIMEOUT_MS = 15_000

export function createServiceDoctor(o: {
  readonly db: Db
  readonly config: Config
  /** For tests. */
  readonly examine?: () => Promise<readonly Finding[]>
  readonly timeoutMs?: number
}): () => Promise<ServiceHealth> {
  const { timeoutMs = TIMEOUT_MS } = o
  const examine = o.examine ?? (() => examineRunning(o.db, o.config))
  let underWay: Promise<ServiceHealth> | undefined
  let last: { readonly health: ServiceHealth; readonly atMs: number } | undefined
  const look = async (): Promise<ServiceHealth> => {
    const findings = await examine().catch((error: unknown): Finding[] => [
      { check: 'database', state: 'failed', detail: reasonOf(error) },
    ])
    const health = toHealth(findings)
    last = { health, atMs: performance.now() }
    return health
  }
  return async () => {
    if (last !== undefined && performance.now() - last.atMs < SERVES_MS) return last.health
    // A look that takes long goes on, and no second one begins beside it.
    underWay ??= look().finally(() => {
      underWay = undefined
    })
    return await withTimeout(underWay, timeoutMs, () =>
      toHealth([
        {
          check: 'database',
          state: 'failed',
          detail: `the checks take longer than ${timeoutMs / 1000} s`,
        },
      ]),
    )
  }
}

function toHealth(findings: readonly Finding[]): ServiceHealth {
  const checks = findings.map(({ check, state, detail }) => {
    return { check, state, detail, fix: fixOf({ check, state }) }
  })
  return { checkedAt: new Date(), checks }
}
