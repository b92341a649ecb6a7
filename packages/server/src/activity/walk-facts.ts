/**
 * Recipients of whom a fact beside their status is true (docs/reference/statuses.md#recipients): by what they
 * did themselves, as the tracker saw it, or by what a provider has reported of them. Someone who unsubscribed
 * may stand in both.
 */
import type { RecipientFact } from '@postrider/contract'
import { type ReportedFlags, readFlags, walkFlags } from '../feedback/index.ts'
import type { Queryable } from '../platform/db/index.ts'
import type { RecipientKey, RecordRange } from '../sending/index.ts'
import { type Engagement, walkEngagement } from '../tracking/index.ts'

const DID: Readonly<Record<RecipientFact, (did: Engagement) => boolean>> = {
  spam: () => false,
  opened: (did) => did.isOpened,
  clicked: (did) => did.isClicked,
  unsubscribed: (did) => did.isUnsubscribed,
}

const REPORTED: Readonly<Partial<Record<RecipientFact, (flags: ReportedFlags) => boolean>>> = {
  spam: (flags) => flags.hasComplained,
  unsubscribed: (flags) => flags.isUnsubscribed,
}

type DatedRecipientKey = RecipientKey & { readonly day: string }

/** A bounded piece, each once; `reached` as pieces of the record have it. */
export async function walkFact(
  q: Queryable,
  fact: RecipientFact,
  range: RecordRange,
): Promise<{
  readonly keys: readonly DatedRecipientKey[]
  readonly reached: RecipientKey | undefined
}> {
  const isReported = REPORTED[fact]
  const [did, reported] = await Promise.all([
    fact === 'spam' ? [] : walkEngagement(q, range),
    isReported === undefined ? [] : walkFlags(q, range),
  ])
  const ends = [did, reported].flatMap((walked) =>
    walked.length < range.limit ? [] : (walked.at(-1) ?? []),
  )
  // The walk that was cut off first: what the other one has below it comes again.
  const reached = ends.reduce<RecipientKey | undefined>(
    (highest, end) => (highest === undefined || isBelow(highest, end) ? end : highest),
    undefined,
  )
  const holders: readonly DatedRecipientKey[] = [
    ...did.filter(DID[fact]),
    ...reported.filter(isReported ?? (() => false)),
  ]
  const inReach = holders.filter((key) => reached === undefined || !isBelow(key, reached))
  const once = new Map(inReach.map((key) => [`${key.refId}.${key.n}`, key]))
  return { keys: [...once.values()], reached }
}

function isBelow(a: RecipientKey, b: RecipientKey): boolean {
  return a.refId < b.refId || (a.refId === b.refId && a.n < b.n)
}

/** Of those of whom it is true; what they did is known already. */
export async function createFactCheck(
  q: Queryable,
  o: {
    readonly tenantId: string
    readonly fact: RecipientFact | undefined
    readonly recipients: readonly DatedRecipientKey[]
  },
): Promise<(key: RecipientKey, did: Engagement | undefined) => boolean> {
  const { fact } = o
  if (fact === undefined) return () => true
  const isReported = REPORTED[fact]
  const reported = isReported === undefined ? [] : await readFlags(q, o.tenantId, o.recipients)
  const holders = new Set(
    reported.filter(isReported ?? (() => false)).map(({ refId, n }) => `${refId}.${n}`),
  )
  return ({ refId, n }, did) =>
    holders.has(`${refId}.${n}`) || (did !== undefined && DID[fact](did))
}
