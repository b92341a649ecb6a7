/**
 * Checks domains by themselves, and goes on with creations and deletions that somebody's end or a
 * provider's failure has left (role janitor). Any number of processes share the work: a row that one
 * has claimed is not due for the others until its lease is over.
 */
import type { Logger } from '../../platform/log.ts'
import { startTrace } from '../../platform/trace.ts'
import { createPeriodicTask, type PeriodicTask } from '../../platform/work/periodic-task.ts'
import { type CreateDeps, createAtProvider, STAGE_LEASE_MS } from '../add/create-at-provider.ts'
import { deleteAtProvider } from '../change/delete-at-provider.ts'
import type { SendingDomain } from '../domain.ts'
import { claimDue, takeTurn } from '../stage-store.ts'
import { type CheckDeps, checkDomain } from './check-domain.ts'
import { type SettleDeps, settleCheck } from './settle-check.ts'

export type DomainWorkOutcome = 'checked' | 'created' | 'deleted' | 'waiting' | 'failed'

export const domainWorkOutcomes = [
  'checked',
  'created',
  'deleted',
  'waiting',
  'failed',
] as const satisfies readonly DomainWorkOutcome[]

export interface DomainWorkDeps extends CheckDeps, SettleDeps, CreateDeps {
  readonly db: CreateDeps['db']
  readonly log: Logger
  readonly observe: (outcome: DomainWorkOutcome) => void
}

const INTERVAL_MS = 10_000
/** At once; each takes half a minute at the most. */
const PIECE = 20
const PIECES_MAX = 50
const PER_TENANT = 4
const LEASE_MS = 5 * 60_000

export function createDomainWork(deps: DomainWorkDeps): PeriodicTask {
  const { db, log } = deps

  async function work(domain: SendingDomain): Promise<DomainWorkOutcome> {
    if (domain.stage === 'ready') {
      const findings = await checkDomain(deps, domain)
      const occasion = { isAsked: false, traceparent: startTrace() }
      await settleCheck(deps, domain, findings, occasion)
      return 'checked'
    }
    const turn = await takeTurn(db, domain, domain.stage, STAGE_LEASE_MS)
    if (turn === undefined) return 'waiting'
    if (domain.stage === 'deleting')
      return (await deleteAtProvider(deps, turn)) ? 'deleted' : 'waiting'
    const created = await createAtProvider(deps, turn)
    return created.kind === 'created' ? 'created' : 'waiting'
  }

  /** One that cannot be worked on, such as by a key that is gone, keeps no other from it. */
  async function tryWork(domain: SendingDomain): Promise<void> {
    const fields = { tenant_id: domain.tenantId, domain: domain.domain }
    try {
      const outcome = await work(domain)
      log.info({ ...fields, outcome }, 'domain.worked_on')
      deps.observe(outcome)
    } catch (error) {
      log.warn({ ...fields, err: error }, 'domain.failed')
      deps.observe('failed')
    }
  }

  return createPeriodicTask({
    name: 'domains',
    log,
    intervalMs: INTERVAL_MS,
    piece: PIECE,
    piecesMax: PIECES_MAX,
    round: (inPieces) =>
      inPieces(async () => {
        const due = await claimDue(db, { limit: PIECE, perTenant: PER_TENANT, leaseMs: LEASE_MS })
        await Promise.all(due.map(tryWork))
        return due.length
      }),
    failed: 'domains.not_checked',
  })
}
