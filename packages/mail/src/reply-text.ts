/**
 * An SMTP reply taken apart for classification (RFC 5321 §4.2, RFC 3463).
 *
 * `words` is what the rules of reply-table.ts look at: lower case, without the codes that each line
 * of a multi-line reply repeats, and without addresses and URLs, for `<spam@example.com>: user
 * unknown` is not about spam. Every pattern here is linear in the length of its input, which is
 * bounded first.
 */
import type { SmtpReply } from './smtp/failure.ts'

const TEXT_CHARS_MAX = 1_024
/** No word of the table is longer; `\w*` then has an end, however a server runs words together. */
const WORD_CHARS_MAX = 48
const ENHANCED = /(?<![\d.])([245])\.(\d{1,3})\.(\d{1,3})(?![\d.]*\d)/

/** Some replies name nothing but the page of the list that the sender is on. */
const BLOCKLIST_HOST = /spamhaus|spamcop|barracudacentral|cloudmark|sorbs|senderscore|dnsbl|[./]rbl/

const UNDERSCORE = /(?<=[a-z])_{1,3}(?=[a-z])/g
/** `MailboxNotFound`, `InvalidRecipient` */
const IN_ONE_WORD =
  /\b(?:(unknown|invalid|no)(such)?|(user|mailbox|recipient|rcpt|account|address|alias))(?:(user|mailbox|recipient|rcpt|account|address|alias)|(not)(found|known|exists?)|(unknown|invalid|disabled))\b/g

export interface ReplyFacts {
  readonly code: number
  /** `5.7.1`, where the reply has one that goes with its class. */
  readonly enhanced: string | undefined
  readonly words: string
  /** `words` with "address" for each, which may be what it is about: `a@example.com not found`; as is `USER_UNKNOWN`. */
  readonly sentences: string
}

export function readReply(reply: SmtpReply): ReplyFacts {
  const text = reply.text.slice(0, TEXT_CHARS_MAX)
  return {
    code: reply.code,
    enhanced: enhancedCodeOf(text),
    words: wordsOf(text, reply.code, ' '),
    sentences: wordsOf(text, reply.code, ' address ')
      .replace(UNDERSCORE, ' ')
      .replace(IN_ONE_WORD, (_, ...parts: readonly unknown[]) =>
        parts.filter((one, i) => i < 8 && typeof one === 'string').join(' '),
      ),
  }
}

/** At its place behind the code it counts even against the class; elsewhere it has to agree. */
function enhancedCodeOf(text: string): string | undefined {
  const leading = /^\d{3}[ -]#?([245]\.\d{1,3}\.\d{1,3})(?![\d.]*\d)/.exec(text)?.[1]
  if (leading !== undefined) return leading
  const inside = ENHANCED.exec(text)
  return inside !== null && inside[1] === text[0] ? inside[0] : undefined
}

function wordsOf(text: string, code: number, forAddress: string): string {
  const lower = text
    .toLowerCase()
    .replace(new RegExp(`(^|\\s)${code}(?:-|(?=\\s|$))`, 'g'), ' ')
    .replace(/(?<![\d.])[245]\.\d{1,3}\.\d{1,3}(?![\d.]*\d)/g, ' ')
    .replace(/https?:\/\/\S{1,2000}/g, (url) => (BLOCKLIST_HOST.test(url) ? ' blocklist ' : ' '))
  return withoutAddresses(lower, forAddress)
    .replace(/\S{48,}/g, (word) => word.slice(0, WORD_CHARS_MAX))
    .replace(/[’`]/g, "'")
    .replace(/\s{1,1000}/g, ' ')
    .trim()
}

/** What a server writes up against an address (`a@example.com:unknown`) is not part of it. */
const AFTER_AT = /^(?:\[[^\s<>@\]]{1,64}\]|[^\s<>@:;,()]{1,256})/
const NEAR_CHARS = 256

interface Found {
  readonly start: number
  readonly end: number
  readonly address: string
}

/** In their order, without angle brackets. Looked for around each `@`, for text without any costs nothing. */
export function addressesOf(text: string): readonly Found[] {
  const found: Found[] = []
  for (let at = text.indexOf('@'), from = 0; at >= 0; at = text.indexOf('@', at + 1)) {
    const before = nameBefore(text, Math.max(from, at - NEAR_CHARS), at)
    const domain = AFTER_AT.exec(text.slice(at + 1, at + 1 + NEAR_CHARS))?.[0]
    if (before === at || domain === undefined) continue
    from = at + 1 + domain.length
    found.push({ start: before, end: from, address: text.slice(before, from) })
    at = from - 1
  }
  return found
}

const DELIMITER = /[\s<>@:;,()]/

function nameBefore(text: string, least: number, at: number): number {
  let start = at
  while (start > least && !DELIMITER.test(text.charAt(start - 1))) start--
  return start
}

function withoutAddresses(text: string, forAddress: string): string {
  let rest = ''
  let from = 0
  for (const { start, end } of addressesOf(text)) {
    rest += text.slice(from, text[start - 1] === '<' ? start - 1 : start) + forAddress
    from = text[end] === '>' ? end + 1 : end
  }
  return rest + text.slice(from)
}
