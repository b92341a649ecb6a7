/**
 * What went wrong with a mailbox, as a value: at its server, or on the way there.
 *
 * `reply` is the server's refusal where there was one (RFC 3501 §7.1): to the command of that stage,
 * or the BYE with which it ended the connection.
 */
import { type FailureCategory, failedReasonOf } from '../failure-category.ts'

export type ImapStage =
  | 'connect'
  | 'starttls'
  /** The answer to LOGIN or AUTHENTICATE. */
  | 'auth'
  /** A folder is opened. */
  | 'open'
  | 'fetch'

export interface ImapReply {
  readonly status: 'NO' | 'BAD' | 'BYE'
  /** The response code in its brackets, in upper case. */
  readonly code?: string
  /** As received, without the tag. */
  readonly text: string
}

export interface ImapFailure {
  readonly stage: ImapStage
  readonly reply?: ImapReply
  /** As in an SMTP failure (smtp/failure.ts), or one of `IMAP_REFUSALS`. */
  readonly systemCode?: string
  readonly message?: string
  /** In which it was met, where it was in one. */
  readonly folder?: string
}

/** The codes of this service's own refusals. */
export const IMAP_REFUSALS = {
  noLoginOffered: 'ENOAUTH',
  noTlsOffered: 'ENOTLS',
  noGreeting: 'ENOGREETING',
  folderMissing: 'EFOLDER',
  unnumbered: 'EUIDVALIDITY',
  tooMuch: 'ETOOMUCH',
  /** Nothing that the server has done. */
  internal: 'EINTERNAL',
} as const

/** Sentences that an SMTP failure never has; part of the interface as those are. */
export const IMAP_SENTENCES = {
  no_greeting: 'Connected, but no IMAP greeting came: is this a TLS port?',
  folder_missing: 'A watched folder does not exist',
  unnumbered: 'The mail server does not number the messages of a watched folder',
  too_much: 'The mail server sent more than was asked for',
} as const

export type ImapFailureCategory = FailureCategory | keyof typeof IMAP_SENTENCES

export function imapFailedReasonOf(category: ImapFailureCategory): string {
  return category in IMAP_SENTENCES
    ? IMAP_SENTENCES[category as keyof typeof IMAP_SENTENCES]
    : failedReasonOf(category as FailureCategory)
}
