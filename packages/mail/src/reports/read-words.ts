/**
 * What a report says in words, line by line, before the message that it returns.
 *
 * An address that a line begins with is a recipient, and what follows is said of it. Where no line begins
 * with one, an address within a sentence is: what is said of it is that paragraph and the next, unless
 * they name others, too. The report's own sender and receiver, and postmasters, are recipients only where
 * there is no other.
 */
import { headersOf, mailboxesOf } from '../parse/header-values.ts'
import { isOfMachine } from './report-phrases.ts'
import type { ReportSource } from './report-source.ts'
import { addressesIn, RECIPIENTS_MAX, replyIn, statusIn } from './report-text.ts'

export interface ReportWords {
  readonly text: string
  /** By addresses in lower case, at most `RECIPIENTS_MAX`; '' where nothing is. */
  readonly said: ReadonlyMap<string, string>
  /** The paragraph right before the first line that begins with an address. */
  readonly introduction: string
}

const TEXT_CHARS_MAX = 65_536
const BLOCK_CHARS_MAX = 4_000
const PARAGRAPH_CHARS_MAX = 1_000

/** A line that announces a copy of the message. */
const ANNOUNCES_COPY =
  /^[-=|\s]{0,80}(below (this line )?is a copy|this is a copy of|(a )?copy of (the|your) (original )?message|included is a copy|the body of the message|(original |your )?message (headers?|text|body) follows?|(original|returned|unsent|undelivered) message( (headers?|text|body|follows|below|is attached))*[^a-z]*$)/i
/** A header of the message itself. */
const BEGINS_COPY = /^[>\s]{0,20}(received|return-path|dkim-signature|delivered-to|mime-version): /i
/** So does this one, where another header follows. */
const MAY_BEGIN_COPY = /^[>\s]{0,20}message-id: /i
const IS_HEADER = /^[>\s]{0,20}[a-z][\w-]{1,60}: /i

/** Several of these in a row are the message's own, in front of it or named by the report. */
const IS_OF_MESSAGE = /^[>\s|]{0,20}(from|to|cc|subject|date|sent|message-id|reply-to):\s/i

/** An address alone, in brackets, quotes, or behind a word that announces it. */
const BEGINS_WITH_ADDRESS =
  /^[\s>*"'<([-]{0,20}(?:(?:(?:was |were )?not delivered |failed |final |original )?(?:recipient|rcpt to|to|user|e?-?mail|address|收件人)\s{0,5}[:=：]\s{0,5})?[<"'[]{0,2}([^\s<>"'(),:;[\]：，；（）。]{1,64}@[a-z\d](?:[a-z\d.-]{0,252}[a-z\d])?)["'>\]]{0,2}(?=$|[\s,:;(>])/i
/** Repeats a field of the message: nothing in it is said of a recipient. */
const REPEATS_FIELD =
  /^[\s>*]{0,20}((original |mail |envelope )?(from|sender)|reply-to|return-path|cc|subject|date|sent( date)?|message-id)\s{0,5}:/i
/** Whose address such a sentence has is no recipient. */
const OFFERS_HELP = /\b(contact|assistance|help)\b/i
/** Between parts of a report. */
const SEPARATOR = /^\s{0,20}[-=*|]{3}.{0,80}[-=*|]{3}\s{0,20}$/
const BEGINS_WITH_CODE = /^[\s>*]{0,20}(?:[45]\d\d[ -])?#?[45]\.\d{1,3}\.\d{1,3}\b/
const PARAGRAPHS_TO_CODE = 3
const HEADLINE = /^\*\* .{1,100} \*\*$/

export function readWords(source: ReportSource): ReportWords {
  const all = beforeCopy(source.text.slice(0, TEXT_CHARS_MAX).split('\n'))
  const lines = all.filter((_, i) => !isOfMessage(all, i))
  const own = ownAddresses(source)
  const text = all.join('\n')
  const { said: begun, introduction } = readBlocks(lines)
  const blocks = without(begun, (address) => own.has(address))
  if (blocks.size > 0) return { text, said: blocks, introduction }
  const others = without(readMentions(lines), (address) => own.has(address))
  const people = without(others, isOfMachine)
  const said = [people, begun, others].find(({ size }) => size > 0)
  return { text, said: said ?? new Map(), introduction }
}

function beforeCopy(lines: readonly string[]): readonly string[] {
  let hasBegun = false
  const end = lines.findIndex((line, i) => {
    if (hasBegun && beginsCopy(line, lines[i + 1] ?? '')) return true
    hasBegun ||= line.trim() !== ''
    return false
  })
  return end < 0 ? lines : lines.slice(0, end)
}

function beginsCopy(line: string, next: string): boolean {
  if (ANNOUNCES_COPY.test(line) || BEGINS_COPY.test(line)) return true
  return MAY_BEGIN_COPY.test(line) && IS_HEADER.test(next)
}

function isOfMessage(lines: readonly string[], i: number): boolean {
  const isField = (at: number) => IS_OF_MESSAGE.test(lines[at] ?? '')
  return isField(i) && (isField(i - 1) || isField(i + 1))
}

function ownAddresses({ headers }: ReportSource): ReadonlySet<string> {
  const values = ['from', 'to', 'delivered-to'].flatMap((name) => headersOf(headers, name))
  return new Set(mailboxesOf(values.slice(0, 10)).map(({ email }) => email.toLowerCase()))
}

function without(
  said: ReadonlyMap<string, string>,
  isLeftOut: (address: string) => boolean,
): ReadonlyMap<string, string> {
  return new Map([...said].filter(([address]) => !isLeftOut(address)))
}

function readBlocks(lines: readonly string[]): Pick<ReportWords, 'said' | 'introduction'> {
  const said = new Map<string, string>()
  let introduction: string | undefined
  /** `isLookedAt`: nothing was added since the block was searched for a reason; blank lines are many. */
  let current: { readonly key: string; block: string; isLookedAt: boolean } | undefined
  const finish = () => {
    if (current === undefined) return
    const { key, block } = current
    const before = said.get(key) ?? ''
    // Exchange names each twice: for its reader, and with the reply.
    if (before === '' || (replyIn(before) === undefined && replyIn(block) !== undefined))
      said.set(key, block)
  }
  for (const [i, line] of lines.entries()) {
    const address = BEGINS_WITH_ADDRESS.exec(line)
    if (address !== null && !isOfMachine(address[1] ?? '')) {
      finish()
      introduction ??= paragraphBefore(lines, i)
      if (said.size >= RECIPIENTS_MAX) return { said, introduction }
      const key = (address[1] ?? '').toLowerCase()
      const block = line.slice(address[0].length).replace(/^[\s>:,;]+/, '')
      current = { key, block, isLookedAt: false }
    } else if (current !== undefined && line.trim() === '') {
      if (!current.isLookedAt && hasReason(current.block)) {
        finish()
        current = undefined
      } else current.isLookedAt = true
    } else if (current !== undefined && isOfBlock(line, current.block)) {
      current.block += ` ${line.slice(0, BLOCK_CHARS_MAX)}`
      current.isLookedAt = false
    }
  }
  finish()
  return { said, introduction: introduction ?? '' }
}

function isOfBlock(line: string, block: string): boolean {
  return block.length < BLOCK_CHARS_MAX && !REPEATS_FIELD.test(line) && !SEPARATOR.test(line)
}

function hasReason(block: string): boolean {
  return replyIn(block) !== undefined || statusIn(block) !== undefined
}

function paragraphBefore(lines: readonly string[], end: number): string {
  let to = end
  while (to > 0 && (lines[to - 1] ?? '').trim() === '') to--
  let from = to
  while (from > 0 && (lines[from - 1] ?? '').trim() !== '') from--
  const said = lines.slice(from, to).filter((line) => !REPEATS_FIELD.test(line))
  return said.join(' ').slice(-PARAGRAPH_CHARS_MAX)
}

function readMentions(lines: readonly string[]): ReadonlyMap<string, string> {
  const paragraphs = paragraphsOf(lines)
  const outside = addressesOf(paragraphs, (line) => line.replace(replyIn(line) ?? '', ''))
  // Whom a server's reply names is of no account where the report itself names somebody.
  const addresses = outside.flat().length > 0 ? outside : addressesOf(paragraphs, (line) => line)
  const isOnly = new Set(addresses.flat()).size === 1
  const said = new Map<string, string>()
  for (const [i, named] of addresses.entries())
    for (const address of named) {
      if (said.has(address)) continue
      const isAlone = [...named, ...(addresses[i + 1] ?? [])].every((one) => one === address)
      const text = isAlone ? around(paragraphs, i) : ''
      said.set(
        address,
        isOnly && !hasReason(text) ? `${text} ${codeAfter(paragraphs, i)}`.trim() : text,
      )
      if (said.size >= RECIPIENTS_MAX) return said
    }
  return said
}

/** Of each paragraph, without those that are there twice. */
function addressesOf(
  paragraphs: readonly (readonly string[])[],
  partOf: (line: string) => string,
): readonly (readonly string[])[] {
  return paragraphs.map((paragraph) => {
    const all = paragraph.flatMap((line) => recipientsIn(partOf(line)))
    return [...new Set(all.map((address) => address.toLowerCase()))]
  })
}

function recipientsIn(line: string): readonly string[] {
  return OFFERS_HELP.test(line) ? [] : addressesIn(line)
}

function around(paragraphs: readonly (readonly string[])[], i: number): string {
  const textOf = (at: number) => (paragraphs[at] ?? []).join(' ').slice(0, PARAGRAPH_CHARS_MAX)
  const before = textOf(i - 1)
  return [HEADLINE.test(before) ? before : '', textOf(i), textOf(i + 1)].join('\n\n').trim()
}

/** The reason may follow a headline of its own: a paragraph that begins with a code. */
function codeAfter(paragraphs: readonly (readonly string[])[], i: number): string {
  const next = paragraphs.slice(i + 2, i + 2 + PARAGRAPHS_TO_CODE)
  const found = next.find(([first = '']) => BEGINS_WITH_CODE.test(first))
  return (found ?? []).join(' ').slice(0, PARAGRAPH_CHARS_MAX)
}

/** Without lines that are said of nobody. */
function paragraphsOf(lines: readonly string[]): readonly (readonly string[])[] {
  const paragraphs: string[][] = []
  let isNew = true
  for (const line of lines) {
    const isBlank = line.trim() === '' || SEPARATOR.test(line)
    if (!isBlank && isNew) paragraphs.push([])
    if (!isBlank && !REPEATS_FIELD.test(line)) paragraphs.at(-1)?.push(line)
    isNew = isBlank
  }
  return paragraphs
}
