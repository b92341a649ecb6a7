/**
 * Stores what a check has found, in one transaction with everything that follows from it: whose the
 * domain is, whether its mailer may send, and the event (docs/reference/domains.md#verification).
 *
 * The row is locked and decided anew, since another check may have ended meanwhile. Of two tenants
 * whose records are both there, the first to come here has the domain.
 */
import { setDomainVerified } from '../../mailers/index.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Db, Tx } from '../../platform/db/index.ts'
import { type NewEvent, recordEvents, type Wakeups } from '../../webhooks/index.ts'
import { keyOfTurn, type SendingDomain } from '../domain.ts'
import { listRecords, recordKeyOf } from '../list-records.ts'
import { acquireDomain, releaseDomain } from '../ownership-store.ts'
import { getDomain, lockDomain, saveCheck } from '../store.ts'
import { type CheckedDomain, decideCheck, type Findings } from './decide-check.ts'
import { decideNextCheck } from './decide-next-check.ts'
import { isConfirmed } from './decide-record.ts'

export interface SettleDeps {
  readonly db: Db
  readonly clock: Clock
  readonly wakeups: Pick<Wakeups, 'wake'>
  readonly random: () => number
}

export interface CheckOccasion {
  /** By verifyDomain: told in any case, else only a change is. */
  readonly isAsked: boolean
  readonly traceparent: string
}

/** As it is then; undefined when it is not there any more. */
export async function settleCheck(
  deps: SettleDeps,
  looked: SendingDomain,
  findings: Findings,
  occasion: CheckOccasion,
): Promise<SendingDomain | undefined> {
  const settled = await deps.db.transaction(async (tx) => {
    const before = await lockDomain(tx, looked)
    if (before?.stage !== 'ready' || before.mailerId !== looked.mailerId) return undefined
    const now = deps.clock.now()
    const { isAsked } = occasion
    const checked = decideCheck(before, findings, { now, isAsked })
    const isVerified = await decideOwner(tx, checked, now)
    const { domain } = checked
    const isCalm = isVerified && !checked.isAmiss && keyOfTurn(domain, 'next') === undefined
    const tries = isAsked || isCalm ? 0 : before.tries + 1
    const nextMs = nextCheckOf(checked, { isVerified, tries }, deps.random())
    await saveCheck(tx, { ...domain, tries }, { isVerified, now, nextMs })
    // Nobody would notice any more that its owner has changed.
    if (nextMs === undefined) await releaseDomain(tx, domain)
    const isChanged = isVerified !== (before.verifiedAt !== undefined)
    if (isChanged) await setDomainVerified(tx, domain, isVerified)
    const events =
      isAsked || isChanged ? [verificationOf(deps.clock, domain, isVerified, occasion)] : []
    const { touched } = await recordEvents(tx, events)
    return { touched, after: await getDomain(tx, domain) }
  })
  if (settled === undefined) return undefined
  deps.wakeups.wake(settled.touched)
  return settled.after
}

export function verificationOf(
  clock: Clock,
  { tenantId, domain, mailerId, customArgs }: SendingDomain,
  isVerified: boolean,
  { traceparent }: Pick<CheckOccasion, 'traceparent'>,
): NewEvent {
  return {
    tenantId,
    refId: '',
    event: 'DOMAIN_VERIFICATION',
    eventAtMicros: clock.nowMicros(),
    traceparent,
    details: { domain, verified: isVerified, mailer_id: mailerId, custom_args: customArgs },
  }
}

/** Whether it is verified: sound, and this tenant's. Names of the simulator are everybody's. */
async function decideOwner(
  tx: Tx,
  { domain, isSound }: CheckedDomain,
  now: Date,
): Promise<boolean> {
  if (domain.relay === 'simulator') return isSound
  if (isSound) return acquireDomain(tx, domain)
  const proof = listRecords(domain).find(({ purpose }) => purpose === 'ownership')
  const misses = proof && domain.recordStates[recordKeyOf(proof)]?.misses
  // The present holder may prove the domain.
  if (isConfirmed(misses, now)) await releaseDomain(tx, domain)
  return false
}

function nextCheckOf(
  { domain, isAmiss }: CheckedDomain,
  { isVerified, tries }: { readonly isVerified: boolean; readonly tries: number },
  random: number,
): number | undefined {
  if (domain.relay === 'simulator') return undefined
  const isRotating = keyOfTurn(domain, 'next') !== undefined
  return decideNextCheck({ isVerified, isAmiss, isRotating, tries }, random)
}
