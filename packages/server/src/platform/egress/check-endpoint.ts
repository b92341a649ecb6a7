/**
 * URLs that a tenant gives and secrets are then sent to: https, save to networks that the operator has
 * opened, and never to an address that is not allowed.
 */
import type { Egress } from './egress.ts'
import { EgressError } from './egress-error.ts'
import { isRefusedPort, portOf } from './refused-ports.ts'

/** What is wrong with it, if anything, as far as can be told without looking up its host. */
export function problemOfEndpoint(
  egress: Pick<Egress, 'isOwnNetwork'>,
  text: string,
): string | undefined {
  const url = URL.parse(text)
  if (url === null || !/^https?:\/\//i.test(text)) return 'must be an https URL'
  const host = url.hostname.replace(/^\[|\]$/g, '')
  if (url.protocol === 'http:' && !egress.isOwnNetwork(host)) return 'must be an https URL'
  if (isRefusedPort(portOf(url))) return `port ${portOf(url)} is not for HTTP`
  return problemOfUrl(url, text)
}

/** What is wrong with any URL. */
export function problemOfUrl(url: URL, text: string): string | undefined {
  if (!/^[\x21-\x7e]+$/.test(text)) return 'must be visible ASCII characters'
  if (url.username !== '' || url.password !== '') return 'must not hold credentials'
  return text.includes('#') ? 'must not have a fragment' : undefined
}

/** A name that does not resolve now may do so when it is used. */
export async function isRefusedHost(egress: Pick<Egress, 'check'>, host: string): Promise<boolean> {
  try {
    await egress.check(host)
    return false
  } catch (error) {
    if (!(error instanceof EgressError)) throw error
    return error.code === 'address_refused'
  }
}
