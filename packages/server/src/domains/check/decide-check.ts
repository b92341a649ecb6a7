/** What a check makes of a domain. Pure. */

import { type DkimKey, keyOfTurn, type RecordState, type SendingDomain } from '../domain.ts'
import { type DomainRecord, listRecords, PREVIOUS_SHOWN_MS, recordKeyOf } from '../list-records.ts'
import { decideProvider, decideRecord, type Occasion, type Verdict } from './decide-record.ts'
import type { Matches } from './look-up-records.ts'

export interface Findings {
  readonly matches: Matches
  /** What the provider said, where it was asked. */
  readonly verdict?: Verdict
  readonly providerId?: string
  /** The provider's part of what is published, where it told it. */
  readonly providerRecords?: SendingDomain['providerRecords']
  /** The provider signs with this key now. */
  readonly signsWith?: string
}

export interface CheckedDomain {
  readonly domain: SendingDomain
  /** All required records are valid and the provider agrees. */
  readonly isSound: boolean
  /** Something that was valid was said not to be, or was not answered for. */
  readonly isAmiss: boolean
}

const PREVIOUS_MAX = 3

export function decideCheck(
  before: SendingDomain,
  findings: Findings,
  o: { readonly now: Date; readonly isAsked: boolean },
): CheckedDomain {
  const occasion: Occasion = {
    now: o.now,
    isGraced: before.verifiedAt !== undefined && !o.isAsked,
  }
  const { providerId = before.providerId, providerRecords = before.providerRecords } = findings
  const domain: SendingDomain = {
    ...before,
    ...(providerId === undefined ? {} : { providerId }),
    providerRecords,
    keys: turnKeys(before.keys, findings.signsWith, o.now),
    provider:
      findings.verdict === undefined
        ? before.provider
        : decideProvider(before.provider, findings.verdict, occasion),
    checkedAt: o.now,
  }
  const records = listRecords(domain)
  const recordStates = statesOf(before, records, findings.matches, occasion)
  const required = records.filter((record) => record.required)
  const states = required.map((record) => recordStates[recordKeyOf(record)])
  // What the provider has named just now is looked up next time.
  const isGood = (state: RecordState | undefined) =>
    state === undefined ? occasion.isGraced : state.status === 'valid'
  const isSound = domain.provider.agrees && states.every(isGood)
  const isUnclear = (state: RecordState | undefined) =>
    state === undefined || state.dns === 'unknown' || state.misses !== undefined
  const isAmiss =
    states.some(isUnclear) || (findings.verdict !== undefined && findings.verdict.agrees !== true)
  return { domain: { ...domain, recordStates }, isSound, isAmiss }
}

/** Whether all that the domain needs was there just now. */
export function areRecordsSeen(domain: SendingDomain, matches: Matches): boolean {
  return listRecords(domain)
    .filter(({ required }) => required)
    .every((record) => matches.get(recordKeyOf(record))?.isMatch === true)
}

/** The new key whose record was seen just now. */
export function seenNextKey(domain: SendingDomain, matches: Matches): DkimKey | undefined {
  const next = keyOfTurn(domain, 'next')
  const record = listRecords(domain).find(({ rotation }) => rotation === 'next')
  if (next === undefined || record === undefined) return undefined
  return matches.get(recordKeyOf(record))?.isMatch === true ? next : undefined
}

function statesOf(
  { recordStates: before }: SendingDomain,
  records: readonly DomainRecord[],
  matches: Matches,
  occasion: Occasion,
): Readonly<Record<string, RecordState>> {
  const states = records.flatMap((record): [string, RecordState][] => {
    const key = recordKeyOf(record)
    const match = matches.get(key)
    const state = match === undefined ? before[key] : decideRecord(before[key], match, occasion)
    return state === undefined ? [] : [[key, state]]
  })
  return Object.fromEntries(states)
}

/** The next one takes the place of the current one, whose private half is not kept. */
function turnKeys(
  keys: readonly DkimKey[],
  signsWith: string | undefined,
  now: Date,
): readonly DkimKey[] {
  const isTurn = keys.some(({ selector, turn }) => turn === 'next' && selector === signsWith)
  const turned = isTurn ? keys.map((key) => turnKey(key, now)) : keys
  const previous = turned.filter(
    ({ turn, replacedAt }) =>
      turn === 'previous' && now.getTime() - Date.parse(replacedAt ?? '') < PREVIOUS_SHOWN_MS,
  )
  return [...turned.filter(({ turn }) => turn !== 'previous'), ...previous.slice(-PREVIOUS_MAX)]
}

function turnKey(key: DkimKey, now: Date): DkimKey {
  const { selector, publicKey } = key
  if (key.turn === 'next') return { ...key, turn: 'current' }
  if (key.turn === 'previous') return key
  return { selector, publicKey, turn: 'previous', replacedAt: now.toISOString() }
}
