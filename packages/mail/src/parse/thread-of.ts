/** Which conversation a message belongs to: the same for all that answer one, as far as they say so. */
import type { ParsedMessage } from './parsed-message.ts'

/**
 * The server's own name of the conversation where it has one, else the message that began it; ''
 * when nothing is known, and then it is for the caller to take an id of its own.
 */
export function threadIdOf(
  {
    references,
    inReplyTo,
    messageId,
  }: Pick<ParsedMessage, 'references' | 'inReplyTo' | 'messageId'>,
  serverThread?: string,
): string {
  const first = [serverThread, references[0], inReplyTo, messageId].find((one) => one)
  return first?.replace(/^<|>$/g, '') ?? ''
}
