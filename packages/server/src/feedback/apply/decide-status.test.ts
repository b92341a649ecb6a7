import { recipientStatuses } from '@postrider/contract'
import { describe, expect, it } from 'vitest'
import type { RelayFactKind } from '../../relays/index.ts'
import { decideStatus, type Standing } from './decide-status.ts'

const KINDS = [
  'processed',
  'deferred',
  'delivered',
  'bounced',
  'complained',
  'unsubscribed',
  'policy_rejected',
  'generation_failed',
  'generation_rejected',
  'other',
] as const satisfies readonly RelayFactKind[]

const sure = recipientStatuses.map((status) => ({ status, isInDoubt: false }))
const STANDINGS: readonly Standing[] = [...sure, { status: 'failed', isInDoubt: true }]

const nameOf = ({ status, isInDoubt }: Standing) => (isInDoubt ? `${status}?` : status)
const standsAfter = (standing: Standing, kinds: readonly RelayFactKind[]) =>
  nameOf(kinds.reduce(decideStatus, standing))

function permutationsOf<T>(all: readonly T[]): T[][] {
  if (all.length === 0) return [[]]
  return all.flatMap((one, i) =>
    permutationsOf(all.toSpliced(i, 1)).map((others) => [one, ...others]),
  )
}

/** Every set of up to so many kinds. */
function setsOf(kinds: readonly RelayFactKind[], max: number): RelayFactKind[][] {
  const [first, ...rest] = kinds
  if (first === undefined || max === 0) return [[]]
  return [...setsOf(rest, max), ...setsOf(rest, max - 1).map((set) => [first, ...set])]
}

/** Where a recipient stands (row) after one report (column). */
const TABLE = `
             processed deferred  delivered bounced  complained unsubscribed policy_rejected generation_failed generation_rejected other
queued       sent      sent      delivered bounced  sent       sent         rejected        failed            rejected            queued
scheduled    sent      sent      delivered bounced  sent       sent         rejected        failed            rejected            scheduled
sending      sent      sent      delivered bounced  sent       sent         rejected        failed            rejected            sending
deferred     sent      sent      delivered bounced  sent       sent         rejected        failed            rejected            deferred
held         sent      sent      delivered bounced  sent       sent         rejected        failed            rejected            held
sent         sent      sent      delivered bounced  sent       sent         rejected        failed            rejected            sent
delivered    delivered delivered delivered bounced  delivered  delivered    rejected        failed            rejected            delivered
bounced      bounced   bounced   bounced   bounced  bounced    bounced      bounced         bounced           bounced             bounced
failed       failed    failed    failed    bounced  failed     failed       rejected        failed            rejected            failed
blocked      blocked   blocked   blocked   blocked  blocked    blocked      blocked         blocked           blocked             blocked
suppressed   suppressed suppressed suppressed suppressed suppressed suppressed suppressed   suppressed        suppressed          suppressed
expired      expired   expired   expired   expired  expired    expired      expired         expired           expired             expired
rejected     rejected  rejected  rejected  bounced  rejected   rejected     rejected        rejected          rejected            rejected
failed?      failed?   failed?   delivered bounced  failed?    failed?      rejected        failed            rejected            failed?
`
  .trim()
  .split('\n')
  .map((line) => line.trim().split(/\s+/))

describe('[3.2] the status of a recipient after a report', () => {
  const [columns = [], ...rows] = TABLE
  it('follows the table for every status and every kind of report', () => {
    expect(columns).toEqual(KINDS)
    expect(rows.map(([name]) => name)).toEqual(STANDINGS.map(nameOf))
    for (const [i, standing] of STANDINGS.entries())
      expect([nameOf(standing), ...KINDS.map((kind) => standsAfter(standing, [kind]))]).toEqual(
        rows[i],
      )
  })

  it('is the same for every order and repetition of the same reports', () => {
    for (const standing of STANDINGS)
      for (const set of setsOf(KINDS, 4)) {
        const ends = permutationsOf(set).flatMap((order) => [
          standsAfter(standing, order),
          standsAfter(standing, [...order, ...order]),
        ])
        expect({ standing, set, ends: new Set(ends).size }).toEqual({ standing, set, ends: 1 })
      }
  })

  it('is never delivered again after another final status', () => {
    for (const kind of ['bounced', 'policy_rejected', 'generation_failed'] as const) {
      const ended = decideStatus({ status: 'sent', isInDoubt: false }, kind)
      expect(decideStatus(ended, 'delivered')).toBe(ended)
    }
  })
})
