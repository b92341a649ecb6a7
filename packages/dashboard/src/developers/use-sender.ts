/** An address that the tenant sends from, for lines to be copied. */
import { senderOf, useMailers } from '../emails/use-mailers.ts'

/** Of the first mailer that mail can be given to: a mailbox that is only read is none. */
export function useSender(): string {
  const [first] = useMailers().sending
  return first === undefined ? 'me@example.com' : senderOf(first)
}
