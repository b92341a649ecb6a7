/**
 * What is read out of a received message. It holds what the message holds: what is missing is empty,
 * and nothing is made up for it. All of its text is fit for PostgreSQL and JSON.
 */
import type { MailReport } from '../reports/mail-report.ts'

export interface ParsedMessage {
  /** With its angle brackets; '' without, as `inReplyTo`. */
  readonly messageId: string
  readonly inReplyTo: string
  readonly references: readonly string[]
  readonly from: ParsedMailbox
  readonly to: readonly ParsedMailbox[]
  readonly cc: readonly ParsedMailbox[]
  readonly replyTo: readonly ParsedMailbox[]
  readonly subject: string
  /** All plain parts that are shown, in their order; '' where there is only HTML. */
  readonly text: string
  readonly html: string
  /** In their order, unfolded, names as written. */
  readonly headers: readonly MessageHeader[]
  readonly attachments: readonly ParsedAttachment[]
  readonly isAutoReply: boolean
  readonly reports: readonly MailReport[]
  /** Why this is not all of the message. */
  readonly problem?: string
}

export interface ParsedMailbox {
  /** '' where there is a name only. */
  readonly email: string
  readonly name: string
}

export interface MessageHeader {
  readonly name: string
  /** Encoded words are left as they are. */
  readonly value: string
}

export interface ParsedAttachment {
  /** '' where the message names none. */
  readonly filename: string
  /** In lower case, without parameters. */
  readonly type: string
  readonly size: number
  /** Without angle brackets, as `cid:` names it. */
  readonly contentId: string | null
  readonly disposition: 'attachment' | 'inline'
  readonly content: Uint8Array<ArrayBuffer>
}

/** Nothing but why. */
export function unreadMessage(problem: string): ParsedMessage {
  return {
    messageId: '',
    inReplyTo: '',
    references: [],
    from: { email: '', name: '' },
    to: [],
    cc: [],
    replyTo: [],
    subject: '',
    text: '',
    html: '',
    headers: [],
    attachments: [],
    isAutoReply: false,
    reports: [],
    problem,
  }
}
