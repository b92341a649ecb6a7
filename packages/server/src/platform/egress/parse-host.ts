/**
 * What a host text really names (WHATWG URL host parsing): an address or a DNS name.
 *
 * `2130706433`, `0x7f.1`, `0177.0.0.1`, `127.1`, circled digits and ideographic dots are all
 * 127.0.0.1, and a resolver or `connect(2)` may read them so. They are normalised the way browsers
 * do before anything judges them, so that a guard never sees another host than the connection.
 */
import { isIP } from 'node:net'

export type Host =
  | { readonly kind: 'address'; readonly address: string }
  | { readonly kind: 'name'; readonly name: string }

/** Undefined when the text is no host at all: empty, with a port, credentials, path or spaces. */
export function parseHost(text: string): Host | undefined {
  const bare = text.startsWith('[') && text.endsWith(']') ? text.slice(1, -1) : text
  if (isIP(bare) === 6) return bare.includes('%') ? undefined : { kind: 'address', address: bare }
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it refuses
  if (text.length > 1_000 || /[\u0000-\u0020\u007f/?#@:\\%[\]]/.test(text)) return undefined
  if (!URL.canParse(`http://${text}/`)) return undefined
  const { hostname } = new URL(`http://${text}/`)
  if (isIP(hostname) === 4) return { kind: 'address', address: hostname }
  const name = hostname.endsWith('.') ? hostname.slice(0, -1) : hostname
  return isDnsName(name) ? { kind: 'name', name } : undefined
}

function isDnsName(name: string): boolean {
  return name.length <= 253 && name.split('.').every((label) => /^[a-z0-9_-]{1,63}$/.test(label))
}
