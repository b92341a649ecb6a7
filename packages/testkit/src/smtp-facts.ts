/**
 * What a scripted SMTP server saw and did, one fact at a time, each told before its effect can be
 * observed by the peer (a reply's fact before the reply is written), so that a log of them is the
 * ground truth about what this side knows.
 */
import type { SmtpPhase } from './smtp-script.ts'

export type SmtpFact =
  | { readonly fact: 'connection.opened'; readonly connection: number }
  | { readonly fact: 'connection.secured'; readonly connection: number }
  | {
      readonly fact: 'command.received'
      readonly connection: number
      readonly phase: SmtpPhase
      readonly line: string
    }
  | {
      readonly fact: 'reply.given'
      readonly connection: number
      readonly phase: SmtpPhase
      /** Lines joined by LF; null when nothing that is a reply is said. */
      readonly reply: string | null
      readonly recipient?: string | undefined
      readonly attempt?: number | undefined
      readonly username?: string | undefined
    }
  | {
      /** The final dot has arrived: from here on the mail may count as delivered. */
      readonly fact: 'message.received'
      readonly connection: number
      readonly transaction: number
      readonly from: string
      readonly recipients: readonly string[]
      readonly messageId: string
      readonly raw: Buffer
      /** The reply that will be given, null when none will: hang, disconnect, or noise. */
      readonly reply: string | null
      readonly accepted: boolean
    }
  | {
      /** The reply to the final dot was handed to the kernel. */
      readonly fact: 'reply.flushed'
      readonly connection: number
      readonly transaction: number
    }
  | {
      readonly fact: 'connection.closed'
      readonly connection: number
      readonly phase: SmtpPhase
    }

/** One mail transaction that came as far as DATA with at least one recipient. */
export interface SmtpTransaction {
  readonly transaction: number
  readonly connection: number
  readonly from: string
  readonly recipients: readonly string[]
  readonly messageId: string
  /** The bytes between DATA and the final dot, without dot-stuffing. */
  readonly raw: Buffer
  readonly reply: string | null
  readonly accepted: boolean
  readonly replyFlushed: boolean
}

export interface SmtpConnectionRecord {
  readonly connection: number
  readonly commands: readonly string[]
  /** The phase of the latest thing that happened on it. */
  readonly phase: SmtpPhase
  readonly secure: boolean
  readonly username: string | undefined
  readonly closed: boolean
}

/** The value of the Message-ID header, with its brackets; empty when there is none. */
export function readMessageId(raw: Buffer): string {
  const headerEnd = raw.indexOf('\r\n\r\n')
  const headers = raw.toString('latin1', 0, headerEnd < 0 ? raw.length : headerEnd)
  return /^message-id:(?:\r\n)?[ \t]*([^\r\n]+)/im.exec(headers)?.[1]?.trim() ?? ''
}
