/** What facts about a recipient are grouped by in statistics (docs/reference/statuses.md#groups). */
import { isStableReason, parseAddress } from '@postrider/mail'
import type { CounterGroups } from '../../platform/counters/counter-store.ts'
import { domainOf } from './email.ts'

/** @param address in wire form */
export function groupsOfAddress(address: string, campaignId: string | null): CounterGroups {
  const recipient_domain = domainOf(address).toLowerCase()
  return campaignId === null ? { recipient_domain } : { recipient_domain, campaign_id: campaignId }
}

/** @param email as the caller wrote it */
export function groupsOfRecipient(email: string, campaignId: string | null): CounterGroups {
  const parsed = parseAddress(email)
  return groupsOfAddress(parsed.ok ? parsed.address.address : email, campaignId)
}

/** The groups of a fact that has a reason. @param email of its recipient, '' where it is not known */
export function withReason(
  groups: CounterGroups | undefined,
  failedReason: string,
  email: string,
): { readonly groups?: CounterGroups } {
  if (failedReason !== '')
    return { groups: { ...groups, failed_reason: groupedReason(failedReason, email) } }
  return groups === undefined ? {} : { groups }
}

const REASON_CHARS_MAX = 200
/** So many are looked at: an address at the end of a group is recognised as a whole. */
const READ_CHARS_MAX = 500
const CODE = /^(?:\d{3}|\d\.\d{1,3}\.\d{1,3})$/
const HIDDEN = '<address>'
/** A quoted local part has no more (RFC 5321 §4.5.3.1.1), and two quotes. */
const QUOTED_CHARS_MAX = 66
const LOCAL_CHARS_MIN = 3
/** Local parts that say nothing of a person, and are words of many replies. */
const ORDINARY_WORDS = new Set(
  'abuse account address admin box contact domain email help info mail mailbox message office policy postmaster recipient root sales server service spam support team test unknown user users webmaster'.split(
    ' ',
  ),
)

/**
 * A stable sentence as it is. A server's own words without what differs from mail to mail: addresses, which
 * sums would keep for longer than emails are kept, the recipient's own local part, ids and numbers, but for the
 * codes of a reply. No longer than the name of a group may be. Reads a bounded part, and that in proportion to
 * its length: callers and servers choose the words.
 */
export function groupedReason(failedReason: string, email = ''): string {
  if (isStableReason(failedReason)) return failedReason
  const text = hideLocalPart(hideAddresses(readPart(failedReason)), localPartOf(email))
  const group = /\d/.test(text)
    ? text.replace(/[\w.:=+/-]+/g, (word) => (/\d/.test(word) && !CODE.test(word) ? '#' : word))
    : text
  const whole = wholeWords(group, REASON_CHARS_MAX)
  return (whole === '' ? group.slice(0, REASON_CHARS_MAX) : whole).toWellFormed()
}

/** The half of an address at the cut would not be recognised. */
function readPart(text: string): string {
  const part = wholeWords(text, READ_CHARS_MAX)
  if (part === text) return text
  const quote = part.indexOf('"', Math.max(0, part.length - QUOTED_CHARS_MAX))
  const kept = quote === -1 ? part : part.slice(0, quote)
  return kept.trim() === '' ? '…' : kept
}

function wholeWords(text: string, max: number): string {
  if (text.length <= max) return text
  let end = max
  while (end > 0 && !/\s/.test(text[end] ?? '')) end -= 1
  return text.slice(0, end)
}

function hideAddresses(text: string): string {
  if (!text.includes('@')) return text
  const pieces = text.split('@')
  const last = pieces.pop() ?? ''
  const unquoted = [...pieces.map((piece) => piece.slice(0, startOfQuoted(piece))), last].join('@')
  return unquoted.replace(/\S+/g, (word) => (word.includes('@') ? HIDDEN : word))
}

/** Where the quoted local part begins that `text` ends with, which may hold blanks; its end where none does. */
function startOfQuoted(text: string): number {
  if (!text.endsWith('"')) return text.length
  let start = text.length
  for (let at = start - 1; at > 0; ) {
    at = text.lastIndexOf('"', at - 1)
    if (at === -1) break
    start = at
    if (text[at - 1] !== '\\') break
  }
  return start
}

function localPartOf(email: string): string {
  const local = email.slice(0, Math.max(0, email.lastIndexOf('@'))).toLowerCase()
  return local.startsWith('"') && local.endsWith('"') ? local.slice(1, -1) : local
}

/** Where it stands as a word: some servers name the mailbox alone. */
function hideLocalPart(text: string, local: string): string {
  if (local.length < LOCAL_CHARS_MIN || ORDINARY_WORDS.has(local)) return text
  const lower = text.toLowerCase()
  // Of the few letters that get longer.
  const read = lower.length === text.length ? lower : text
  let hidden = ''
  let end = 0
  for (let at = read.indexOf(local); at !== -1; at = read.indexOf(local, at + 1)) {
    const after = at + local.length
    if (at < end || isOfWord(read[at - 1]) || isOfWord(read[after])) continue
    hidden += text.slice(end, at) + HIDDEN
    end = after
  }
  return hidden + text.slice(end)
}

function isOfWord(char: string | undefined): boolean {
  return char !== undefined && /[\p{L}\p{N}]/u.test(char)
}
