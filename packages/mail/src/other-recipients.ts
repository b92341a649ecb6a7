/**
 * Whether a reply is about somebody else: a dead target of a forward, a sender who was verified, a domain that
 * is not the recipient's. What is wrong with those says nothing of the recipient.
 */
import { addressesOf } from './reply-text.ts'

const HOST = String.raw`((?:[a-z\d_-]{1,63}\.){1,8}[a-z][a-z\d-]{1,62})`
/** A name that does not exist, where it stands beside the words for that. */
const NAMED_DOMAINS = [
  new RegExp(
    String.raw`\b(?:(?:domain|host|mail)(?: name)?(?: named| of)?|unknown|lookup of|mx(?: (?:server|host|record))? (?:for|of)|name)[ =:]["'(<]? ?${HOST}`,
    'gi',
  ),
  new RegExp(
    String.raw`(?<![\w.@-])${HOST}["')>\]]?:? (?:(?:does not|doesn't) (?:exist|have)\b|has no\b|(?:host |domain )?(?:is )?(?:not found|unknown))`,
    'gi',
  ),
]
/** Where to ask for help. */
const HELPS =
  /\b(?:contact|assistance|help|support|questions?|write|e-?mail us|notify|report|please (?:use|try|mail|e-?mail|send|direct|forward)|use instead)\b[^.;]{0,80}$/i
const OF_HELP = /^(?:post-?master|abuse|support|help(?:desk)?|admin(?:istrator)?|no-?reply)$/i
/** It is what something is said of: `abuse@example.org does not exist`. */
const IS_SUBJECT =
  /^["'>)\]]{0,2}(?::|[ ,.]{0,4} ?(?:do(?:es)?|is|was|has|cannot|can't|not|no|unknown|user|mail ?box)\b)/i
const NEAR_CHARS = 120

/** @param recipient undefined: nothing is known of anybody */
export function namesAnother(text: string, recipient: string | undefined): boolean {
  if (recipient === undefined) return false
  const isOther = addressesOf(text).some(
    ({ address, start }) =>
      !isSameRecipient(address, recipient) && !isForHelp(text, address, start),
  )
  return isOther || namesAnotherDomain(text, domainOf(recipient))
}

/** A server may add or leave out a tag, or the name of a host: nobody else is meant. */
export function isSameRecipient(one: string, other: string): boolean {
  const isNear = isSameDomain(domainOf(one), domainOf(other))
  return isNear && baseOf(one) === baseOf(other)
}

function namesAnotherDomain(text: string, domain: string): boolean {
  return NAMED_DOMAINS.some((pattern) =>
    [...text.matchAll(pattern)].some(([, named = '']) => !isSameDomain(named, domain)),
  )
}

function isForHelp(text: string, address: string, start: number): boolean {
  if (HELPS.test(text.slice(Math.max(0, start - NEAR_CHARS), start))) return true
  const isSubject = IS_SUBJECT.test(
    text.slice(start + address.length, start + address.length + NEAR_CHARS),
  )
  return !isSubject && OF_HELP.test(address.slice(0, address.lastIndexOf('@')))
}

function isSameDomain(one: string, other: string): boolean {
  const [a, b] = [one, other].map((name) => `.${name.toLowerCase().replace(/\.$/, '')}`)
  return a !== undefined && b !== undefined && (a.endsWith(b) || b.endsWith(a))
}

function domainOf(address: string): string {
  return address.slice(address.lastIndexOf('@') + 1).replace(/[^\p{L}\p{M}\d]+$/u, '')
}

function baseOf(address: string): string {
  const name = address.slice(0, address.lastIndexOf('@')).toLowerCase()
  return name.replace(/^(?:[45]\d\d-)?[^\p{L}\d]{1,5}/u, '').replace(/\+.*$/, '')
}
