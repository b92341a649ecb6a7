/**
 * An accepted email (docs/reference/sending.md#recipients): one send request with its recipients. Each
 * recipient is a send of its own, with its own attempts and events; all share the `ref_id` and the visible
 * headers.
 */
import type { RecipientType } from '@postrider/contract'
import type { FilePlace, LinkOffsets, PartPlace } from '@postrider/mail'
import { timeOfUlid } from '../../platform/ids.ts'

export interface Mailbox {
  /** In wire form: the domain in lower case, as A-labels. */
  readonly address: string
  readonly name?: string
}

export interface Attachment {
  readonly filename: string
  /** Base64, as given, without white space. */
  readonly content: string
  readonly type?: string
  readonly disposition?: 'attachment' | 'inline'
  readonly contentId?: string
  /** Of what is in the raw message alone, and not in `content`: its size, and where it stands. */
  readonly size?: number
  readonly place?: FilePlace
}

/** A message that was handed in whole. It goes out as it is, but for tracking. */
export interface RawPlan {
  readonly hasMessageId: boolean
  readonly hasUtf8Header: boolean
  /** Where texts stand that tracking changes. */
  readonly textPlace?: PartPlace
  readonly htmlPlace?: PartPlace
}

/** What the message is built from, the same for every recipient. `stored-content.ts` says how it is stored. */
export interface EmailContent {
  readonly from: Mailbox
  readonly to: readonly Mailbox[]
  readonly cc: readonly Mailbox[]
  readonly replyTo?: Mailbox
  readonly subject: string
  readonly text?: string
  readonly html?: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly attachments: readonly Attachment[]
  /** What is written into each recipient's own copy; absent when nothing is. */
  readonly tracking?: EmailTracking
  /** Beside the other fields, which say what is in it. */
  readonly raw?: RawPlan
  /** The message itself: stored beside, and read with it. */
  readonly rawBytes?: Buffer
  /** Subject and bodies are templates that cannot be rendered: why. */
  readonly templateProblem?: string
}

/** Places in the `html` beside it, as `LinkOffsets` has them. */
export interface EmailTracking {
  readonly pixelAt?: number
  readonly links?: LinkOffsets['links']
  /** Of a rendering: the numbers that its links have within the email. Absent: they are the same. */
  readonly linkNumbers?: readonly number[]
  /** Headers of RFC 8058, and an address for the placeholder. */
  readonly unsubscribes: boolean
}

export interface Recipient {
  /** As the caller wrote it: what answers and events show. */
  readonly email: string
  /** In wire form. */
  readonly address: string
  readonly type: RecipientType
}

/** The version of a stored template that an email was made of. */
export interface UsedTemplate {
  readonly templateId: string
  readonly version: number
}

/** What a recipient has of its own (`own-data/own-data.ts`). */
export interface OwnRecipient {
  readonly n: number
  /** As given, without those of the email. */
  readonly customArgs: Readonly<Record<string, unknown>> | null
  /** The number of its rendering, from 1; null: it gets the content of the email. */
  readonly rendering: number | null
}

export interface NewRendering {
  readonly subject: string
  /** As it is stored. */
  readonly content: Buffer
  /** About how much memory it takes. */
  readonly octets: number
}

export interface OwnData {
  readonly recipients: readonly OwnRecipient[]
  /** In the order of their numbers. */
  readonly renderings: readonly NewRendering[]
}

export interface NewEmail {
  readonly content: EmailContent
  readonly template?: UsedTemplate
  /** Why there is nothing to send: the template that was asked for is not there. */
  readonly templateAbsence?: string
  readonly recipients: readonly Recipient[]
  readonly customArgs: Readonly<Record<string, unknown>> | null
  readonly campaignId?: string
  readonly mailerId?: string
  readonly maxAttempts: number
  /** From `sendAt` on, where there is one. */
  readonly expiresInMs: number
  readonly sendAt?: Date
  /** What was asked for; what came of it is with the content. */
  readonly tracking: {
    readonly opens: boolean
    readonly clicks: boolean
    readonly unsubscribes: boolean
  }
  /** Absent: no recipient has data of its own. */
  readonly own?: OwnData
  /** Where its tracked links lead to, by their numbers. */
  readonly links?: readonly string[]
  /** A message that was handed in whole. */
  readonly raw?: {
    readonly messageId?: string | undefined
    /** Signed or encrypted: nothing in it may change. */
    readonly isSealed: boolean
  }
}

/**
 * Whether an email waits for its time. Told from its id, so that the answer to a repeated request is
 * that to the first, however late it comes.
 */
export function isScheduled(refId: string, { sendAt }: Pick<NewEmail, 'sendAt'>): boolean {
  return sendAt !== undefined && sendAt > timeOfUlid(refId)
}

/**
 * Stable over all attempts of one recipient, so that a copy that was delivered twice can be told
 * (docs/reference/sending.md#recipients). Derived, so that a crash cannot change it.
 */
export function messageIdOf(refId: string, n: number, fromAddress: string): string {
  return `<${envelopeIdOf(refId, n)}@${domainOf(fromAddress)}>`
}

/** Of a Message-ID that `messageIdOf` made: the number of its recipient. */
export function numberOfMessageId(messageId: string): number | undefined {
  const n = /^<[0-9A-Z]{26}\.(\d{1,5})@/.exec(messageId)?.[1]
  return n === undefined ? undefined : Number(n)
}

/** What a delivery report repeats where the server offers that (RFC 3461 §4.4): as stable. */
export function envelopeIdOf(refId: string, n: number): string {
  return `${refId}.${n}`
}

/** Of an address in wire form. */
export function domainOf(address: string): string {
  return address.slice(address.lastIndexOf('@') + 1)
}

/** An address's key as recipients are found by it: the domain is what it begins with, up to the `@`. */
export function domainFirst(addressKey: string): string {
  const at = addressKey.lastIndexOf('@')
  return `${addressKey.slice(at + 1)}@${addressKey.slice(0, at)}`
}

const BULK_RECIPIENTS_MIN = 20

/**
 * Whether an email is a campaign's, or goes to many. Other mail of its mailer goes first, save for a
 * share, so that a password reset does not wait for a newsletter.
 */
export function isBulk({ campaignId, recipients }: NewEmail): boolean {
  return campaignId !== undefined || recipients.length >= BULK_RECIPIENTS_MIN
}
