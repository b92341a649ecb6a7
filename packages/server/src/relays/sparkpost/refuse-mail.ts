/** What SparkPost is known to refuse (Transmissions API, "limited to 20 MBs"). */
import { refusedUnasked } from '../failure.ts'
import type { RelayFailure, RelayMail } from '../relay.ts'

/** Whether it counts files before or after encoding is not said: so they count as they are. */
const CONTENT_OCTETS_MAX = 20 * 1024 * 1024

export function refuseMail({
  text = '',
  html = '',
  attachments,
}: RelayMail): RelayFailure | undefined {
  const files = attachments.reduce((sum, { content }) => sum + (content.length / 4) * 3, 0)
  const octets = Buffer.byteLength(text) + Buffer.byteLength(html) + Math.floor(files)
  if (octets <= CONTENT_OCTETS_MAX) return undefined
  const words = `Bodies and attachments have ${octets} bytes; SparkPost takes ${CONTENT_OCTETS_MAX}`
  return refusedUnasked('message_too_large', words)
}
