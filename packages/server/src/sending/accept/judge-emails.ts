/** Judges the emails of a group: which are accepted, and why the others are refused. */
import { type FieldError, sendAtAheadMsMax, sendAtPastMsMax } from '@postrider/contract'
import { type FoundMailer, isDomainMailer, type NoMailer } from '../../mailers/index.ts'
import { testIdOf } from '../../platform/ids.ts'
import {
  type Charge,
  charged,
  decideQuota,
  isNearEdge,
  type Limited,
  type OverQuota,
  overTests,
  refusalOfState,
  type Senders,
} from '../../tenants/index.ts'
import { isScheduled, type NewEmail } from '../record/email.ts'
import { type KeptKey, keyId } from './key-store.ts'

export type Accepted = {
  readonly refId: string
  readonly isScheduled: boolean
  /** The places of the recipients who are not sent to (docs/reference/suppressions.md#suppressions). */
  readonly suppressed: readonly number[]
} & (
  | { readonly isReplay: false; readonly mailerId: string; readonly createdAt: Date }
  /** The email of the first request with this key. */
  | { readonly isReplay: true }
)

export type Refused =
  | {
      readonly refused:
        | 'validation_failed'
        | 'idempotency_mismatch'
        | 'tenant_suspended'
        | 'unauthorized'
        /** For others that are accepted with it or not at all. */
        | 'batch_refused'
      readonly errors?: readonly FieldError[]
    }
  | { readonly refused: 'mailer_inactive'; readonly mailer: FoundMailer }
  | { readonly refused: 'no_mailer'; readonly found: NoMailer | undefined }
  | { readonly refused: 'no_template'; readonly absence: string }
  | { readonly refused: 'quota_exceeded'; readonly over: OverQuota }

export type Outcome = Accepted | Refused

export interface Judged {
  readonly tenantId: string
  readonly refId: string
  readonly email: NewEmail
  /** Of a key of test mode: nothing of it is sent. */
  readonly isTest: boolean
  readonly idempotency?: { readonly key: string; readonly bodyHash: Buffer }
  readonly bytes: number
}

/** What the database says of the group, each list in the order of its items. */
export interface Findings {
  readonly mailers: readonly (FoundMailer | NoMailer | undefined)[]
  readonly suppressed: readonly (readonly number[])[]
  readonly kept: ReadonlyMap<string, KeptKey>
  /** How many recipients of test mail each tenant may have today, where there are some in the group. */
  readonly testsLeft?: ReadonlyMap<string, number>
}

/** What those of a tenant that were accepted add to its quotas, each tenant once. */
export interface Judgement {
  readonly outcomes: readonly Outcome[]
  readonly charges: readonly Charge[]
  /** Others may use up a quota of one of them before the charges are written. */
  readonly isNearEdge: boolean
}

export function judgeEmails(
  items: readonly Judged[],
  { now, held, limited }: Senders,
  found: Findings,
): Judgement {
  const quotas = new Map(limited)
  const charges = new Map<string, Charge>()
  const testsLeft = new Map(found.testsLeft)
  const outcomes = items.map((item, i) => {
    const { tenantId } = item
    const outcome =
      refuseHeld(held.get(tenantId)) ??
      judge(item, found.mailers[i], found.suppressed[i] ?? [], found.kept, now)
    if ('refused' in outcome || outcome.isReplay) return outcome
    if (item.isTest) {
      const over = useTests(item)
      if (over !== undefined) return over
    }
    const quota = quotas.get(tenantId)
    return quota === undefined ? outcome : chargeEmail(item, outcome, quota)
  })
  const isNear = [...charges.keys()].some((tenantId) => {
    const quota = quotas.get(tenantId)
    return quota !== undefined && isNearEdge(quota)
  })
  return { outcomes, charges: [...charges.values()], isNearEdge: isNear }

  /** Test mail has a limit of its own. Suppressed recipients count: they take as much to store. */
  function useTests({ tenantId, email }: Judged): Refused | undefined {
    const left = testsLeft.get(tenantId) ?? 0
    const asked = email.recipients.length
    if (asked > left) return { refused: 'quota_exceeded', over: overTests(asked, left, now) }
    testsLeft.set(tenantId, left - asked)
    return undefined
  }

  function chargeEmail(item: Judged, outcome: Accepted, quota: Limited): Outcome {
    const { tenantId, bytes } = item
    const charge = { tenantId, bytes, emails: item.isTest ? 0 : countSent(item, outcome) }
    const over = decideQuota(quota, charge, now)
    if (over !== undefined) return { refused: 'quota_exceeded', over }
    quotas.set(tenantId, charged(quota, charge, now))
    const before = charges.get(tenantId) ?? { tenantId, emails: 0, bytes: 0 }
    const [emails, allBytes] = [before.emails + charge.emails, before.bytes + bytes]
    charges.set(tenantId, { tenantId, emails, bytes: allBytes })
    return outcome
  }
}

/** The same, but for emails of one tenant that are accepted together or not at all. */
export function judgeTogether(
  items: readonly Judged[],
  senders: Senders,
  found: Findings,
): Judgement {
  const judgement = judgeEmails(items, senders, found)
  if (!judgement.outcomes.some((outcome) => 'refused' in outcome)) return judgement
  const outcomes = judgement.outcomes.map(
    (outcome): Outcome => ('refused' in outcome ? outcome : { refused: 'batch_refused' }),
  )
  return { outcomes, charges: [], isNearEdge: judgement.isNearEdge }
}

/** Recipients that are not suppressed. */
export function countSent({ email }: Judged, { suppressed }: Accepted): number {
  return email.recipients.length - suppressed.length
}

/** docs/reference/operator.md#suspension. A request that is repeated gets no answer of before, either. */
function refuseHeld(state: 'suspended' | 'deleting' | undefined): Refused | undefined {
  return state === undefined ? undefined : { refused: refusalOfState(state) }
}

function judge(
  { tenantId, idempotency, refId, email, isTest }: Judged,
  mailer: FoundMailer | NoMailer | undefined,
  suppressed: readonly number[],
  kept: ReadonlyMap<string, KeptKey>,
  now: Date,
): Outcome {
  const holder = idempotency && kept.get(keyId({ tenantId, key: idempotency.key }))
  if (idempotency !== undefined && holder !== undefined && holder.refId !== refId) {
    if (!holder.bodyHash.equals(idempotency.bodyHash)) return { refused: 'idempotency_mismatch' }
    const { refId: first, suppressed: refused } = holder
    const isForLater = isScheduled(first, email)
    return { isReplay: true, refId: first, isScheduled: isForLater, suppressed: refused }
  }
  const problem = problemOfSendAt(email, now)
  if (problem !== undefined)
    return { refused: 'validation_failed', errors: [{ path: '/send_at', message: problem }] }
  const absence = email.templateAbsence
  if (absence !== undefined) return { refused: 'no_template', absence }
  if (mailer === undefined || 'problem' in mailer) return { refused: 'no_mailer', found: mailer }
  if (mailer.state !== 'active') return { refused: 'mailer_inactive', mailer }
  if (email.raw?.isSealed === true && isDomainMailer(mailer.mailerId)) return SEALED_FOR_PROVIDER
  const mailerId = isTest ? testIdOf(mailer.mailerId) : mailer.mailerId
  const isForLater = isScheduled(refId, email)
  return { isReplay: false, refId, mailerId, isScheduled: isForLater, suppressed, createdAt: now }
}

/** A provider builds the message itself, which no signature outlives (docs/submission.md#sending-domains). */
const SEALED_FOR_PROVIDER: Refused = {
  refused: 'validation_failed',
  errors: [
    {
      path: '',
      message: 'is signed or encrypted, and the relay provider of its domain would build it anew',
    },
  ],
}

/** docs/reference/sending.md#scheduling: up to five minutes ago means now. */
function problemOfSendAt({ sendAt }: NewEmail, now: Date): string | undefined {
  const aheadMs = sendAt === undefined ? 0 : sendAt.getTime() - now.getTime()
  if (aheadMs > sendAtAheadMsMax) return 'must be at most 30 days ahead'
  return aheadMs < -sendAtPastMsMax ? 'is more than 5 minutes ago' : undefined
}
