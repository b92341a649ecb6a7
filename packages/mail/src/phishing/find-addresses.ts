/** Finds in text what mail programs make links of, and what readers take for a site's name. */
import { parse } from 'tldts'
import { readAddress, type WebAddress } from './read-address.ts'

export interface FoundAddress {
  readonly address: WebAddress
  /** With a scheme, `www.` or a path: an address rather than a name. */
  readonly isAddress: boolean
}

export const FOUND_MAX = 10_000
const HOST_CHARS_MAX = 253
const TOKEN_CHARS_MAX = 4_096
const INVISIBLE = /\u034f|[\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]/gu
/** A name of at least two labels whose last can be a top-level domain. */
const HOST = /^(?:[\p{L}\p{M}\p{N}_-]{1,63}[.\uff0e\u3002])+[\p{L}\p{M}\p{N}-]{2,63}$/u

/** Where an address may be: a dot within a word, or a scheme's colon. */
const HINT = /[.\uff0e\u3002](?=\S)|:(?=[\\/])/g
const BETWEEN = new Set(
  Array.from('<>"\'()[]{}|,;，。、；！？（）「」【】《》', (one) => one.charCodeAt(0)),
)

/** Each character is looked at a fixed number of times, whatever the text. */
export function findAddresses(text: string): { found: FoundAddress[]; isCut: boolean } {
  const found: FoundAddress[] = []
  let after = 0
  HINT.lastIndex = 0
  for (let hint = HINT.exec(text); hint !== null; hint = HINT.exec(text)) {
    let start = hint.index
    while (start > after && !isBetween(text.charCodeAt(start - 1))) start -= 1
    after = hint.index + 1
    while (after < text.length && !isBetween(text.charCodeAt(after))) after += 1
    HINT.lastIndex = after
    const one = readToken(text.slice(start, after))
    if (one === undefined) continue
    if (found.length === FOUND_MAX) return { found, isCut: true }
    found.push(one)
  }
  return { found, isCut: false }
}

/** Between two words of a text. */
function isBetween(code: number): boolean {
  if (code <= 0x20 || BETWEEN.has(code)) return true
  return code === 0xa0 || code === 0x3000 || (code >= 0x2000 && code <= 0x200a)
}

function readToken(whole: string): FoundAddress | undefined {
  const token = whole
    .slice(0, TOKEN_CHARS_MAX)
    .replaceAll(INVISIBLE, '')
    .replace(/[.:!?*_…]{1,8}$/, '')
  const at = token.search(/https?:[\\/]/i)
  if (at >= 0) return readUrl(token.slice(at))
  // The address of a mailbox is no link to its host.
  if (token.includes('@')) return undefined
  const [name = ''] = token.split(/[/?#:\\]/, 1)
  if (name.length > HOST_CHARS_MAX || !HOST.test(name)) return undefined
  const found = readUrl(`http://${token}`)
  if (found === undefined || parse(found.address.host, HOSTS).isIcann !== true) return undefined
  return { ...found, isAddress: /^www\d?\./i.test(token) || token.length > name.length + 1 }
}

const HOSTS = { extractHostname: false, validateHostname: false } as const

function readUrl(address: string): FoundAddress | undefined {
  const read = readAddress(address)
  return read.kind === 'web' ? { address: read, isAddress: true } : undefined
}
