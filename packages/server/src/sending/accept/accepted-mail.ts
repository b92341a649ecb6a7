/**
 * Mail on its way from its acceptance to its first attempt in the same process: the attempt need not read from the
 * database what was written there a moment ago. What is here is what stands there, and does not change between the
 * acceptance and the first claim. Short mail alone is kept.
 */
import { createHandOver } from '@postrider/runtime/hand-over'
import type { Claim } from '../attempt/attempt.ts'
import type { EmailForSend, RecipientForSend } from '../attempt/attempt-store.ts'
import { type AcceptedEmail, storedMessageIdOf } from './accept-store.ts'

export type JustAccepted = Omit<AcceptedEmail, 'ready'>

export interface MailForSend {
  readonly email: EmailForSend
  readonly recipients: readonly RecipientForSend[]
}

type FirstClaim = Pick<Claim, 'tenantId' | 'refId' | 'attempt' | 'was'>

export interface AcceptedMail {
  /** To be called after the commit. */
  put(mail: JustAccepted): void
  /** Answers once: to claims of recipients of one email, where they are the first claims of all of them. */
  take(claims: readonly FirstClaim[]): MailForSend | undefined
}

/** Of one email. */
const CONTENT_BYTES_MAX = 32 * 1024
const ARGS_CHARS_MAX = 1024
/** By a careful estimate. */
const BYTES_MAX = 32 * 1024 * 1024
/** The mailer of mail that waits for longer waits as well. */
const KEPT_MS = 30_000

/** @param isServedHere whether this process sends a mailer's mail: for others, it would take room for nothing */
export function createAcceptedMail(isServedHere: (mailerId: string) => boolean): AcceptedMail {
  const kept = createHandOver<JustAccepted>({ bytesMax: BYTES_MAX, keptMs: KEPT_MS })
  return {
    put(mail) {
      const bytes = isServedHere(mail.mailerId) ? bytesOf(mail) : undefined
      if (bytes !== undefined) kept.put(keyOf(mail), mail, bytes)
    },
    take(claims) {
      const mail = claims[0] && kept.take(keyOf(claims[0]))
      // An attempt may have changed its recipient.
      const areFirst = claims.every(({ attempt, was }) => attempt === 1 && was === 'waiting')
      return mail && areFirst ? toMailForSend(mail) : undefined
    },
  }
}

const keyOf = ({ tenantId, refId }: Pick<Claim, 'tenantId' | 'refId'>) => `${tenantId} ${refId}`

/** Characters that are not Latin take two bytes. */
const CHAR_BYTES = 2
/** Of what is objects and lists in memory, for each character of its JSON. */
const JSON_CHAR_BYTES = 16
const EMAIL_BYTES = 1024
const RECIPIENT_BYTES = 512

/** About what it takes in memory; undefined where it is not kept. */
function bytesOf(mail: JustAccepted): number | undefined {
  const { email, contentBytes } = mail
  const { content, customArgs, links = [], own, recipients } = email
  const isShort = contentBytes <= CONTENT_BYTES_MAX && content.rawBytes === undefined
  if (!isShort || content.attachments.length > 0 || own !== undefined) return undefined
  const argsChars = customArgs === null ? 0 : JSON.stringify(customArgs).length
  if (argsChars > ARGS_CHARS_MAX) return undefined
  const bodyChars = (content.html?.length ?? 0) + (content.text?.length ?? 0)
  const linkChars = links.reduce((sum, url) => sum + url.length, 0)
  const jsonChars = argsChars + Math.max(0, contentBytes - bodyChars)
  return (
    EMAIL_BYTES +
    RECIPIENT_BYTES * recipients.length +
    CHAR_BYTES * (bodyChars + linkChars) +
    JSON_CHAR_BYTES * jsonChars
  )
}

/** As `loadForSend` reads it. */
function toMailForSend(mail: JustAccepted): MailForSend {
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
