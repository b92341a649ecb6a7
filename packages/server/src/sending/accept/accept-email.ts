/**
 * Accepts emails: a 202 means that the email, its recipients, its place in the queue and its
 * idempotency key are committed and flushed, in one transaction.
 *
 * Requests that arrive while a commit is in flight share the next one, whatever their tenants. Tenants
 * take turns in it, so that the queue of one does not go before the others. Large requests go alone, a few at a
 * time, so that nobody waits for another's attachments.
 */
import { setImmediate } from 'node:timers/promises'
import { findMailers, inactiveMailer, noMailer } from '../../mailers/index.ts'
import { addCounterChanges, type CounterChange } from '../../platform/counters/counter-store.ts'
import { createGroupCommit, type Db, type Tx } from '../../platform/db/index.ts'
import { ApiError } from '../../platform/errors.ts'
import type { Failpoints } from '../../platform/failpoints.ts'
import { newUlid } from '../../platform/ids.ts'
import type { DiskGuard } from '../../platform/process/disk-guard.ts'
import { findSuppressed } from '../../suppressions/index.ts'
import {
  chargeQuotas,
  collide,
  createKnownRefusals,
  doTestsFit,
  lockUsage,
  overQuotaError,
  readSenders,
  readTestsLeft,
  type Senders,
  type UsageCounts,
  usageNames,
  usageSubject,
} from '../../tenants/index.ts'
import { groupsOfAddress } from '../record/counter-groups.ts'
import type { NewEmail } from '../record/email.ts'
import { makeReady, type ReadyContent } from '../record/stored-content.ts'
import { type AcceptedEmail, insertEmails } from './accept-store.ts'
import type { AcceptedMail } from './accepted-mail.ts'
import { keyOfMode } from './idempotency.ts'
import {
  type Accepted,
  countSent,
  type Judgement,
  judgeEmails,
  judgeTogether,
  type Outcome,
  type Refused,
} from './judge-emails.ts'
import { dropKeys, keepKeys, type NewKey, noteSuppressed } from './key-store.ts'

export type { Accepted } from './judge-emails.ts'

export interface AcceptRequest {
  readonly tenantId: string
  readonly email: NewEmail
  readonly traceparent: string
  /** It was asked for by a key of test mode: nothing of it is sent (docs/reference/test-mode.md). */
  readonly isTest: boolean
  readonly idempotency?: { readonly key: string; readonly bodyHash: Buffer }
  /** Whether its caller has given it up: then it is not committed any more, but refused as `unavailable`. */
  readonly isLate?: (() => boolean) | undefined
}

export interface AcceptEmails {
  /**
   * Throws the refusals of sendEmail (docs/reference/sending.md#accepting), `unavailable` where the disk has
   * no room.
   */
  accept(request: AcceptRequest): Promise<Accepted>
  /**
   * All in one transaction, or none when one is refused: then each is its refusal, or `batch_refused` where it
   * is refused for the others. No two may have one idempotency key.
   */
  acceptTogether(requests: readonly AcceptRequest[]): Promise<readonly (Accepted | ApiError)[]>
  /** With what any request of the tenant is refused, if that is known before it is read. */
  refuseEarly(tenantId: string, isTest: boolean): ApiError | undefined
}

interface Item extends AcceptRequest {
  readonly refId: string
  readonly ready: ReadyContent
  readonly contentBytes: number
  /** What it takes to store it once. */
  readonly bytes: number
}

/** How many emails one commit takes at most. */
export const GROUP_MAX = 64
const COMMITS_AT_ONCE = 2
const CONTENT_LARGE = 128 * 1024
const RECIPIENTS_LARGE = 20
/** In the tables and their indexes, beside the content. */
const EMAIL_BYTES = 2 * 1024
const RECIPIENT_BYTES = 1024
const OWN_BYTES = 256

export function createAcceptEmails(deps: {
  readonly db: Db
  readonly failpoints: Failpoints
  readonly disk: Pick<DiskGuard, 'admit'>
  readonly usageCounts: UsageCounts
  /** Where this process sends, too. */
  readonly acceptedMail?: AcceptedMail | undefined
  readonly monotonicMs?: () => number
}): AcceptEmails {
  const run = async (tx: Tx, items: readonly Item[], isTogether: boolean) => {
    refuseLate(items)
    const outcomes = await acceptGroup(tx, items, isTogether)
    deps.failpoints.hit('api.before_commit')
    // Nothing is awaited between this and the commit.
    refuseLate(items)
    return outcomes
  }
  const commits = { db: deps.db, parallel: COMMITS_AT_ONCE }
  const group = createGroupCommit<Item, Outcome>({
    ...commits,
    itemsMax: GROUP_MAX,
    tenantOf: ({ tenantId }) => tenantId,
    run: (tx, items) => run(tx, items, false),
  })
  /** Of one tenant: a large email, or those that are accepted together. */
  const alone = createGroupCommit<readonly Item[], readonly Outcome[]>({
    ...commits,
    itemsMax: 1,
    tenantOf: ([first]) => first?.tenantId ?? '',
    run: (tx, several) => Promise.all(several.map((items) => run(tx, items, true))),
  })
  const known = { live: createKnownRefusals(deps), test: createKnownRefusals(deps) }
  const knownOf = (isTest: boolean) => (isTest ? known.test : known.live)

  async function commitOne(item: Item): Promise<Outcome> {
    if (!isLarge(item)) return group.add(item)
    const [outcome] = await alone.add([item])
    if (outcome === undefined) throw new Error('a commit told nothing of its email')
    return outcome
  }

  /** For the sender of this process, if it is to be sent now. To be called after the commit. */
  function keep(item: Item, outcome: Accepted): void {
    if (outcome.isReplay || outcome.isScheduled) return
    const { tenantId, email, traceparent, contentBytes } = item
    deps.acceptedMail?.put({ ...outcome, tenantId, email, traceparent, contentBytes })
  }

  return {
    refuseEarly(tenantId, isTest) {
      // No request asks for less.
      const over = knownOf(isTest).find(tenantId, { emails: 1, bytes: 1 })
      return over && overQuotaError(over)
    },
    async accept(request) {
      const item = await toItem(request)
      const { tenantId, bytes } = item
      const emails = request.email.recipients.length
      const refusals = knownOf(request.isTest)
      const over = refusals.find(tenantId, { emails, bytes })
      if (over !== undefined) throw overQuotaError(over)
      const noteRefusal = refusals.begin(tenantId)
      const commit = () => deps.disk.admit(bytes, () => commitOne(item))
      let outcome = await commit()
      // Mail may have left the queue, or the tables, since it was counted.
      if (isFullQueue(outcome) && (await deps.usageCounts.freshen(tenantId)))
        outcome = await commit()
      deps.failpoints.hit('api.after_commit')
      if (!('refused' in outcome)) {
        keep(item, outcome)
        return outcome
      }
      if (outcome.refused === 'quota_exceeded') noteRefusal(outcome.over)
      throw refusalOf(outcome, request.email)
    },
    async acceptTogether(requests) {
      const items: Item[] = []
      for (const request of requests) {
        items.push(await toItem(request))
        // The content of many is written as JSON, and compressed, here.
        await setImmediate()
      }
      const [first] = items
      if (first === undefined) return []
      const bytes = items.reduce((sum, item) => sum + item.bytes, 0)
      const commit = () => deps.disk.admit(bytes, () => alone.add(items))
      let outcomes = await commit()
      if (outcomes.some(isFullQueue) && (await deps.usageCounts.freshen(first.tenantId)))
        outcomes = await commit()
      deps.failpoints.hit('api.after_commit')
      return items.map((item, i) => {
        const outcome = outcomes[i]
        if (outcome === undefined) throw new Error('a commit told nothing of its email')
        if ('refused' in outcome) return refusalOf(outcome, item.email)
        keep(item, outcome)
        return outcome
      })
    },
  }
}

/** Fails its group, whose items are then run one by one. */
function refuseLate(items: readonly Item[]): void {
  if (items.some(({ isLate }) => isLate?.() === true)) throw new ApiError('unavailable')
}

async function toItem(request: AcceptRequest): Promise<Item> {
  const refId = newUlid()
  const { octets, ready } = await makeReady(refId, request.email.content)
  const renderings = (request.email.own?.renderings ?? []).map((rendering) => rendering.octets)
  // A recipient's copy is of the email and one rendering.
  const contentBytes = octets + renderings.reduce((most, one) => Math.max(most, one), 0)
  const bytes = renderings.reduce((sum, one) => sum + one, bytesOf(request.email, octets))
  return { ...ofMode(request), refId, ready, contentBytes, bytes }
}

/** A key of test mode repeats what a key of test mode has asked for, and nothing else. */
function ofMode(request: AcceptRequest): AcceptRequest {
  const { idempotency, isTest } = request
  if (idempotency === undefined) return request
  return { ...request, idempotency: { ...idempotency, key: keyOfMode(idempotency.key, isTest) } }
}

function isFullQueue(outcome: Outcome): boolean {
  if (!('refused' in outcome) || outcome.refused !== 'quota_exceeded') return false
  const { quota } = outcome.over
  return quota === 'queued_max' || quota === 'storage_bytes_max'
}

function refusalOf(outcome: Refused, { mailerId, content }: NewEmail): ApiError {
  switch (outcome.refused) {
    case 'no_mailer':
      return noMailer({ mailerId, from: content.from.address }, outcome.found)
    case 'no_template':
      return new ApiError('no_template', { message: outcome.absence })
    case 'quota_exceeded':
      return overQuotaError(outcome.over)
    case 'mailer_inactive':
      return inactiveMailer(outcome.mailer)
    default:
      return new ApiError(outcome.refused, outcome.errors && { errors: outcome.errors })
  }
}

function isLarge({ contentBytes, email }: Item): boolean {
  return contentBytes > CONTENT_LARGE || email.recipients.length > RECIPIENTS_LARGE
}

function bytesOf(email: NewEmail, contentBytes: number): number {
  const links = (email.links ?? []).reduce((sum, url) => sum + url.length, 0)
  const ofOwn = (email.own?.recipients ?? []).reduce(
    (sum, { customArgs }) => sum + OWN_BYTES + (customArgs ? JSON.stringify(customArgs).length : 0),
    0,
  )
  const rows = EMAIL_BYTES + RECIPIENT_BYTES * email.recipients.length + ofOwn
  return contentBytes + links + rows
}

async function acceptGroup(
  tx: Tx,
  items: readonly Item[],
  isTogether: boolean,
): Promise<readonly Outcome[]> {
  const tenantIds = items.map(({ tenantId }) => tenantId)
  const [senders, mailers, suppressed, kept] = await Promise.all([
    readSenders(tx, tenantIds),
    findMailers(tx, items.map(toWantedMailer)),
    suppressedOf(tx, items),
    // A replay is answered although its mailer may be gone by now, so keys are kept at once; that
    // of a request which is then refused is taken back below.
    keepKeys(tx, items.flatMap(toKey)),
  ])
  const tested = [...new Set(items.flatMap(({ tenantId, isTest }) => (isTest ? tenantId : [])))]
  const testsLeft = await readTestsLeft(tx, tested, senders.now)
  const found = { mailers, suppressed, kept, testsLeft }
  const judge = isTogether ? judgeTogether : judgeEmails
  const outcomes = await writeCharged(tx, items, senders, (known) => judge(items, known, found))
  // Test mail was counted without a lock, too. Where others were faster, all of it is run again, and refused.
  if (!(await doTestsFit(tx, tested, senders.now))) await collide(tx)
  return outcomes
}

async function writeCharged(
  tx: Tx,
  items: readonly Item[],
  senders: Senders,
  judge: (senders: Senders) => Judgement,
): Promise<readonly Outcome[]> {
  const { outcomes, charges, isNearEdge } = judge(senders)
  if (charges.length === 0) return writeGroup(tx, items, outcomes)
  // What a tenant has used was read without a lock, and is added to last: a flood of one tenant delays others that
  // share its commits for as long as a commit takes. Only where somebody else was faster, near the edge of a
  // quota, the group is judged and written once more, under the lock.
  if (isNearEdge) await tx.query('savepoint before_writing')
  await writeGroup(tx, items, outcomes)
  if (await chargeQuotas(tx, charges, senders.now)) return outcomes
  if (!isNearEdge) await collide(tx)
  await tx.query('rollback to savepoint before_writing')
  const tenantIds = items.map(({ tenantId }) => tenantId)
  await lockUsage(tx, tenantIds)
  const locked = await readSenders(tx, tenantIds)
  const again = judge(locked)
  await writeGroup(tx, items, again.outcomes)
  if (!(await chargeQuotas(tx, again.charges, locked.now)))
    throw new Error('usage of quotas changed under its lock')
  return again.outcomes
}

async function writeGroup(
  tx: Tx,
  items: readonly Item[],
  outcomes: readonly Outcome[],
): Promise<readonly Outcome[]> {
  const judged = items.flatMap((item, i) => {
    const outcome = outcomes[i]
    return outcome === undefined ? [] : [{ item, outcome }]
  })
  const accepted = judged.flatMap(({ item, outcome }) =>
    'refused' in outcome || outcome.isReplay ? [] : [{ item, outcome }],
  )
  await Promise.all([
    addCounterChanges(
      tx,
      accepted.flatMap(({ item, outcome }) => toCounterChanges(item, outcome)),
    ),
    dropKeys(
      tx,
      judged.flatMap(({ item, outcome }) => ('refused' in outcome ? toKey(item) : [])),
    ),
    insertInSlices(
      tx,
      accepted.map(({ item, outcome }) => ({ ...item, ...outcome })),
    ),
    ...accepted.flatMap(({ item, outcome: { suppressed } }) =>
      suppressed.length === 0 ? [] : toKey(item).map((key) => noteSuppressed(tx, key, suppressed)),
    ),
  ])
  return outcomes
}

/** What is compressed and handed to the database at once delays the event loop; a group of small emails is one slice. */
const SLICE_BYTES = 2 * 1024 * 1024

async function insertInSlices(
  tx: Tx,
  emails: readonly (AcceptedEmail & { readonly bytes: number })[],
): Promise<void> {
  let [from, bytes] = [0, 0]
  for (const [i, email] of emails.entries()) {
    bytes += email.bytes
    if (bytes < SLICE_BYTES && i + 1 < emails.length) continue
    await insertEmails(tx, emails.slice(from, i + 1))
    ;[from, bytes] = [i + 1, 0]
  }
}

function toCounterChanges(
  item: Item,
  outcome: Accepted & { readonly isReplay: false },
): CounterChange[] {
  const at = outcome.createdAt
  const suppressed = new Set(outcome.suppressed)
  const of = { tenantId: item.tenantId, subject: outcome.mailerId, at, n: 1 }
  const { campaignId = null, recipients } = item.email
  const counted = recipients.map(({ address }, n) => ({
    ...of,
    name: suppressed.has(n) ? 'suppressed' : 'accepted',
    groups: groupsOfAddress(address, campaignId),
  }))
  // What the email takes of its tenant's quotas, whatever its mailer. Test mail takes room alone.
  const used = { tenantId: item.tenantId, subject: usageSubject, at }
  return [
    ...counted,
    item.isTest
      ? { ...used, name: usageNames.tests, n: recipients.length }
      : { ...used, name: usageNames.emails, n: countSent(item, outcome) },
    { ...used, name: usageNames.bytes, n: item.bytes },
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
