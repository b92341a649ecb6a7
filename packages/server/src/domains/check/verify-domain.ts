/**
 * verifyDomain (docs/reference/domains.md#verification): checks now, and tells the result by an event,
 * whatever it is. Name servers or a provider that do not answer change nothing; then the result is as before.
 */

import { ApiError } from '../../platform/errors.ts'
import type { CheckBounds } from '../../platform/limits/counted-check.ts'
import { recordEvents } from '../../webhooks/index.ts'
import { type CreateDeps, createAtProvider, STAGE_LEASE_MS } from '../add/create-at-provider.ts'
import type { SendingDomain } from '../domain.ts'
import { getDomain } from '../get-domain.ts'
import { takeTurn } from '../stage-store.ts'
import { type CheckDeps, checkDomain } from './check-domain.ts'
import { type SettleDeps, settleCheck, verificationOf } from './settle-check.ts'

export interface VerifyDeps extends CheckDeps, SettleDeps, CreateDeps {
  readonly db: CreateDeps['db']
  /** Every one counts, also those that find nothing wrong. */
  readonly verifications: CheckBounds
}

export async function verifyDomain(
  deps: VerifyDeps,
  o: { readonly tenantId: string; readonly name: string; readonly traceparent: string },
): Promise<SendingDomain> {
  const { limiter, limit } = deps.verifications
  return limiter.run(o.tenantId, async () => {
    const domain = await getDomain(deps, o.tenantId, o.name)
    await limit.use(o.tenantId)
    if (domain.stage === 'ready') return check(deps, domain, o.traceparent)
    return (await goOnCreating(deps, domain))
      ? check(deps, await getDomain(deps, o.tenantId, o.name), o.traceparent)
      : tellUnverified(deps, domain, o.traceparent)
  })
}

async function check(
  deps: VerifyDeps,
  domain: SendingDomain,
  traceparent: string,
): Promise<SendingDomain> {
  const findings = await checkDomain(deps, domain)
  const checked = await settleCheck(deps, domain, findings, { isAsked: true, traceparent })
  if (checked === undefined) throw new ApiError('not_found')
  return checked
}

/** Whether the provider has it now. What the provider refuses for good is gone. */
async function goOnCreating(deps: VerifyDeps, domain: SendingDomain): Promise<boolean> {
  const turn = await takeTurn(deps.db, domain, 'creating', STAGE_LEASE_MS)
  if (turn === undefined) return false
  const created = await createAtProvider(deps, turn)
  if (created.kind === 'refused') throw new ApiError(created.code, { message: created.message })
  return created.kind === 'created'
}

async function tellUnverified(
  deps: VerifyDeps,
  { tenantId, domain }: SendingDomain,
  traceparent: string,
): Promise<SendingDomain> {
  const { found, touched } = await deps.db.transaction(async (tx) => {
    const waiting = await getDomain({ db: tx }, tenantId, domain)
    const event = verificationOf(deps.clock, waiting, false, { traceparent })
    return { ...(await recordEvents(tx, [event])), found: waiting }
  })
  deps.wakeups.wake(touched)
  return found
}
