/**
 * Whether what the name servers have is what was to be published. Pure.
 *
 * The proof of ownership is for us alone, and read leniently: with the quotes that some forms keep. A
 * DKIM key is read as every receiver reads it (RFC 6376 §3.6.1), its tags in any order; two keys
 * under one name are one too many, for which of them is taken is chance (§3.6.2.2).
 */
import type { DnsFinding } from '@postrider/contract'
import type { DnsAnswer, MailExchange } from '@postrider/runtime/dns'
import type { RelayRecord } from '../../relays/index.ts'

export interface Match {
  readonly dns: DnsFinding
  /** What is there and of the same kind. */
  readonly found: readonly string[]
  /** Meaningless where nobody knows. */
  readonly isMatch: boolean
}

export type RecordAnswer =
  | { readonly type: 'TXT'; readonly answer: DnsAnswer<string> }
  | { readonly type: 'CNAME'; readonly answer: DnsAnswer<string> }
  | { readonly type: 'MX'; readonly answer: DnsAnswer<MailExchange> }

const FOUND_MAX = 10
const FOUND_LENGTH_MAX = 1_000

export function matchRecord(record: RelayRecord, given: RecordAnswer): Match {
  const { found, isMatch } = read(record, given)
  const dns = given.answer.kind === 'unknown' && !isMatch ? 'unknown' : undefined
  return {
    dns: dns ?? (found.length === 0 ? 'absent' : 'found'),
    found: found.slice(0, FOUND_MAX).map(shown),
    isMatch,
  }
}

/** Fit to be stored: what stands in a zone is anybody's. */
function shown(text: string): string {
  return text.slice(0, FOUND_LENGTH_MAX).toWellFormed().replaceAll('\u0000', '\ufffd')
}

type Read = Pick<Match, 'found' | 'isMatch'>

function read(record: RelayRecord, { type, answer }: RecordAnswer): Read {
  const value = record.value.toLowerCase()
  // Every name on the way counts, also where its end is not known.
  if (type === 'CNAME')
    return {
      found: answer.aliases,
      isMatch: answer.kind !== 'absent' && answer.aliases.includes(value),
    }
  if (answer.kind !== 'found') return { found: [], isMatch: false }
  if (type === 'TXT') return readTexts(record, answer.records)
  return {
    found: answer.records.map(({ priority, exchange }) => `${priority} ${exchange}`),
    isMatch: answer.records.some(({ exchange }) => exchange === value),
  }
}

function readTexts({ purpose, value }: RelayRecord, texts: readonly string[]): Read {
  if (purpose === 'dkim') return readKeys(texts, value)
  if (purpose === 'spf') {
    const found = texts.filter((text) => /^v=spf1(?: |$)/i.test(text))
    return { found, isMatch: found.length === 1 && hasTerms(found[0] ?? '', value) }
  }
  if (purpose === 'dmarc') {
    const found = texts.filter((text) => /^v=DMARC1\s*(?:;|$)/.test(text))
    return { found, isMatch: found.length === 1 }
  }
  return { found: texts, isMatch: texts.some((text) => unquoted(text) === value) }
}

/** Whatever else it allows, and in which order: RFC 7208 §4.5 wants one record. */
function hasTerms(found: string, wanted: string): boolean {
  const terms = new Set(termsOf(found))
  return termsOf(wanted)
    .filter((term) => !term.endsWith('all') && term !== 'v=spf1')
    .every((term) => terms.has(term))
}

function termsOf(spf: string): string[] {
  return spf
    .toLowerCase()
    .split(/ +/)
    .map((term) => term.replace(/^\+/, ''))
}

function readKeys(texts: readonly string[], wanted: string): Read {
  const keys = texts.filter((text) => tagsOf(text).has('p'))
  const [key] = keys
  if (key === undefined || keys.length > 1) return { found: texts, isMatch: false }
  const tags = tagsOf(key)
  const isUsable =
    (tags.get('v') ?? 'DKIM1') === 'DKIM1' &&
    (tags.get('k') ?? 'rsa') === 'rsa' &&
    isListed(tags.get('h'), ['sha256']) &&
    isListed(tags.get('s'), ['email', '*'])
  return { found: keys, isMatch: isUsable && tags.get('p') === tagsOf(wanted).get('p') }
}

function isListed(list: string | undefined, anyOf: readonly string[]): boolean {
  return list === undefined || list.split(':').some((one) => anyOf.includes(one))
}

/** White space may stand anywhere in a value. */
function tagsOf(text: string): ReadonlyMap<string, string> {
  const pairs = text.split(';').flatMap((tag): [string, string][] => {
    const at = tag.indexOf('=')
    return at < 0 ? [] : [[tag.slice(0, at).trim(), tag.slice(at + 1).replace(/\s+/g, '')]]
  })
  return new Map(pairs)
}

function unquoted(text: string): string {
  return text
    .trim()
    .replace(/^"(.*)"$/, '$1')
    .trim()
}
