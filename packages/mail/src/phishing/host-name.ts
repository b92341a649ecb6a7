/** Which part of a host someone has registered, and whose it is. */
import { domainToUnicode } from 'node:url'
import { parse } from 'tldts'

export interface HostName {
  /** In A-labels. */
  readonly host: string
  /** What was registered, also under `github.io` and the like; the host itself when unknown. */
  readonly domain: string
  /** The label before the public suffix, as people see it. */
  readonly label: string
  /** Before the registered domain, as people see it; from left to right. */
  readonly subLabels: readonly string[]
  readonly hasKnownSuffix: boolean
}

const OPTIONS = {
  allowPrivateDomains: true,
  extractHostname: false,
  validateHostname: false,
} as const

export function readHostName(host: string): HostName {
  const { domain, domainWithoutSuffix, subdomain, isIcann, isPrivate } = parse(host, OPTIONS)
  return {
    host,
    domain: domain ?? host,
    label: toUnicode(domainWithoutSuffix ?? ''),
    subLabels: subdomain ? subdomain.split('.').map(toUnicode) : [],
    hasKnownSuffix: isIcann === true || isPrivate === true,
  }
}

/** The host and the domains above it, the longest first. */
export function domainsAbove(host: string): string[] {
  const domains = [host]
  for (let dot = host.indexOf('.'); dot >= 0; dot = host.indexOf('.', dot + 1))
    domains.push(host.slice(dot + 1))
  return domains
}

function toUnicode(label: string): string {
  if (!label.includes('xn--')) return label
  const decoded = domainToUnicode(label)
  return decoded === '' ? label : decoded
}
