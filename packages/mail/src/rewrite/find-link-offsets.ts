/**
 * Finds where tracking goes in an HTML body: the links that lead to the web, and the place of the
 * pixel. One pass over the tokens; no tree is built and nothing is written, so whatever stands around
 * the places stays as it is, to the byte.
 *
 * A link is the first `href` of an `a` or `area` whose value, read as browsers read it (entities
 * decoded, tabs and line ends taken out, white space around it too), begins with `http://` or
 * `https://` and parses as a URL. Left as they are:
 * - relative, `mailto:`, `tel:`, `cid:` and all other addresses, and templates' leftovers, which
 *   somebody after us may fill in;
 * - links out of the mail's list (`OPTED_OUT`), which must work for longer than tracked ones do;
 * - links whose tag says so (`OPT_OUTS`);
 * - what stands in comments, those that Outlook reads among them, in CDATA, `script`, `style`,
 *   `title`, `textarea` and the like;
 * - URLs longer than what every proxy takes in a redirect, and all of them when there are too many.
 */
import { QuoteType, Tokenizer } from 'htmlparser2'

/** In characters (UTF-16) of the HTML. Plain data: it passes between threads and into JSON. */
export interface LinkOffsets {
  /** For each link where its value begins and ends, within its quotes, and its number in `urls`. */
  readonly links: readonly (readonly [start: number, end: number, link: number])[]
  /** Each once: as written in the HTML, entities decoded, without the white space that browsers drop. */
  readonly urls: readonly string[]
  /** Before the last `</body>`, else before the last `</html>`, else where the content ends. */
  readonly pixelAt: number
  readonly hasTooManyLinks: boolean
}

/** With more, none is tracked: a copy's links cost some microseconds each. */
export const LINKS_MAX = 1_000
export const URL_CHARS_MAX = 2_048

const TAB = 0x09
const CARRIAGE_RETURN = 0x0d
const SPACE = 0x20
const EQUALS = 0x3d
const LINK = /^https?:\/\/[^/\\?#]*([^#]*)/i
const LEFTOVER = /\{\{|<%|%unsubscribe_url%/
const OPTED_OUT = /unsubscri(?:be|ption)|opt[-_]?out/i
/** What a tag says to have its link left alone: ours, SendGrid's, Postmark's. */
const OPT_OUTS: ReadonlyMap<string, 'off' | 'any'> = new Map([
  ['data-postrider-track', 'off'],
  ['clicktracking', 'off'],
  ['data-pm-no-track', 'any'],
])
/** What stands within is text to the tokenizer, and to browsers. */
const RAW: ReadonlySet<string> = new Set([
  'iframe', 'noembed', 'noframes', 'plaintext', 'script', 'style', 'textarea', 'title', 'xmp',
]) // biome-ignore format: a list
/** After content that is complete it begins a tag; within an open tag, comment or text it does not. */
const PROBE = '<wbr>'

export function findLinkOffsets(html: string): LinkOffsets {
  const links: (readonly [number, number, number])[] = []
  const numbers = new Map<string, number>()
  let tag = ''
  let isLink = false
  let name = ''
  let nameEnd = 0
  let value = ''
  let href: { readonly start: number; readonly end: number; readonly value: string } | undefined
  let isOff = false
  let isRaw = false
  let bodyEnd = -1
  let htmlEnd = -1
  /** Up to here everything is complete, so that a tag may stand here. */
  let completeEnd = 0
  let isComplete = false

  function openTag(end: number): void {
    if (end >= html.length) return
    isRaw = RAW.has(tag)
    if (!isRaw) completeEnd = end + 1
    if (href === undefined || isOff || links.length > LINKS_MAX) return
    const url = toTrackedUrl(href.value)
    if (url === undefined) return
    const link = numbers.get(url) ?? numbers.size
    numbers.set(url, link)
    links.push([href.start, href.end, link])
  }

  const tokenizer = new Tokenizer(
    { decodeEntities: true },
    {
      onopentagname(start, end) {
        tag = html.slice(start, end).toLowerCase()
        isLink = tag === 'a' || tag === 'area'
        href = undefined
        isOff = false
        if (start > html.length) isComplete = true
      },
      onattribname(start, end) {
        if (!isLink) return
        name = html.slice(start, end).toLowerCase()
        nameEnd = end
        value = ''
      },
      onattribdata(start, end) {
        if (isLink && value.length <= VALUE_CHARS_MAX) value += html.slice(start, end)
      },
      onattribentity(codePoint) {
        if (isLink && value.length <= VALUE_CHARS_MAX) value += String.fromCodePoint(codePoint)
      },
      onattribend(quote, end) {
        if (!isLink) return
        const optOut = OPT_OUTS.get(name)
        if (optOut === 'any' || (optOut === 'off' && value.trim().toLowerCase() === 'off'))
          isOff = true
        if (name !== 'href') return
        // The first of a name counts, also when it is empty.
        href ??= { value, ...rangeOfValue(html, nameEnd, quote, end) }
      },
      onopentagend: openTag,
      onselfclosingtag: openTag,
      onclosetag(start, end) {
        const closed = html.slice(start, end).toLowerCase()
        const closedAt = start - '</'.length
        const tagEnd = html.indexOf('>', end)
        if (tagEnd >= 0) completeEnd = tagEnd + 1
        isRaw = false
        if (closed === 'body') bodyEnd = closedAt
        else if (closed === 'html') htmlEnd = closedAt
      },
      ontext(_start, end) {
        if (!isRaw) completeEnd = Math.min(end, html.length)
      },
      oncomment(_start, end) {
        if (end < html.length) completeEnd = end + 1
      },
      ondeclaration(_start, end) {
        if (end < html.length) completeEnd = end + 1
      },
      ontextentity: () => undefined,
      oncdata: () => undefined,
      onprocessinginstruction: () => undefined,
      onend: () => undefined,
    },
  )
  tokenizer.write(html)
  tokenizer.write(PROBE)
  const contentEnd = isComplete ? html.length : completeEnd
  const hasTooManyLinks = links.length > LINKS_MAX
  return {
    links: hasTooManyLinks ? [] : links,
    urls: hasTooManyLinks ? [] : [...numbers.keys()],
    pixelAt: bodyEnd >= 0 ? bodyEnd : htmlEnd >= 0 ? htmlEnd : contentEnd,
    hasTooManyLinks,
  }
}

/** White space around a URL may be long; a value beyond this is no link of ours. */
const VALUE_CHARS_MAX = 2 * URL_CHARS_MAX

/** The tokenizer tells the end of a value, its quotes included, but not where it begins. */
function rangeOfValue(html: string, nameEnd: number, quote: QuoteType, end: number) {
  if (quote === QuoteType.NoValue) return { start: nameEnd, end: nameEnd }
  let start = nameEnd
  while (isSpace(html.charCodeAt(start)) || html.charCodeAt(start) === EQUALS) start += 1
  if (quote === QuoteType.Unquoted) return { start, end }
  return { start: start + 1, end: end - 1 }
}

function isSpace(code: number): boolean {
  return code === SPACE || (code >= TAB && code <= CARRIAGE_RETURN && code !== 0x0b)
}

/** As browsers take it (URL standard: trimmed of controls and spaces, without tabs and line ends). */
function toTrackedUrl(value: string): string | undefined {
  if (value.length > VALUE_CHARS_MAX) return undefined
  let start = 0
  let end = value.length
  while (start < end && value.charCodeAt(start) <= SPACE) start += 1
  while (end > start && value.charCodeAt(end - 1) <= SPACE) end -= 1
  const url = value.slice(start, end).replace(/[\t\n\r]/g, '')
  const [, pathAndQuery] = LINK.exec(url) ?? []
  if (pathAndQuery === undefined || OPTED_OUT.test(pathAndQuery) || LEFTOVER.test(url))
    return undefined
  return isParsable(url) ? url : undefined
}

/** As a URL that is not too long, written as it goes into a redirect: a character may become nine. */
function isParsable(url: string): boolean {
  if (url.length * 9 <= URL_CHARS_MAX) return URL.canParse(url)
  const parsed = URL.parse(url)
  return parsed !== null && parsed.href.length <= URL_CHARS_MAX
}
