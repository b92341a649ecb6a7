/**
 * Reads the address of a link as the program that follows it does: by the URL standard, which drops
 * tabs and line breaks, takes backslashes for slashes, decodes hosts and reads numbers as IPv4.
 */

export interface WebAddress {
  readonly kind: 'web'
  /** In A-labels; an IPv4 address as four numbers, an IPv6 address in brackets. */
  readonly host: string
  readonly isNumeric: boolean
  /** Numeric, and not written so that a person sees it. */
  readonly isDisguised: boolean
  /** What stands before an `@` in front of the host, decoded; empty without one. */
  readonly user: string
  /** Addresses within it, such as where a redirector leads to. */
  readonly inner: readonly string[]
}

export type Address =
  | WebAddress
  /** A scheme that runs, shows or opens something by itself. */
  | { readonly kind: 'script' | 'data' | 'file' }
  | { readonly kind: 'overlong' }
  /** Mail, telephone, a place in the same document, or nothing that can be followed. */
  | { readonly kind: 'none' }

const ADDRESS_CHARS_MAX = 16_384
const INNER_MAX = 3
const NONE: Address = { kind: 'none' }
const RELATIVE = 'relative.invalid'
const RELATIVE_BASE = `http://${RELATIVE}/`
/** `javascript:void(0)` and the like are how careless templates say "nowhere". */
const SCRIPT_THAT_DOES_NOTHING = /^javascript:\s*(?:void\s*\(?\s*0?\s*\)?|\/\/)?[\s;]*$/i
const SCHEMES: Readonly<Record<string, 'script' | 'data' | 'file'>> = {
  'javascript:': 'script',
  'vbscript:': 'script',
  'livescript:': 'script',
  'file:': 'file',
}
/** Media types that show what they like. */
const DATA_THAT_SHOWS = /^data:[^,]{0,200}?(?:html|xml|svg|script)/i

export function readAddress(text: string, base?: string): Address {
  const trimmed = bare(text.slice(0, ADDRESS_CHARS_MAX + 64))
  if (/^data:/i.test(trimmed)) return DATA_THAT_SHOWS.test(trimmed) ? { kind: 'data' } : NONE
  if (text.length > ADDRESS_CHARS_MAX) return { kind: 'overlong' }
  const absolute = /^www\d?\./i.test(trimmed) ? `http://${trimmed}` : trimmed
  const url = URL.parse(absolute, baseOf(base))
  if (url === null) return NONE
  const dangerous = SCHEMES[url.protocol]
  if (dangerous !== undefined)
    return SCRIPT_THAT_DOES_NOTHING.test(trimmed) ? NONE : { kind: dangerous }
  if (!/^(?:https?|ftp):$/.test(url.protocol) || url.hostname === RELATIVE) return NONE
  const host = url.hostname.replace(/\.$/, '')
  const isNumeric = /^(?:\d+\.){3}\d+$|^\[/.test(host)
  return {
    kind: 'web',
    host,
    isNumeric,
    isDisguised: isNumeric && !host.startsWith('[') && !absolute.includes(host),
    user: decode(url.username + (url.password === '' ? '' : `:${url.password}`)),
    inner: url.search.length + url.pathname.length + url.hash.length > 8 ? innerOf(url) : [],
  }
}

function bare(text: string): string {
  if (/^[\x21-\x7e]*$/.test(text)) return text
  return text.replaceAll(/[\p{Cc}\u200b-\u200d\ufeff]/gu, '').trim()
}

function baseOf(base: string | undefined): string {
  return base !== undefined && URL.canParse(base) ? base : RELATIVE_BASE
}

/** An address in a parameter or at the end of the path, plain or percent-encoded. */
function innerOf({ pathname, search, hash }: URL): string[] {
  const whole = `${pathname}${search}${hash}`
  if (!/https?(?::|%3a)/i.test(whole)) return []
  const found = decode(whole).matchAll(/https?:[\\/]{1,2}[^\s&"'<>|]+/gi)
  return Array.from(found, ([address]) => address).slice(0, INNER_MAX)
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text.replaceAll(/%([2-7][\da-f])/gi, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    )
  }
}
