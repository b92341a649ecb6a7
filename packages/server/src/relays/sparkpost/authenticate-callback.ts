/**
 * Whether a callback comes from whoever knows the account's secret (docs/reference/domains.md#callbacks).
 * SparkPost signs nothing: it gives along a header that the webhook was registered with, or Basic
 * credentials, of which the password is the secret. Without a secret the path alone tells.
 */
import { isSameSecret } from '../../platform/same-secret.ts'
import type { CallbackRequest, CallbackSecrets } from '../relay.ts'

const HEADER = 'x-callback-secret'
const BASIC = /^basic +([A-Za-z0-9+/]{1,4096}={0,2}) *$/i

export function isAuthentic(
  { headers }: CallbackRequest,
  { callbackSecret }: CallbackSecrets,
): boolean {
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
