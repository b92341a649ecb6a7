/**
 * Reads from HTML what matters to phishing, in one pass over its tokens: no tree is built, so
 * nesting costs nothing and a stack cannot overflow. As in browsers a link ends where the next one
 * begins, and comments are not content, save those that Outlook reads.
 */
import { Tokenizer } from 'htmlparser2'

export interface HtmlLink {
  readonly href: string
  /** What the reader sees of it; the beginning when it is long. */
  readonly text: string
}

export interface HtmlFacts {
  readonly links: readonly HtmlLink[]
  /** Addresses of pictures, frames and the like. */
  readonly sources: readonly string[]
  readonly formActions: readonly string[]
  /** `<base href>`, the first. */
  readonly base: string | undefined
  readonly hasPasswordField: boolean
  readonly hasSecretField: boolean
  /** Where a `<meta http-equiv=refresh>` leads. */
  readonly refreshes: readonly string[]
  readonly text: string
  readonly isCut: boolean
}

export const LINKS_MAX = 10_000
const LINK_TEXT_MAX = 1_024
/** Outlook's comments hold HTML, but no such comments. */
const NESTING_MAX = 1

type Attributes = Map<string, string>

interface Reading {
  readonly links: { href: string; text: string }[]
  readonly sources: string[]
  readonly formActions: string[]
  readonly refreshes: string[]
  readonly text: string[]
  readonly joinedText: string[]
  base: string | undefined
  hasPasswordField: boolean
  hasSecretField: boolean
  addresses: number
}

/** Pieces of text are joined so many at a time: each by itself is an object. */
const TEXT_PIECES_MAX = 4_096

export function readHtml(html: string): HtmlFacts {
  const reading: Reading = {
    links: [],
    sources: [],
    formActions: [],
    refreshes: [],
    text: [],
    joinedText: [],
    base: undefined,
    hasPasswordField: false,
    hasSecretField: false,
    addresses: 0,
  }
  read(html, reading, 0)
  joinText(reading)
  return { ...reading, text: reading.joinedText.join(''), isCut: reading.addresses > LINKS_MAX }
}

function joinText({ text, joinedText }: Reading): void {
  joinedText.push(text.join(''))
  text.length = 0
}

function read(html: string, reading: Reading, nesting: number): void {
  let tag = ''
  let attributes: Attributes = new Map()
  let name = ''
  let value = ''
  let link: { href: string; text: string } | undefined
  let isSilent = false

  function addText(text: string): void {
    if (isSilent) return
    reading.text.push(text)
    if (reading.text.length > TEXT_PIECES_MAX) joinText(reading)
    if (link !== undefined && link.text.length < LINK_TEXT_MAX)
      link.text += text.slice(0, LINK_TEXT_MAX)
  }

  function openTag(): void {
    isSilent = SILENT.has(tag)
    // Words on both sides of a block do not touch.
    if (!INLINE.has(tag)) addText(' ')
    const href = noteTag(reading, tag, attributes)
    if (tag === 'a') link = undefined
    if (reading.addresses > LINKS_MAX) tokenizer.pause()
    if (href !== undefined && reading.addresses++ < LINKS_MAX) {
      const opened = { href, text: '' }
      reading.links.push(opened)
      if (tag === 'a') link = opened
    }
    const alt = tag === 'img' ? attributes.get('alt') : undefined
    if (alt !== undefined && link !== undefined) addText(` ${alt} `)
  }

  const tokenizer = new Tokenizer(
    { decodeEntities: true },
    {
      onopentagname(start, end) {
        tag = html.slice(start, end).toLowerCase()
        attributes = new Map()
      },
      onattribname(start, end) {
        name = html.slice(start, end).toLowerCase()
        value = ''
      },
      onattribdata(start, end) {
        value += html.slice(start, end)
      },
      onattribentity(codePoint) {
        value += String.fromCodePoint(codePoint)
      },
      onattribend() {
        // The first of a name counts.
        if (WANTED.has(name) && !attributes.has(name)) attributes.set(name, value)
      },
      onopentagend: openTag,
      onselfclosingtag: openTag,
      onclosetag(start, end) {
        const closed = html.slice(start, end).trim().toLowerCase()
        if (closed === 'a') link = undefined
        if (SILENT.has(closed)) isSilent = false
        if (!INLINE.has(closed)) addText(' ')
      },
      ontext: (start, end) => addText(html.slice(start, end)),
      ontextentity: (codePoint) => addText(String.fromCodePoint(codePoint)),
      oncomment(start, end, offset) {
        const inner =
          nesting < NESTING_MAX ? OUTLOOK.exec(html.slice(start, end - offset))?.[1] : undefined
        if (inner !== undefined) read(inner, reading, nesting + 1)
      },
      oncdata: () => undefined,
      ondeclaration: () => undefined,
      onprocessinginstruction: () => undefined,
      onend: () => undefined,
    },
  )
  tokenizer.write(html)
  tokenizer.end()
}

const SILENT: ReadonlySet<string> = new Set(['script', 'style', 'title', 'template'])
const INLINE: ReadonlySet<string> = new Set([
  'abbr', 'b', 'bdi', 'bdo', 'big', 'code', 'em', 'font', 'i', 'ins', 'mark', 'small', 'span',
  'strong', 'sub', 'sup', 'u', 'wbr',
]) // biome-ignore format: a list
const WANTED: ReadonlySet<string> = new Set([
  'action', 'alt', 'autocomplete', 'background', 'content', 'data', 'formaction', 'href',
  'http-equiv', 'name', 'poster', 'src', 'type', 'xlink:href',
]) // biome-ignore format: a list
const OUTLOOK = /^\[if [^\]]{1,100}\]>([\s\S]*)<!\[endif\]$/i
const SECRET_COMPLETION = /^(?:cc-(?:number|csc|exp)|one-time-code|current-password|new-password)/i
const SECRET_NAME =
  /passw(?:or)?d|^pin$|^cvv2?$|^cvc2?$|card.?num|kennwort|contrase|mot.?de.?passe/i

/** Notes what a tag says; answers the address when it is a link. */
function noteTag(reading: Reading, tag: string, attributes: Attributes): string | undefined {
  if (attributes.size === 0) return undefined
  const formAction = attributes.get('formaction')
  if (formAction !== undefined) add(reading, reading.formActions, formAction)
  switch (tag) {
    case 'base':
      reading.base ??= attributes.get('href')
      return undefined
    case 'form':
      add(reading, reading.formActions, attributes.get('action'))
      return undefined
    case 'input':
      noteInput(reading, attributes)
      return undefined
    case 'meta':
      noteRefresh(reading, attributes)
      return undefined
    case 'link':
      add(reading, reading.sources, attributes.get('href'))
      return undefined
    default:
      for (const source of SOURCES) add(reading, reading.sources, attributes.get(source))
      return attributes.get('href') ?? attributes.get('xlink:href')
  }
}

const SOURCES = ['src', 'background', 'poster', 'data'] as const

function add(reading: Reading, to: string[], address: string | undefined): void {
  if (address !== undefined && reading.addresses++ < LINKS_MAX) to.push(address)
}

function noteInput(reading: Reading, attributes: Attributes): void {
  const type = attributes.get('type')?.trim().toLowerCase()
  if (type === 'password') reading.hasPasswordField = true
  if (type === 'hidden') return
  const isSecret =
    SECRET_COMPLETION.test(attributes.get('autocomplete') ?? '') ||
    SECRET_NAME.test((attributes.get('name') ?? '').slice(0, LINK_TEXT_MAX))
  if (isSecret) reading.hasSecretField = true
}

function noteRefresh(reading: Reading, attributes: Attributes): void {
  if (attributes.get('http-equiv')?.trim().toLowerCase() !== 'refresh') return
  const [, url] = /url\s*=\s*["']?([^"']*)/i.exec(attributes.get('content') ?? '') ?? []
  add(reading, reading.refreshes, url)
}
