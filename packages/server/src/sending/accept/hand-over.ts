/**
 * Mail on its way from its acceptance to its first attempt in the same process: the attempt need not read from the
 * database what was written there a moment ago.
 *
 * A hint like all that is in memory: a claim whose mail is not here is read from the database. What is here is what
 * stands there, and does not change between the acceptance and the first claim. Short mail alone is kept, and so
 * much of it at most. When that is used up, what comes is not kept: mail leaves the queue in the order in which it
 * came, so what came first is asked for first. Mail that nobody has asked for in half a minute makes room: its
 * mailer waits, or belongs to another process.
 */
import type { Claim } from '../attempt/attempt.ts'
import type { EmailForSend, RecipientForSend } from '../attempt/attempt-store.ts'
import { type AcceptedEmail, storedMessageIdOf } from './accept-store.ts'

export type MailToHandOver = Omit<AcceptedEmail, 'ready'>

export interface MailForSend {
  readonly email: EmailForSend
  readonly recipients: readonly RecipientForSend[]
}

export interface HandOver {
  /** To be called after the commit. */
  put(mail: MailToHandOver): void
  /** Answers once, and for a first claim alone. */
  take(claim: Pick<Claim, 'tenantId' | 'refId' | 'attempt' | 'was'>): MailForSend | undefined
}

/** Of one email, in memory. */
const SHORT_BYTES = 32 * 1024
const BYTES_MAX = 16 * 1024 * 1024
/** Of an email beside its content. */
const OTHER_BYTES = 1024
const FORGOTTEN_MS = 30_000

export function createHandOver(monotonicMs: () => number = () => performance.now()): HandOver {
  const kept = new Map<string, { readonly mail: MailToHandOver; readonly atMs: number }>()
  let bytes = 0

  function remove(mail: MailToHandOver): void {
    if (kept.delete(mail.refId)) bytes -= bytesOf(mail)
  }

  function dropForgotten(nowMs: number): void {
    for (const { mail, atMs } of kept.values()) {
      if (nowMs - atMs < FORGOTTEN_MS) return
      remove(mail)
    }
  }

  return {
    put(mail) {
      if (!isShort(mail)) return
      const atMs = monotonicMs()
      const added = bytesOf(mail)
      if (bytes + added > BYTES_MAX) dropForgotten(atMs)
      if (bytes + added > BYTES_MAX) return
      kept.set(mail.refId, { mail, atMs })
      bytes += added
    },
    take({ tenantId, refId, attempt, was }) {
      const mail = kept.get(refId)?.mail
      if (mail?.tenantId !== tenantId) return undefined
      remove(mail)
      // An attempt may have changed its recipient.
      return attempt === 1 && was === 'waiting' ? toMailForSend(mail) : undefined
    },
  }
}

function isShort({ email: { content, own }, contentBytes }: MailToHandOver): boolean {
  return (
    contentBytes <= SHORT_BYTES &&
    own === undefined &&
    content.attachments.length === 0 &&
    content.rawBytes === undefined
  )
}

function bytesOf({ contentBytes, email }: MailToHandOver): number {
  return contentBytes + OTHER_BYTES * (1 + email.recipients.length)
}

/** As `loadForSend` reads it. */
function toMailForSend(mail: MailToHandOver): MailForSend {
  const { refId, email, suppressed } = mail
  return {
    email: {
      ref_id: refId,
      from_email: email.content.from.address,
      campaign_id: email.campaignId ?? null,
      content: email.content,
      message_id: email.raw?.messageId ?? null,
      custom_args: email.customArgs,
      has_own: null,
      traceparent: mail.traceparent,
      created_at: mail.createdAt,
    },
    recipients: email.recipients.flatMap((recipient, n) =>
      suppressed.includes(n)
        ? []
        : [{ ref_id: refId, n, email: recipient.email, message_id: storedMessageIdOf(mail, n) }],
    ),
  }
}
