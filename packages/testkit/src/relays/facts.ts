/** Small checks that both providers make. */
import { isIPv4 } from 'node:net'

/** An address as providers take it: one `@`, a domain name in ASCII, no white space or control characters. */
export function isAddress(text: string): boolean {
  const [, local = '', domain = ''] = /^([^\s@"<>(),;:\\[\]]+)@([A-Za-z0-9.-]+)$/.exec(text) ?? []
  return (
    local !== '' &&
    text.length <= 320 &&
    Buffer.byteLength(local) <= 64 &&
    !/^\.|\.$|\.\./.test(local) &&
    isDomainName(domain)
  )
}

export function isDomainName(text: string): boolean {
  const labels = text.split('.')
  return (
    text.length <= 253 &&
    labels.length > 1 &&
    !isIPv4(text) &&
    labels.every((label) => /^[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?$/.test(label))
  )
}

export function domainOf(address: string): string {
  return address.slice(address.lastIndexOf('@') + 1).toLowerCase()
}

/** Whole groups with their padding, and no line breaks. */
export function isBase64(text: string): boolean {
  return text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text)
}

/** RFC 5322 §3.6.8: printable ASCII without a colon. */
export function isHeaderName(text: string): boolean {
  return /^[!-9;-~]+$/.test(text)
}

export function hasLineBreak(text: string): boolean {
  return /[\r\n]/.test(text)
}

export function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value))
}
