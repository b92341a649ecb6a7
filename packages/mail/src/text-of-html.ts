/**
 * The text that stands beside HTML for readers and filters that want plain text: what is read, in its
 * order, a line or a paragraph where the HTML has one, `- ` before what is listed, and links as
 * `text <https://…>`, as mail programs write them.
 *
 * One pass over the tokens, in time and memory that grow with the HTML and nothing else: no tree is
 * built, and nesting means nothing but the numbers of lists, to a bound.
 */
import { Tokenizer } from 'htmlparser2'
import { createTextWriter, type TextWriter } from './text-writer.ts'

/** Far beyond what mail programs show; for more, a text would cost more than it is worth. */
const HTML_CHARS_MAX = 256 * 1024
const LISTS_MAX = 20
const LINK_TEXT_MAX = 2_048

type Role = 'paragraph' | 'line' | 'cell' | 'silent' | Own
/** Tags with a meaning of their own. */
type Own = 'a' | 'img' | 'br' | 'hr' | 'pre' | 'ul' | 'ol' | 'li'

/** Others are set within the line. */
const ROLES = new Map<string, Role>([
  ...tags('paragraph', 'p h1 h2 h3 h4 h5 h6 dl blockquote figure'),
  ...tags('line', 'address article aside body caption center dd div dt fieldset figcaption footer'),
  ...tags('line', 'form header html legend main nav section summary table tbody tfoot thead tr'),
  ...tags('cell', 'td th'),
  // What stands within is not read.
  ...tags(
    'silent',
    'audio canvas head iframe math noembed noframes object script select style svg',
  ),
  ...tags('silent', 'template textarea title video'),
  ...(['a', 'img', 'br', 'hr', 'pre', 'ul', 'ol', 'li'] as const).map((tag) => [tag, tag] as const),
])
const LINK = /^(?:https?:\/\/|mailto:|tel:)[^\s<>]+$/i

/** Empty where there is nothing to read, or too much. */
export function textOfHtml(html: string): string {
  if (html.length > HTML_CHARS_MAX) return ''
  const writer = createTextWriter()
  const reader = createReader(writer)
  let tag = ''
  let attribute: 'href' | 'alt' | undefined
  let value = ''
  const attributes = { href: '', alt: '' }
  const open = () => reader.open(tag, attributes)
  const tokenizer = new Tokenizer(
    { decodeEntities: true },
    {
      onopentagname(start, end) {
        tag = html.slice(start, end).toLowerCase()
        attributes.href = ''
        attributes.alt = ''
      },
      onattribname(start, end) {
        attribute = undefined
        value = ''
        if (tag !== 'a' && tag !== 'img') return
        const name = html.slice(start, end).toLowerCase()
        if (name === 'href' || name === 'alt') attribute = name
      },
      onattribdata(start, end) {
        if (attribute !== undefined) value += html.slice(start, end)
      },
      onattribentity(codePoint) {
        if (attribute !== undefined) value += String.fromCodePoint(codePoint)
      },
      onattribend() {
        if (attribute !== undefined) attributes[attribute] ||= value
      },
      onopentagend: open,
      onselfclosingtag: open,
      onclosetag: (start, end) => reader.close(html.slice(start, end).toLowerCase()),
      ontext: (start, end) => reader.text(html.slice(start, end)),
      ontextentity: (codePoint) => reader.text(String.fromCodePoint(codePoint)),
      oncdata: () => undefined,
      oncomment: () => undefined,
      ondeclaration: () => undefined,
      onend: () => undefined,
      onprocessinginstruction: () => undefined,
    },
  )
  tokenizer.write(html)
  tokenizer.end()
  reader.endLink()
  return writer.end()
}

/** As browsers read it: without line ends and tabs, blanks encoded. */
function asFollowed(href: string): string {
  return href
    .trim()
    .replaceAll(/[\t\r\n]/g, '')
    .replaceAll(' ', '%20')
}

interface Attributes {
  readonly href: string
  readonly alt: string
}

function createReader(writer: TextWriter) {
  const lists = createLists(writer)
  let silent: { readonly tag: string; depth: number } | undefined
  let link: { readonly href: string; text: string } | undefined
  let preDepth = 0

  function text(given: string): void {
    if (silent !== undefined) return
    if (link !== undefined && link.text.length < LINK_TEXT_MAX) link.text += given
    if (preDepth > 0) writer.preformatted(given)
    else writer.text(given)
  }

  /** A link is shown as its text alone where that says where it leads. */
  function endLink(): void {
    const { href, text: shown } = link ?? { href: '', text: '' }
    link = undefined
    if (!LINK.test(href) || bareOf(shown) === bareOf(href)) return
    writer.space()
    writer.text(`<${href}>`)
  }

  const breaks = { paragraph: writer.paragraph, line: writer.line, cell: writer.space }
  const nothing = () => undefined
  const opening: Readonly<Record<Role, (attributes: Attributes) => void>> = {
    ...breaks,
    silent: nothing,
    br: writer.break,
    hr: writer.rule,
    li: lists.beginItem,
    a({ href }) {
      endLink()
      if (href !== '') link = { href: asFollowed(href), text: '' }
    },
    img({ alt }) {
      writer.space()
      text(alt)
      writer.space()
    },
    pre() {
      preDepth += 1
      writer.paragraph()
    },
    ul: () => lists.begin(0),
    ol: () => lists.begin(1),
  }
  const closing: Readonly<Record<Role, () => void>> = {
    ...breaks,
    silent: nothing,
    br: nothing,
    hr: nothing,
    img: nothing,
    a: endLink,
    li() {
      writer.prefix('')
      writer.line()
    },
    pre() {
      preDepth = Math.max(0, preDepth - 1)
      writer.paragraph()
    },
    ul: lists.end,
    ol: lists.end,
  }

  return {
    text,
    endLink,
    open(tag: string, attributes: Attributes): void {
      const role = ROLES.get(tag)
      if (silent !== undefined) {
        // Whatever began before it: the body is read.
        if (tag === 'body') silent = undefined
        else if (silent.tag === tag) silent.depth += 1
      } else if (role === 'silent') silent = { tag, depth: 1 }
      else if (role !== undefined) opening[role](attributes)
    },
    close(tag: string): void {
      if (silent !== undefined) {
        if (silent.tag === tag) silent.depth -= 1
        if (silent.depth === 0) silent = undefined
        return
      }
      const role = ROLES.get(tag)
      if (role !== undefined) closing[role]()
    },
  }
}

function createLists(writer: TextWriter) {
  /** The next number of each open list; 0 for one without numbers. */
  const lists: number[] = []

  function beginItem(): void {
    writer.line()
    const number = lists.at(-1) ?? 0
    const indent = '  '.repeat(Math.max(0, lists.length - 1))
    writer.prefix(indent + (number > 0 ? `${number}. ` : '- '))
    if (number > 0) lists[lists.length - 1] = number + 1
  }

  /** A list within a list follows its item at once. */
  function breakAtList(): void {
    if (lists.length > 0) writer.line()
    else writer.paragraph()
  }

  function begin(number: number): void {
    breakAtList()
    if (lists.length < LISTS_MAX) lists.push(number)
  }

  function end(): void {
    lists.pop()
    breakAtList()
  }

  return { beginItem, begin, end }
}

/** `https://example.com/` and `Example.com` are the same to a reader. */
function bareOf(text: string): string {
  return text
    .trim()
    .replace(/^(?:https?:\/\/|mailto:|tel:)/i, '')
    .replace(/\/$/, '')
    .toLowerCase()
}

function tags(role: Role, names: string): (readonly [string, Role])[] {
  return names.split(' ').map((name) => [name, role])
}
