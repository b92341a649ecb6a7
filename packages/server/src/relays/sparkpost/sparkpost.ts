/**
 * SparkPost, the interface's provider A. Written from its public documents and from what it was seen
 * to send (https://developers.sparkpost.com/api); nothing here has met a live account.
 */

import { isSameSecret } from '../../platform/secrets/same-secret.ts'
import { refusedUnasked } from '../failure.ts'
import type {
  CallbackRequest,
  CallbackSecrets,
  RelayFailure,
  RelayMail,
  RelayProvider,
} from '../relay.ts'
import { buildRequest } from './build-request.ts'
import { buildTransmission } from './build-transmission.ts'
import { domains } from './domains.ts'
import { readCallback } from './read-callback.ts'
import { readSent } from './read-sent.ts'

export const sparkpost: RelayProvider = {
  kind: 'sparkpost',
  apiBaseDefault: 'https://api.sparkpost.com/api',
  refuse: refuseMail,
  send: (account, mail) => buildRequest(account, 'POST', '/transmissions', buildTransmission(mail)),
  readSent,
  domains,
  callbacks: { isAuthentic, read: readCallback },
}

/** Whether it counts files before or after encoding is not said: so they count as they are. */
const CONTENT_OCTETS_MAX = 20 * 1024 * 1024

/** What SparkPost is known to refuse (Transmissions API, "limited to 20 MBs"). */
function refuseMail({ text = '', html = '', attachments }: RelayMail): RelayFailure | undefined {
  const files = attachments.reduce((sum, { content }) => sum + (content.length / 4) * 3, 0)
  const octets = Buffer.byteLength(text) + Buffer.byteLength(html) + Math.floor(files)
  if (octets <= CONTENT_OCTETS_MAX) return undefined
  const words = `Bodies and attachments have ${octets} bytes; SparkPost takes ${CONTENT_OCTETS_MAX}`
  return refusedUnasked('message_too_large', words)
}

const HEADER = 'x-callback-secret'
const BASIC = /^basic +([A-Za-z0-9+/]{1,4096}={0,2}) *$/i

/**
 * Whether a callback comes from somebody who knows the account's secret
 * (docs/reference/domains.md#callbacks). SparkPost signs nothing: it gives along a header that the
 * webhook was registered with, or Basic credentials, of which the password is the secret. Without a
 * secret the path alone tells.
 */
function isAuthentic({ headers }: CallbackRequest, { callbackSecret }: CallbackSecrets): boolean {
  if (callbackSecret === undefined) return true
  const given = [headers[HEADER], passwordOf(headers.authorization)]
  return given.some((one) => typeof one === 'string' && isSameSecret(one, callbackSecret))
}

function passwordOf(authorization: string | string[] | undefined): string | undefined {
  if (typeof authorization !== 'string') return undefined
  const [, encoded] = BASIC.exec(authorization) ?? []
  if (encoded === undefined) return undefined
  const credentials = Buffer.from(encoded, 'base64').toString('utf8')
  const colon = credentials.indexOf(':')
  return colon === -1 ? undefined : credentials.slice(colon + 1)
}
