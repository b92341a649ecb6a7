/**
 * Accepts emails: a 202 means that the email, its recipients, its place in the queue and its
 * idempotency key are committed and flushed, in one transaction.
 *
 * Requests that arrive while a commit is in flight share the next one, whatever their tenants. Tenants
 * take turns in it, so that the queue of one does not go before the others. Large requests go alone, a few at a
 * time, so that nobody waits for another's attachments.
 */
import { type FieldError, sendAtAheadMsMax, sendAtPastMsMax } from '@postrider/contract'
import { type FoundMailer, findMailers, type NoMailer, noMailer } from '../../mailers/index.ts'
import { addCounterChanges, type CounterChange } from '../../platform/counter-store.ts'
import { createGroupCommit, type Db, type Tx } from '../../platform/db/index.ts'
import type { DiskGuard } from '../../platform/disk-guard.ts'
import { ApiError } from '../../platform/errors.ts'
import type { Failpoints } from '../../platform/failpoints.ts'
import { newUlid } from '../../platform/ids.ts'
import { findSuppressed } from '../../suppressions/index.ts'
import { readSenders, refusalOfState, usageNames, usageSubject } from '../../tenants/index.ts'
import { groupsOfAddress } from '../record/counter-groups.ts'
import { isScheduled, type NewEmail } from '../record/email.ts'
import { insertEmails } from './accept-store.ts'
import {
  dropKeys,
  type KeptKey,
  keepKeys,
  keyId,
  type NewKey,
  noteSuppressed,
} from './key-store.ts'

export interface AcceptRequest {
  readonly tenantId: string
  readonly email: NewEmail
  readonly traceparent: string
  readonly idempotency?: { readonly key: string; readonly bodyHash: Buffer }
}

export type Accepted = {
  readonly refId: string
  readonly isScheduled: boolean
  /** The places of the recipients who are not sent to (docs/reference/suppressions.md#suppressions). */
  readonly suppressed: readonly number[]
} & (
  | { readonly isReplay: false; readonly mailerId: string }
  /** The email of the first request with this key. */
  | { readonly isReplay: true }
)

type Refused =
  | {
      readonly refused:
        | 'validation_failed'
        | 'mailer_inactive'
        | 'idempotency_mismatch'
        | 'tenant_suspended'
        | 'unauthorized'
      readonly errors?: readonly FieldError[]
    }
  | { readonly refused: 'no_mailer'; readonly found: NoMailer | undefined }

type Outcome = Accepted | Refused

export interface AcceptEmails {
  /**
   * Throws the refusals of sendEmail (docs/reference/sending.md#accepting), `unavailable` where the disk has
   * no room.
   */
  accept(request: AcceptRequest): Promise<Accepted>
}

interface Item extends AcceptRequest {
  readonly refId: string
  readonly contentJson: string
  /** What it takes to store it once. */
  readonly bytes: number
}

const GROUP_MAX = 64
const COMMITS_AT_ONCE = 2
const CONTENT_LARGE = 128 * 1024
const RECIPIENTS_LARGE = 20
/** In the tables and their indexes, beside the content. */
const EMAIL_BYTES = 2 * 1024
const RECIPIENT_BYTES = 1024

export function createAcceptEmails(deps: {
  readonly db: Db
  readonly failpoints: Failpoints
  readonly disk: Pick<DiskGuard, 'admit'>
}): AcceptEmails {
  const run = async (tx: Tx, items: readonly Item[]) => {
    const outcomes = await acceptGroup(tx, items)
    deps.failpoints.hit('api.before_commit')
    return outcomes
  }
  const tenantOf = ({ tenantId }: Item) => tenantId
  const commits = { db: deps.db, parallel: COMMITS_AT_ONCE, run, tenantOf }
  const group = createGroupCommit<Item, Outcome>({ ...commits, itemsMax: GROUP_MAX })
  const alone = createGroupCommit<Item, Outcome>({ ...commits, itemsMax: 1 })

  return {
    async accept(request) {
      const contentJson = JSON.stringify(request.email.content)
      const bytes = bytesOf(request.email, contentJson)
      const item: Item = { ...request, refId: newUlid(), contentJson, bytes }
      const outcome = await deps.disk.admit(bytes, () => (isLarge(item) ? alone : group).add(item))
      deps.failpoints.hit('api.after_commit')
      if ('refused' in outcome) {
        if (outcome.refused === 'no_mailer') {
          const { mailerId, content } = request.email
          throw noMailer({ mailerId, from: content.from.address }, outcome.found)
        }
        const { refused, errors } = outcome
        throw new ApiError(refused, errors && { errors })
      }
      return outcome
    },
  }
}

function isLarge({ contentJson, email }: Item): boolean {
  return contentJson.length > CONTENT_LARGE || email.recipients.length > RECIPIENTS_LARGE
}

function bytesOf(email: NewEmail, contentJson: string): number {
  const links = (email.links ?? []).reduce((sum, url) => sum + url.length, 0)
  const rows = EMAIL_BYTES + RECIPIENT_BYTES * email.recipients.length
  return Buffer.byteLength(contentJson) + links + rows
}

async function acceptGroup(tx: Tx, items: readonly Item[]): Promise<Outcome[]> {
  const [{ now: createdAt, held }, mailers, suppressed, kept] = await Promise.all([
    readSenders(
      tx,
      items.map(({ tenantId }) => tenantId),
    ),
    findMailers(tx, items.map(toWantedMailer)),
    suppressedOf(tx, items),
    // A replay is answered although its mailer may be gone by now, so keys are kept at once; that
    // of a request which is then refused is taken back below.
    keepKeys(tx, items.flatMap(toKey)),
  ])
  const judged = items.map((item, i) => ({
    item,
    outcome:
      refuseHeld(held.get(item.tenantId)) ??
      judge(item, mailers[i], suppressed[i] ?? [], kept, createdAt),
  }))
  await Promise.all([
    addCounterChanges(
      tx,
      judged.flatMap((one) => toCounterChanges(one, createdAt)),
    ),
    dropKeys(
      tx,
      judged.flatMap(({ item, outcome }) => ('refused' in outcome ? toKey(item) : [])),
    ),
    insertEmails(
      tx,
      judged.flatMap(({ item, outcome }) =>
        'refused' in outcome || outcome.isReplay ? [] : [{ ...item, ...outcome, createdAt }],
      ),
    ),
    ...judged.flatMap(({ item, outcome }) =>
      'refused' in outcome || outcome.isReplay || outcome.suppressed.length === 0
        ? []
        : toKey(item).map((key) => noteSuppressed(tx, key, outcome.suppressed)),
    ),
  ])
  return judged.map(({ outcome }) => outcome)
}

function toCounterChanges(
  { item, outcome }: { readonly item: Item; readonly outcome: Outcome },
  at: Date,
): CounterChange[] {
  if ('refused' in outcome || outcome.isReplay) return []
  const suppressed = new Set(outcome.suppressed)
  const of = { tenantId: item.tenantId, subject: outcome.mailerId, at, n: 1 }
  const { campaignId = null, recipients } = item.email
  const counted = recipients.map(({ address }, n) => ({
    ...of,
    name: suppressed.has(n) ? 'suppressed' : 'accepted',
    groups: groupsOfAddress(address, campaignId),
  }))
  return [...counted, ...toUsage(item, suppressed.size, at)]
}

/** What the email takes of its tenant's quotas, whatever its mailer. */
function toUsage({ tenantId, email, bytes }: Item, suppressed: number, at: Date): CounterChange[] {
  const of = { tenantId, subject: usageSubject, at }
  return [
    { ...of, name: usageNames.emails, n: email.recipients.length - suppressed },
    { ...of, name: usageNames.bytes, n: bytes },
  ]
}

/** For each email the places of its recipients who must not be sent to. */
async function suppressedOf(tx: Tx, items: readonly Item[]): Promise<number[][]> {
  const asked = items.flatMap(({ tenantId, email }, i) =>
    email.recipients.map(({ address }, n) => ({ tenantId, address, i, n })),
  )
  const found = await findSuppressed(tx, asked)
  const places = items.map((): number[] => [])
  for (const [at, { i, n }] of asked.entries()) if (found[at] === true) places[i]?.push(n)
  return places
}

function toWantedMailer({ tenantId, email }: Item) {
  const { mailerId } = email
  const from = email.content.from.address
  return mailerId === undefined ? { tenantId, from } : { tenantId, mailerId, from }
}

/** Names the request too: taken back by one that did not get the key, it removes nothing. */
function toKey({ tenantId, idempotency, refId }: Item): NewKey[] {
  return idempotency === undefined ? [] : [{ tenantId, ...idempotency, refId }]
}

/** docs/reference/operator.md#suspension. A request that is repeated gets no answer of before, either. */
function refuseHeld(state: 'suspended' | 'deleting' | undefined): Refused | undefined {
  return state === undefined ? undefined : { refused: refusalOfState(state) }
}

function judge(
  { tenantId, idempotency, refId, email }: Item,
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
  if (mailer === undefined || 'problem' in mailer) return { refused: 'no_mailer', found: mailer }
  if (mailer.state !== 'active') return { refused: 'mailer_inactive' }
  const { mailerId } = mailer
  return { isReplay: false, refId, mailerId, isScheduled: isScheduled(refId, email), suppressed }
}

/** docs/reference/sending.md#scheduling: up to five minutes ago means now. */
function problemOfSendAt({ sendAt }: NewEmail, now: Date): string | undefined {
  const aheadMs = sendAt === undefined ? 0 : sendAt.getTime() - now.getTime()
  if (aheadMs > sendAtAheadMsMax) return 'must be at most 30 days ahead'
  return aheadMs < -sendAtPastMsMax ? 'is more than 5 minutes ago' : undefined
}
