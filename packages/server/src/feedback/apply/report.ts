/** A report: what somebody who has had a recipient's copy tells of it, and who told it when. */
import type { RelayKind } from '@postrider/contract'
import type { RelayFact } from '../../relays/index.ts'

export interface Report {
  /** Whose account at the provider it came by: only of this tenant's emails anything is believed. */
  readonly tenantId: string
  /** Undefined: a mail server, by mail. */
  readonly relay: RelayKind | undefined
  readonly receivedAtMicros: bigint
  /** It came back to the return path of the copy that it is about: that says whose it is. */
  readonly isReturned?: true
  readonly fact: RelayFact
}

export const reportOutcomes = [
  'applied',
  /** It was applied before. */
  'repeated',
  /** Nothing follows from it, or from nothing that is kept. */
  'ignored',
  /** One of too many of its recipient. */
  'bounded',
  /** It names a copy of ours, and another address than that copy's. */
  'other_recipient',
  /** It is not known whom it is about. */
  'unknown',
  /** The attempt that it is about is not over here. */
  'under_way',
] as const
export type ReportOutcome = (typeof reportOutcomes)[number]

/** By which reports of one message at a provider are joined; undefined where it names none. */
export function messageKeyOf({ relay, fact }: Report): string | undefined {
  const id = fact.providerMessageId
  return relay === undefined || id === undefined ? undefined : `${relay} ${id}`
}

/** Of the report itself as it came: enough to see what it is about. */
const RAW_LENGTH_MAX = 8_192

/** For storing what is to be looked at later. */
export function reportToJson({ fact }: Report): string {
  const raw = fact.raw.slice(0, RAW_LENGTH_MAX)
  return JSON.stringify({ ...fact, raw, atMicros: fact.atMicros?.toString() })
}

/** Of what `reportToJson` made. */
export function factFromJson(json: string): RelayFact {
  const { atMicros, ...fact } = JSON.parse(json) as Omit<RelayFact, 'atMicros'> & {
    readonly atMicros?: string
  }
  return { ...fact, atMicros: atMicros === undefined ? undefined : BigInt(atMicros) }
}
