/**
 * The three headers of a signed request (docs/reference/webhooks.md#signatures), as Standard Webhooks has
 * them: HMAC-SHA256 of `id.timestamp.body` by each secret that signs now.
 *
 * The body of a received email has many megabytes, and a process has one thread for all tenants: it is
 * hashed in pieces, between which others get their turn.
 */
import { createHmac, type Hmac } from 'node:crypto'
import { setImmediate as turn } from 'node:timers/promises'
import { SIGNATURE_HEADERS } from '../../subscriptions/signing.ts'
import type { Header } from './target-cache.ts'

const PIECE_BYTES = 1_048_576

export interface SignedContent {
  /** The delivery's: the same whenever it is repeated. */
  readonly id: string
  /** Of this request. */
  readonly at: Date
  readonly body: Buffer
}

export async function signRequest(
  secrets: readonly string[],
  { id, at, body }: SignedContent,
): Promise<Header[]> {
  const timestamp = String(Math.floor(at.getTime() / 1000))
  const hmacs = secrets.map((secret) => begin(secret, `${id}.${timestamp}.`))
  for (let from = 0; from < body.length; from += PIECE_BYTES) {
    if (from > 0) await turn()
    const piece = body.subarray(from, from + PIECE_BYTES)
    for (const hmac of hmacs) hmac.update(piece)
  }
  const signatures = hmacs.map((hmac) => `v1,${hmac.digest('base64')}`)
  const values = [id, timestamp, signatures.join(' ')]
  return SIGNATURE_HEADERS.map((name, i) => [name, values[i] ?? ''])
}

/** The key is what the base64 behind `whsec_` stands for. */
function begin(secret: string, text: string): Hmac {
  const key = Buffer.from(secret.slice(secret.indexOf('_') + 1), 'base64')
  return createHmac('sha256', key).update(text)
}
