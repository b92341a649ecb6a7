/** Which names can be sending domains: what somebody can have registered, with room for its records. */
import { domainToUnicode } from 'node:url'
import { dkimSelectorLengthMax } from '@postrider/contract'
import { toWireDomain } from '@postrider/mail'
import { parse } from 'tldts'
import { parseHost } from '../../platform/egress/index.ts'
import { dkimNameOf } from '../list-records.ts'

export type CheckedName =
  | { readonly ok: true; readonly domain: string }
  | { readonly ok: false; readonly problem: string }

const NAME_OCTETS_MAX = 253
const RESERVED = /^(?:(?:.+\.)?example\.(?:com|net|org)|.+\.(?:test|example|invalid|localhost))$/
const SELECTOR = /^[a-z\d](?:[a-z\d-]*[a-z\d])?(?:\.[a-z\d](?:[a-z\d-]*[a-z\d])?)*$/i

/** `domain` is in wire form: lower case, A-labels, no final dot. */
export function checkName(text: string): CheckedName {
  const bare = text.endsWith('.') ? text.slice(0, -1) : text
  if (isAddress(bare.replace(/^\[(?:IPv6:)?(.*)\]$/i, '$1')))
    return refuse('must be a name, not an IP address')
  if (/[@/:\s]/.test(bare)) return refuse('must be a domain name alone, such as mail.example.com')
  const domain = toWireDomain(bare)
  if (domain === undefined) return refuse('must be a domain name such as mail.example.com')
  if (!domain.includes('.')) return refuse('needs a dot: it is a top-level domain or a local name')
  if (parse(domain, { allowPrivateDomains: true }).domain === null)
    return refuse(`is a public suffix, under which anybody registers names: ${shown(domain)}`)
  if (dkimNameOf(domain, 'x'.repeat(dkimSelectorLengthMax)).length > NAME_OCTETS_MAX)
    return refuse('is too long for the names of its records')
  return { ok: true, domain }
}

/** As it may have been given in a path; undefined for what cannot be stored. */
export function readName(text: string): string | undefined {
  const checked = checkName(text)
  return checked.ok ? checked.domain : undefined
}

/** RFC 2606, RFC 6761: nobody has them, so that a simulator may. */
export function isReservedName(domain: string): boolean {
  return RESERVED.test(domain)
}

export function isAddress(text: string): boolean {
  const host = parseHost(text)
  return host?.kind === 'address' && host.address === text
}

/** What is wrong with a DKIM selector, if anything (RFC 6376 §3.1). */
export function problemOfSelector(selector: string): string | undefined {
  const labels = selector.split('.')
  return SELECTOR.test(selector) && labels.every((label) => label.length <= 63)
    ? undefined
    : 'must be made of letters, digits and hyphens, such as s1'
}

function shown(domain: string): string {
  return domainToUnicode(domain) || domain
}

function refuse(problem: string): CheckedName {
  return { ok: false, problem }
}
