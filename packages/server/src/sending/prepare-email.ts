/** The message of an email, made ready for all its recipients and attempts. */
import { type PreparedMessage, prepareMessage } from '../mail/index.ts'
import type { EmailContent } from './email.ts'

export type PreparedEmail = ReadyEmail | BrokenEmail

export interface ReadyEmail {
  readonly message: PreparedMessage
  /** A header with such an address makes the message itself one for SMTPUTF8 (RFC 6531 §3.2). */
  readonly showsUtf8Address: boolean
}

/** There is nothing to send, and there never will be. */
export interface BrokenEmail {
  readonly templateProblem: string
}

export async function prepareEmail(
  refId: string,
  createdAt: Date,
  content: EmailContent,
): Promise<PreparedEmail> {
  const { templateProblem } = content
  if (templateProblem !== undefined) return { templateProblem }
  const shown = [content.from, ...content.to, ...content.cc, content.replyTo]
  return {
    message: await prepareMessage({ ...content, id: refId, date: createdAt }),
    showsUtf8Address: shown.some((mailbox) => needsSmtpUtf8(mailbox?.address ?? '')),
  }
}

/** Of an address in wire form. */
export function needsSmtpUtf8(address: string): boolean {
  return !/^\p{ASCII}*$/u.test(address)
}
