/** Loads what a queue's claims need: each email that they share once. */
import { parseAddress } from '@postrider/mail'
import type { Db, Queryable } from '../../../platform/db/index.ts'
import { findSuppressed } from '../../../suppressions/index.ts'
import type { AcceptedMail } from '../../accept/accepted-mail.ts'
import type { Claim, LoadedClaim } from '../../attempt/attempt.ts'
import { type EmailForSend, loadForSend } from '../../attempt/attempt-store.ts'
import { type PreparedEmail, prepareEmail } from '../../attempt/prepare-email.ts'
import { layOver } from '../../own-data/own-data.ts'
import { readOwn } from '../../own-data/own-data-store.ts'
import { groupsOfRecipient } from '../../record/counter-groups.ts'
import { messageIdOf, type OwnRecipient } from '../../record/email.ts'
import type { TrackingUrls } from '../../tracking/tracking-urls.ts'
import type { QueueKey } from './claim-store.ts'
import { LARGE_CONTENT_BYTES, type LargeEmails } from './large-emails.ts'

export interface LoadAttemptsDeps {
  readonly db: Db
  readonly largeEmails: LargeEmails
  readonly trackingUrls: TrackingUrls
  /** What this process has accepted. */
  readonly acceptedMail?: Pick<AcceptedMail, 'take'> | undefined
  /** Of an email that is held already: it is not loaded again. */
  readonly prepareOf: (claim: Claim) => LoadedClaim['prepare'] | undefined
  readonly monotonicMs: () => number
}

export interface LoadedClaims {
  readonly attempts: readonly LoadedClaim[]
  /** In the queue, but their email is gone: nothing is known to send or to report. */
  readonly orphans: readonly Claim[]
}

/** One that has waited for its turn for longer is looked up again before it is sent. */
const SUPPRESSION_FRESH_MS = 2_000

export async function loadAttempts(
  deps: LoadAttemptsDeps,
  queue: QueueKey,
  claims: readonly Claim[],
): Promise<LoadedClaims> {
  const { mailerId, tenantId } = queue
  const prepareOf = new Map(claims.map((claim) => [claim.refId, deps.prepareOf(claim)]))
  const isWanted = ({ contentBytes, refId }: Claim) =>
    contentBytes < LARGE_CONTENT_BYTES && prepareOf.get(refId) === undefined
  const { emails, recipients } = await findMail(deps, tenantId, claims, isWanted)
  const emailOf = new Map(
    emails.map((e) => [
      e.ref_id,
      { ...e, prepareSmall: preparation(deps.trackingUrls, { tenantId, mailerId }, e) },
    ]),
  )
  const recipientOf = new Map(recipients.map((r) => [`${r.ref_id}.${r.n}`, r]))
  const ownOf = await readOwnOf(deps.db, queue.tenantId, emails, claims)
  const suppressionOf = await lookUpSuppressions(deps, queue.tenantId, recipients)
  const attempts: LoadedClaim[] = []
  const orphans: Claim[] = []
  for (const claim of claims) {
    const email = emailOf.get(claim.refId)
    const recipient = recipientOf.get(`${claim.refId}.${claim.n}`)
    if (email === undefined || recipient === undefined) {
      orphans.push(claim)
      continue
    }
    const { prepareSmall = prepareOf.get(claim.refId) } = email
    const own = ownOf.get(`${claim.refId}.${claim.n}`)
    const rendering = own?.rendering ?? undefined
    const prepareLarge = () => deps.largeEmails.get({ ...claim, ...factsOf(email), rendering })
    const messageId = email.message_id ?? messageIdOf(claim.refId, claim.n, email.from_email)
    attempts.push({
      claim: {
        ...claim,
        groups: groupsOfRecipient(recipient.email, email.campaign_id),
        email: recipient.email,
        ...(rendering === undefined ? {} : { rendering }),
      },
      prepare: rendering === undefined ? (prepareSmall ?? prepareLarge) : prepareLarge,
      customArgs: layOver(email.custom_args, own?.customArgs ?? null),
      traceparent: email.traceparent,
      email: recipient.email,
      messageId,
      // Of a recipient that was sent to by a provider before, the row has the provider's own id.
      isMessageIdStored: recipient.message_id === messageId,
      isSuppressed: suppressionOf(recipient.email),
    })
  }
  return { attempts, orphans }
}

/** What this process has accepted a moment ago is here; the rest is read. */
async function findMail(
  { db, acceptedMail }: LoadAttemptsDeps,
  tenantId: string,
  claims: readonly Claim[],
  isWanted: (claim: Claim) => boolean,
) {
  const here = new Map(
    [...Map.groupBy(claims, ({ refId }) => refId)].map(([refId, its]) => [
      refId,
      acceptedMail?.take(its),
    ]),
  )
  const unknown = claims.filter(({ refId }) => here.get(refId) === undefined)
  const contentsOf = [...new Set(unknown.filter(isWanted).map((claim) => claim.refId))]
  const { emails, recipients } = await loadForSend(db, tenantId, unknown, contentsOf)
  const handed = [...here.values()].filter((mail) => mail !== undefined)
  return {
    emails: [...handed.map(({ email }) => email), ...emails],
    recipients: [...handed.flatMap((mail) => mail.recipients), ...recipients],
  }
}

/** By `refId.n`. Nothing is asked for where no email of the claims has any. */
async function readOwnOf(
  q: Queryable,
  tenantId: string,
  emails: readonly EmailForSend[],
  claims: readonly Claim[],
): Promise<ReadonlyMap<string, OwnRecipient | undefined>> {
  const having = new Set(emails.flatMap((e) => (e.has_own === null ? [] : [e.ref_id])))
  if (having.size === 0) return new Map()
  const keys = claims.flatMap(({ refId, n }) => (having.has(refId) ? [{ tenantId, refId, n }] : []))
  const found = await readOwn(q, keys)
  return new Map(keys.map(({ refId, n }, i) => [`${refId}.${n}`, found[i]]))
}

/** Of one tenant's recipients at once; each is looked up again when that was too long ago. */
async function lookUpSuppressions(
  { db, monotonicMs }: LoadAttemptsDeps,
  tenantId: string,
  recipients: readonly { readonly email: string }[],
): Promise<(email: string) => () => Promise<boolean>> {
  const toAsked = (email: string) => {
    const parsed = parseAddress(email)
    return { tenantId, address: parsed.ok ? parsed.address.address : email }
  }
  const lookedUpMs = monotonicMs()
  const found = await findSuppressed(
    db,
    recipients.map(({ email }) => toAsked(email)),
  )
  const suppressed = new Set(recipients.flatMap(({ email }, i) => (found[i] ? [email] : [])))
  return (email) => async () => {
    if (suppressed.has(email)) return true
    if (monotonicMs() - lookedUpMs < SUPPRESSION_FRESH_MS) return false
    const [isSuppressed = false] = await findSuppressed(db, [toAsked(email)])
    return isSuppressed
  }
}

/** Once for all recipients that were claimed together; undefined without its content. */
function preparation(urls: TrackingUrls, key: QueueKey, { content, ...row }: EmailForSend) {
  if (content === null) return undefined
  const email = { ...key, refId: row.ref_id, ...factsOf(row) }
  let prepared: Promise<PreparedEmail> | undefined
  return () => {
    prepared ??= prepareEmail(urls, email, content)
    return prepared
  }
}

function factsOf(row: Pick<EmailForSend, 'created_at' | 'campaign_id' | 'message_id'>) {
  const { created_at: createdAt, campaign_id: campaignId, message_id: messageId } = row
  return { createdAt, campaignId, messageId }
}
