/**
 * Looks up the records of a domain that is configured and not proven, when mail for it arrives: who has
 * published them and never asked again would have its first mail refused for good
 * (docs/reference/inbound.md#ownership).
 *
 * Who sends mail makes us ask name servers by this. So a domain is looked up once at a time and once in
 * ten seconds, and few at once over all; between them the last answer holds. Only domains that a
 * tenant has configured come this far, and two questions are asked, however many tenants have.
 */
import { createBoundedMap } from '@postrider/runtime/bounded-map'
import type { DnsResolver } from '@postrider/runtime/dns'
import { withTimeout } from '@postrider/runtime/timeout'
import type { Clock } from '../../../platform/clock.ts'
import type { Db } from '../../../platform/db/index.ts'
import { ApiError } from '../../../platform/errors.ts'
import type { Logger } from '../../../platform/log.ts'
import type { InboundDomain } from '../domain.ts'
import { listUnproven } from '../domain-store.ts'
import { askNameServers, type Findings, tokensOf } from './look-up-ownership.ts'
import { logSettled, settleLocked } from './settle-ownership.ts'

/** Unknown: name servers or the database did not say, or too many are being looked up. */
export type ProofAnswer = 'proven' | 'unproven' | 'unknown'

export interface DomainProver {
  /** Never rejects. */
  prove(domain: string): Promise<ProofAnswer>
}

export interface DomainProverDeps {
  readonly db: Db
  readonly dns: Pick<DnsResolver, 'txt' | 'mx'>
  readonly clock: Clock
  readonly log: Logger
  readonly inboundHost: string
  readonly monotonicMs: () => number
  readonly lookUpMsMax?: number
}

export const AGAIN_AFTER_MS = 10_000
export const LOOKUPS_AT_ONCE_MAX = 4
const LOOK_UP_MS_MAX = 5_000
/** Of domains whose last answer is known. */
const DOMAINS_MAX = 10_000
/** Of one domain: those whose record was found, then the oldest. Others are proven when they are asked for. */
const TENANTS_MAX = 20

interface LookUp {
  readonly startedMs: number
  readonly answer: Promise<ProofAnswer>
}

export function createDomainProver(deps: DomainProverDeps): DomainProver {
  const { log, monotonicMs, lookUpMsMax = LOOK_UP_MS_MAX } = deps
  const latest = createBoundedMap<string, LookUp>(DOMAINS_MAX)
  let underWay = 0

  async function lookUp(domain: string): Promise<ProofAnswer> {
    underWay += 1
    // Held until it has really ended, also when nobody waits for it any more.
    const work = proveForAnyone(deps, domain).finally(() => {
      underWay -= 1
    })
    try {
      return await withTimeout(work, lookUpMsMax)
    } catch (error) {
      log.warn({ err: error, domain }, 'inbound_domain.not_looked_up')
      return 'unknown'
    }
  }

  return {
    async prove(domain) {
      const startedMs = monotonicMs()
      const before = latest.get(domain)
      if (before !== undefined && startedMs - before.startedMs < AGAIN_AFTER_MS)
        return before.answer
      if (underWay >= LOOKUPS_AT_ONCE_MAX) return 'unknown'
      const answer = lookUp(domain)
      latest.set(domain, { startedMs, answer })
      return answer
    },
  }
}

async function proveForAnyone(deps: DomainProverDeps, domain: string): Promise<ProofAnswer> {
  const findings = await askNameServers(deps.dns, domain)
  const tokens = tokensOf(findings)
  const unproven = await listUnproven(deps.db, { domain, tokens, limit: TENANTS_MAX })
  for (const one of unproven) if (await settle(deps, one, findings)) return 'proven'
  const { txt, mx } = findings
  return txt.kind === 'unknown' || mx.kind === 'unknown' ? 'unknown' : 'unproven'
}

/** Whether anybody has it now. */
async function settle(
  deps: DomainProverDeps,
  domain: InboundDomain,
  findings: Findings,
): Promise<boolean> {
  try {
    const settled = await deps.db.transaction((tx) => settleLocked(tx, deps, domain, findings))
    logSettled(deps.log, domain, settled)
    return settled.isProven
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return error.code === 'domain_taken'
  }
}
