/**
 * The name this service greets mail servers with (RFC 5321 §4.1.4): its own host name where that is
 * fully qualified, else its address as a literal. A bare name (`web-1`, a container's id) is what
 * many servers refuse.
 */
import { parseHost } from '../platform/egress/index.ts'

const LABEL = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?'
const IPV4 = /^\d{1,3}(?:\.\d{1,3}){3}$/
const QUALIFIED = new RegExp(`^${LABEL}(?:\\.${LABEL})+$`, 'i')

export function ehloNameOf(o: {
  readonly hostname: string
  /** Of this machine's interfaces, loopback left out. */
  readonly addresses: readonly string[]
}): string {
  const name = o.hostname.replace(/\.$/, '')
  if (name.length <= 253 && QUALIFIED.test(name) && parseHost(name)?.kind === 'name')
    return name.toLowerCase()
  return `[${o.addresses.find((address) => IPV4.test(address)) ?? '127.0.0.1'}]`
}
