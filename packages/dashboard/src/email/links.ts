/**
 * Links of a mail, and whether what they show fits where they lead.
 *
 * The HTML is read as text. The browser's parser would obey the policy of this page, and complain of each style
 * and handler in the mail.
 */
export interface MailLink {
  readonly href: string
  /** What is shown for it. */
  readonly text: string
  /** The text names another host than the link leads to. */
  readonly lies: boolean
}

const linksMax = 1_000
/** Of a tag, what is looked at. */
const tagLengthMax = 8_192
const textLengthMax = 500
const SHOWN_HOST = /^(?:https?:\/\/)?((?:[\p{L}\p{N}-]+\.)+\p{L}{2,})(?:[/?#:]\S*)?$/iu

export function findLinks(html: string): MailLink[] {
  const links: MailLink[] = []
  let open: { readonly href: string; text: string } | undefined
  const close = () => {
    if (open !== undefined) links.push(linkOf(open.href, plain(open.text)))
    open = undefined
  }
  for (const { text, tag } of readTags(html)) {
    if (open !== undefined && open.text.length < textLengthMax)
      open.text += text.slice(0, textLengthMax)
    const name = /^\/?[a-z]+/i.exec(tag)?.[0].toLowerCase()
    if (name === '/a') close()
    if (open !== undefined && name === 'img') open.text += ` ${attributeOf(tag, 'alt') ?? ''}`
    if (name !== 'a' && name !== 'area') continue
    close()
    if (links.length >= linksMax) return links
    const href = attributeOf(tag, 'href')
    if (href === undefined) continue
    open = { href: decode(href).trim(), text: '' }
    if (name === 'area') close()
  }
  close()
  return links
}

export function linkOf(href: string, text: string): MailLink {
  const shown = SHOWN_HOST.exec(text.trim())?.[1]?.toLowerCase()
  const host = hostOf(href)
  const lies = shown !== undefined && host !== undefined && bare(shown) !== bare(host)
  return { href, text, lies }
}

/** Each tag without its brackets, and the text before it. What is in comments, styles and scripts is left out. */
function* readTags(html: string): Generator<{ readonly text: string; readonly tag: string }> {
  for (let at = 0; ; ) {
    const start = html.indexOf('<', at)
    if (start === -1) return
    const text = html.slice(at, start)
    if (html.startsWith('<!--', start)) {
      const end = html.indexOf('-->', start + 4)
      if (end === -1) return
      yield { text, tag: '' }
      at = end + 3
      continue
    }
    const end = endOfTag(html, start + 1)
    if (end === -1) return
    const tag = html.slice(start + 1, Math.min(end, start + tagLengthMax))
    yield { text, tag }
    at = end + 1
    const raw = /^(?:style|script)(?=[\s/]|$)/i.exec(tag)?.[0]
    if (raw === undefined) continue
    const closing = new RegExp(`</${raw}`, 'gi')
    closing.lastIndex = at
    const closed = closing.exec(html)
    if (closed === null) return
    at = closed.index
  }
}

/** A bracket within quotes ends nothing. -1: it has no end. */
function endOfTag(html: string, from: number): number {
  let quote = ''
  for (let at = from; at < html.length; at += 1) {
    const char = html.charAt(at)
    if (quote !== '') {
      if (char === quote) quote = ''
    } else if (char === '>') return at
    else if (char === '"' || char === "'") quote = char
  }
  return -1
}

function attributeOf(tag: string, name: string): string | undefined {
  const found = new RegExp(
    `[\\s/"']${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)'|([^\\s"'>]+))`,
    'i',
  ).exec(tag)
  return found?.[1] ?? found?.[2] ?? found?.[3]
}

function plain(text: string): string {
  return decode(text).trim().replaceAll(/\s+/g, ' ')
}

const named: Readonly<Record<string, string>> = {
  ...{ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: '\u00a0' },
}

function decode(text: string): string {
  return text.replaceAll(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z]{2,6}));?/gi, (whole, ...parts) => {
    const [decimal, hex, name] = parts as (string | undefined)[]
    if (name !== undefined) return named[name.toLowerCase()] ?? whole
    const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal)
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : whole
  })
}

function hostOf(href: string): string | undefined {
  const isWeb = /^https?:/i.test(href)
  return isWeb && URL.canParse(href) ? new URL(href).hostname : undefined
}

function bare(host: string): string {
  return host.replace(/^www\./, '')
}
