/** Loads what a lane's claims need: one reading of the mailer, and one of each email they share. */
import { loadMailerForSend } from '../mailers/index.ts'
import type { Db } from '../platform/db/index.ts'
import type { Logger } from '../platform/log.ts'
import { type KeyRing, SealedValueError } from '../platform/secrets/index.ts'
import type { Claim, LoadedAttempt } from './attempt.ts'
import { type EmailForSend, loadForSend } from './attempt-store.ts'
import { LARGE_CONTENT_BYTES, type LargeEmails } from './large-emails.ts'
import { type PreparedEmail, prepareEmail } from './prepare-email.ts'
import type { LaneKey } from './queue-store.ts'

export interface LoadAttemptsDeps {
  readonly db: Db
  readonly keyRing: KeyRing
  readonly largeEmails: LargeEmails
  readonly log: Logger
}

export interface LoadedClaims {
  readonly attempts: readonly LoadedAttempt[]
  /** In the queue, but their email is gone: nothing is known to send or to report. */
  readonly orphans: readonly Claim[]
  readonly connectionsMax: number
}

export async function loadAttempts(
  deps: LoadAttemptsDeps,
  lane: LaneKey,
  claims: readonly Claim[],
): Promise<LoadedClaims> {
  const small = claims.filter((claim) => claim.contentBytes < LARGE_CONTENT_BYTES)
  const contentsOf = [...new Set(small.map((claim) => claim.refId))]
  const [mailer, { emails, recipients }] = await Promise.all([
    loadMailer(deps, lane),
    loadForSend(deps.db, lane.tenantId, claims, contentsOf),
  ])
  const emailOf = new Map(emails.map((e) => [e.ref_id, { ...e, prepareSmall: preparation(e) }]))
  const recipientOf = new Map(recipients.map((r) => [`${r.ref_id}.${r.n}`, r]))
  const attempts: LoadedAttempt[] = []
  const orphans: Claim[] = []
  for (const claim of claims) {
    const email = emailOf.get(claim.refId)
    const recipient = recipientOf.get(`${claim.refId}.${claim.n}`)
    if (email === undefined || recipient === undefined) {
      orphans.push(claim)
      continue
    }
    const { created_at: createdAt, prepareSmall } = email
    attempts.push({
      claim,
      mailer,
      prepare: prepareSmall ?? (() => deps.largeEmails.get(claim, createdAt)),
      customArgs: email.custom_args,
      traceparent: email.traceparent,
      email: recipient.email,
      messageId: recipient.message_id,
    })
  }
  const connectionsMax = typeof mailer === 'object' ? mailer.connectionsMax : 1
  return { attempts, orphans, connectionsMax }
}

/** Once for all recipients that were claimed together; undefined without its content. */
function preparation({ ref_id: refId, created_at: createdAt, content }: EmailForSend) {
  if (content === null) return undefined
  let prepared: Promise<PreparedEmail> | undefined
  return () => {
    prepared ??= prepareEmail(refId, createdAt, content)
    return prepared
  }
}

async function loadMailer(deps: LoadAttemptsDeps, lane: LaneKey): Promise<LoadedAttempt['mailer']> {
  try {
    const { tenantId, mailerId } = lane
    return (await loadMailerForSend(deps.db, deps.keyRing, tenantId, mailerId)) ?? 'gone'
  } catch (error) {
    if (!(error instanceof SealedValueError)) throw error
    deps.log.error({ err: error, mailer_id: lane.mailerId }, 'mailer.unreadable')
    return 'unreadable'
  }
}
