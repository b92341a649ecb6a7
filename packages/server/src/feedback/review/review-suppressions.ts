/**
 * Judges again what suppressions for a bounce rest on (docs/reference/suppressions.md#evidence), as far as it
 * is kept: the reports on emails that were sent to the address before. A page at a time, newest first.
 *
 * Of a provider's report its own verdict is not kept, only the reply. So a reply that says nothing that is known
 * leaves it open, and only one that speaks against the suppression counts against it.
 */
import { type Classified, judgeBounce } from '@postrider/mail'
import { type Db, readByIndex } from '../../platform/db/index.ts'
import { liftBounced, listSuppressions } from '../../suppressions/index.ts'
import { findBouncesOf, type KeptBounce } from './review-store.ts'

export interface ReviewedSuppression {
  readonly email: string
  /** A ULID, made when the address was suppressed. */
  readonly id: string
  /** `insufficient`: what is kept would suppress nobody today. `unknown`: nothing is kept that tells. */
  readonly verdict: 'sufficient' | 'insufficient' | 'unknown'
  /** Of the newest report; with its words. */
  readonly classified?: Classified
  readonly reason?: string
}

export interface ReviewedPage {
  readonly reviewed: readonly ReviewedSuppression[]
  readonly lifted: number
  /** Where the next page begins; undefined after the last. */
  readonly next: string | undefined
}

const PAGE = 200

/** Does the work by which suppressions are lifted. It answers how many. */
export type Lift = (work: () => Promise<number>) => Promise<number>

/** @param o `before`: where the page begins; `lift`: for those that are insufficient; left out: nothing is lifted */
export async function reviewSuppressions(
  { db }: { readonly db: Db },
  o: {
    readonly tenantId: string
    readonly before: string | undefined
    readonly lift?: Lift
  },
): Promise<ReviewedPage> {
  const { tenantId, before, lift } = o
  const { listed, rows, bounces } = await readByIndex(db, async (tx) => {
    const page = { tenantId, reason: 'bounced', before, limit: PAGE } as const
    const listed = await listSuppressions(tx, page)
    const rows = listed.filter(({ hasEnded }) => !hasEnded)
    return { listed, rows, bounces: await findBouncesOf(tx, tenantId, rows) }
  })
  const reviewed = rows.map(({ email, id }, i) => ({
    email,
    id,
    ...judge(bounces[i] ?? [], email),
  }))
  const doubtful = rows.filter((_, i) => reviewed[i]?.verdict === 'insufficient')
  const lifted =
    lift === undefined || doubtful.length === 0
      ? 0
      : await lift(() => liftBounced(db, tenantId, doubtful))
  return { reviewed, lifted, next: listed.length < PAGE ? undefined : listed.at(-1)?.id }
}

function judge(
  bounces: readonly KeptBounce[],
  recipient: string,
): Omit<ReviewedSuppression, 'email' | 'id'> {
  const judged = bounces.map((bounce) => judgeOne(bounce, recipient))
  const best =
    judged.find(({ verdict }) => verdict === 'sufficient') ??
    judged.find(({ verdict }) => verdict === 'unknown')
  return best ?? judged[0] ?? { verdict: 'unknown' }
}

/** The provider does not write to it any more, whatever it was for. */
const ON_LIST = /\baddress (?:was )?suppressed|^bounced address$/i

function judgeOne({ relay, reason, errorCode, status }: KeptBounce, recipient: string) {
  const said = relay !== null && /^[45]\d\d$/.test(errorCode ?? '') && !/^[45]\d\d/.test(reason)
  const { isOfAddress, isOtherwise, classified } = judgeBounce({
    recipient,
    status: status ?? undefined,
    diagnostic: said ? `${errorCode} ${reason}` : reason,
  })
  const isOpen = relay !== null && (!isOtherwise || ON_LIST.test(reason))
  const verdict = isOfAddress ? 'sufficient' : isOpen ? 'unknown' : 'insufficient'
  return { verdict, classified, reason } as const
}
