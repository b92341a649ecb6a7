/**
 * Parses an email address: a strict subset of RFC 5321's Mailbox, with IDN domains and SMTPUTF8 local
 * parts (RFC 6531). What it lets through means the same to every parser behind us, which is the
 * point: no comments, routes, quoted local parts, domain literals or single-label domains.
 *
 * `address` is the wire form, the only one that may reach an envelope: the local part as given, the
 * domain in lower-case A-labels.
 */
import { domainToASCII, domainToUnicode } from 'node:url'

const LOCAL_OCTETS_MAX = 64
const ADDRESS_OCTETS_MAX = 254
const DOMAIN_OCTETS_MAX = 253
const NAME_CHARS_MAX = 256

export interface EmailAddress {
  readonly address: string
  readonly local: string
  readonly domain: string
  readonly needsSmtpUtf8: boolean
}

export type ParsedAddress =
  | { readonly ok: true; readonly address: EmailAddress }
  | { readonly ok: false; readonly problem: string }

export function parseAddress(text: string): ParsedAddress {
  if (!text.isWellFormed()) return refuse('is not well-formed Unicode')
  if (hasControlCharacter(text)) return refuse('contains control characters')
  const at = text.lastIndexOf('@')
  if (at < 0) return refuse('has no @')
  const local = text.slice(0, at)
  const localProblem = problemOfLocal(local)
  if (localProblem !== undefined) return refuse(localProblem)
  const domain = toWireDomain(text.slice(at + 1))
  if (domain === undefined) return refuse('has an invalid domain')
  if (!domain.includes('.')) return refuse('needs a domain with a dot')
  const address = `${local}@${domain}`
  if (Buffer.byteLength(address) > ADDRESS_OCTETS_MAX) return refuse('is too long')
  return { ok: true, address: { address, local, domain, needsSmtpUtf8: !isAscii(local) } }
}

/**
 * What two spellings of one address share: addresses are compared without case
 * (docs/reference/sending.md#recipients).
 *
 * @param address in wire form
 */
export function addressKeyOf(address: string): string {
  return address.normalize('NFC').toLowerCase()
}

/** What is wrong with a display name, if anything: it has to fit into a header as one line of text. */
export function checkDisplayName(name: string): string | undefined {
  if (name.length > NAME_CHARS_MAX) return `is longer than ${NAME_CHARS_MAX} characters`
  return checkHeaderText(name)
}

/** What is wrong with text that goes into a header: a subject, a name, a value, a file name. */
export function checkHeaderText(text: string): string | undefined {
  if (!text.isWellFormed()) return 'is not well-formed Unicode'
  if (hasControlCharacter(text)) return 'contains control characters'
  return undefined
}

/** Lower-case A-labels, or undefined for what is not a host name. */
export function toWireDomain(domain: string): string | undefined {
  if (isAscii(domain)) {
    const lower = domain.toLowerCase()
    if (!isHostName(lower)) return undefined
    return lower.includes('xn--') && !isGenuine(lower) ? undefined : lower
  }
  // domainToASCII maps far more than letters: digits in circles, ideographic dots, soft hyphens.
  if (!IDN_CHARACTERS.test(domain)) return undefined
  const wire = domainToASCII(domain)
  if (!isHostName(wire)) return undefined
  const labels = wire.split('.')
  const isFaithful = domain
    .split('.')
    .every((label, i) => isAscii(label) || labels[i]?.startsWith('xn--') === true)
  return isFaithful ? wire : undefined
}

const IDN_CHARACTERS = /^[\p{L}\p{M}\p{Nd}.-]{1,253}$/u
const LABEL = /^[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?$/
// atext of RFC 5322 §3.2.3, and beyond ASCII what RFC 6531 §3.3 adds, save the invisible.
const ATOM = /^(?:[\w!#$%&'*+/=?^`{|}~-]|(?![\p{C}\p{Z}])\P{ASCII})+$/u
const CONTROL = /[\p{Cc}\u2028\u2029]/u

/** An A-label that says what it stands for: it decodes to letters and encodes to itself again. */
function isGenuine(domain: string): boolean {
  const decoded = domainToUnicode(domain)
  const isDecoded = IDN_CHARACTERS.test(decoded) && !decoded.includes('xn--')
  return isDecoded && domainToASCII(decoded) === domain
}

function isHostName(domain: string): boolean {
  if (domain.length > DOMAIN_OCTETS_MAX) return false
  const labels = domain.split('.')
  return labels.every((label) => LABEL.test(label)) && !/^\d+$/.test(labels.at(-1) ?? '')
}

function problemOfLocal(local: string): string | undefined {
  if (local === '') return 'has nothing before the @'
  if (Buffer.byteLength(local) > LOCAL_OCTETS_MAX) return 'has a local part that is too long'
  if (local.startsWith('"')) return 'has a quoted local part'
  const isDotAtom = local.split('.').every((atom) => ATOM.test(atom))
  return isDotAtom ? undefined : 'has an invalid local part'
}

function hasControlCharacter(text: string): boolean {
  return CONTROL.test(text)
}

function isAscii(text: string): boolean {
  return /^\p{ASCII}*$/u.test(text)
}

function refuse(problem: string): ParsedAddress {
  return { ok: false, problem }
}
