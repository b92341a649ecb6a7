/**
 * Whether a webhook URL may be registered: https, no credentials, a publicly reachable host
 * (400 `url_not_allowed`), and a connection with TLS to it (422 `url_unreachable`).
 *
 * Sends nothing. Says no more than the one sentence of its code: the answer must not serve as a
 * port scanner.
 */

import { type Egress, EgressError } from '../platform/egress/index.ts'
import { ApiError } from '../platform/errors.ts'

export interface ReceiverRules {
  readonly egress: Egress
  /** Accept `http:` (ALLOW_HTTP_WEBHOOKS). */
  readonly allowHttp: boolean
  readonly connectTimeoutMs: number
}

/** The URL in the one spelling that is stored; a text that is no URL is refused by its field. */
export function parseReceiverUrl(text: string): URL {
  const url = URL.canParse(text) && !hasControlOrSpace(text) ? new URL(text) : undefined
  if (url === undefined || url.hostname === '')
    throw new ApiError('validation_failed', {
      errors: [{ path: '/webhook_url', message: 'must be an absolute https URL' }],
    })
  return url
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
