/**
 * One message that goes to many webhooks of a tenant is read once, as far as they are reported by one
 * process at about one time: a hundred routes are not to take a hundred times the processor time.
 *
 * What was read is kept for a few seconds, within a bound of bytes. Nothing rests on it: what has left is
 * read again.
 */
import type { MessageParser, ParsedMessage } from '@postrider/mail'
import type { StoredMessage } from '../messages/message-store.ts'

export type ParseOnce = (
  message: StoredMessage & { readonly raw: Buffer },
) => Promise<ParsedMessage>

const BYTES_MAX = 32 * 1024 * 1024
const MESSAGES_MAX = 256
const KEPT_MS = 10_000

interface Kept {
  readonly parsed: Promise<ParsedMessage>
  readonly bytes: number
  readonly timer: NodeJS.Timeout
}

export function createParseOnce(parser: Pick<MessageParser, 'parse'>): ParseOnce {
  const kept = new Map<string, Kept>()
  let bytes = 0

  function drop(key: string): void {
    const one = kept.get(key)
    if (one === undefined) return
    clearTimeout(one.timer)
    kept.delete(key)
    bytes -= one.bytes
  }

  function keep(key: string, parsed: Promise<ParsedMessage>, size: number): void {
    if (size > BYTES_MAX) return
    for (const oldest of kept.keys()) {
      if (bytes + size <= BYTES_MAX && kept.size < MESSAGES_MAX) break
      drop(oldest)
    }
    bytes += size
    const timer = setTimeout(() => drop(key), KEPT_MS).unref()
    kept.set(key, { parsed, bytes: size, timer })
    // Refused, not read: the next one asks again.
    parsed.catch(() => {
      if (kept.get(key)?.parsed === parsed) drop(key)
    })
  }

  return ({ tenantId, rawId, source, raw }) => {
    const key = `${tenantId} ${rawId}`
    const before = kept.get(key)
    if (before !== undefined) return before.parsed
    const parsed = parser.parse(tenantId, raw)
    // A mailbox has a message for itself.
    if (source === 'smtp') keep(key, parsed, raw.length)
    return parsed
  }
}
