/**
 * Whether a webhook URL may be registered: https, no credentials, a publicly reachable host
 * (400 `url_not_allowed`), and a connection with TLS to it (422 `url_unreachable`).
 *
 * Sends nothing. Says no more than the one sentence of its code: the answer must not serve as a
 * port scanner.
 */

import { type Egress, EgressError } from '../platform/egress/index.ts'
import { ApiError, validationError } from '../platform/errors.ts'

export interface ReceiverRules {
  readonly egress: Egress
  /** Accept `http:` (ALLOW_HTTP_WEBHOOKS). */
  readonly allowHttp: boolean
  readonly connectTimeoutMs: number
}

/** A text that is no URL is refused by its field. Parsers differ over white space in one. */
export function parseReceiverUrl(text: string): URL {
  if (!URL.canParse(text) || hasControlOrSpace(text))
    throw validationError({ path: '/webhook_url', message: 'must be an absolute https URL' })
  return new URL(text)
}

function hasControlOrSpace(text: string): boolean {
  return /[\s\p{Cc}]/u.test(text)
}

export async function checkReceiver(rules: ReceiverRules, url: URL): Promise<void> {
  const isAllowedScheme = url.protocol === 'https:' || (rules.allowHttp && url.protocol === 'http:')
  if (!isAllowedScheme || url.username !== '' || url.password !== '')
    throw new ApiError('url_not_allowed')
  const isTls = url.protocol === 'https:'
  try {
    // All its addresses, not only the one that is connected to below.
    await rules.egress.check(url.hostname, rules.connectTimeoutMs)
    const socket = await rules.egress.connect({
      host: url.hostname,
      port: url.port === '' ? (isTls ? 443 : 80) : Number(url.port),
      ...(isTls ? { tls: rules.egress.tlsForRequests() } : {}),
      timeoutMs: rules.connectTimeoutMs,
    })
    socket.destroy()
  } catch (error) {
    if (!(error instanceof EgressError)) throw error
    const code = error.code === 'address_refused' ? 'url_not_allowed' : 'url_unreachable'
    throw new ApiError(code, { cause: error })
  }
}
