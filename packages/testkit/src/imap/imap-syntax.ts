/**
 * What IMAP commands consist of (RFC 3501 §9): atoms, strings and lists. An atom keeps its section,
 * `BODY.PEEK[HEADER.FIELDS (A B)]<0.100>`, and its meaning is left to the caller.
 */
export type ImapToken =
  | { readonly kind: 'atom'; readonly text: string }
  | { readonly kind: 'string'; readonly text: string; readonly bytes: Buffer }
  | { readonly kind: 'list'; readonly items: readonly ImapToken[] }

/** Lines as text, literals as bytes, in the order in which they came. */
export type ImapPart = string | Buffer

/** Undefined for what is not a command. */
export function readTokens(parts: readonly ImapPart[]): ImapToken[] | undefined {
  const stack: ImapToken[][] = [[]]
  const push = (token: ImapToken): void => void stack.at(-1)?.push(token)
  for (const part of parts) {
    if (typeof part !== 'string') {
      push({ kind: 'string', text: part.toString('utf8'), bytes: part })
      continue
    }
    for (let at = 0; at < part.length; ) {
      const rest = part.slice(at)
      const atom = ATOM.exec(rest)?.[0]
      const quoted = QUOTED.exec(rest)
      if (rest.startsWith(' ')) at += 1
      else if (rest.startsWith('(')) {
        stack.push([])
        at += 1
      } else if (rest.startsWith(')')) {
        const items = stack.pop()
        if (items === undefined || stack.length === 0) return undefined
        push({ kind: 'list', items })
        at += 1
      } else if (quoted !== null) {
        const text = (quoted[1] ?? '').replace(/\\(.)/g, '$1')
        push({ kind: 'string', text, bytes: Buffer.from(text) })
        at += quoted[0].length
      } else if (atom !== undefined) {
        push({ kind: 'atom', text: atom })
        at += atom.length
      } else return undefined
    }
  }
  return stack.length === 1 ? stack[0] : undefined
}

const ATOM = /^(?:[^\s()"[]+(?:\[[^\]]*\](?:<[\d.]+>)?)?)/
const QUOTED = /^"((?:[^"\\]|\\.)*)"/

/** Of an atom or a string; '' for a list. */
export function textOf(token: ImapToken | undefined): string {
  return token === undefined || token.kind === 'list' ? '' : token.text
}

/** Of a list; what stands alone is a list of one. */
export function itemsOf(token: ImapToken | undefined): readonly ImapToken[] {
  if (token === undefined) return []
  return token.kind === 'list' ? token.items : [token]
}

export function quote(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`
}

export function literal(bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`{${bytes.length}}\r\n`), bytes])
}

/** Whether a number is in a set such as `1:4,7,9:*`; `*` is the largest there is. */
export function isInSet(set: string, number: number, largest: number): boolean {
  return set.split(',').some((range) => {
    const [first = 0, last = first] = range
      .split(':')
      .map((one) => (one === '*' ? largest : Number(one)))
    return number >= Math.min(first, last) && number <= Math.max(first, last)
  })
}

export function isSet(text: string): boolean {
  return /^(?:\d+|\*)(?::(?:\d+|\*))?(?:,(?:\d+|\*)(?::(?:\d+|\*))?)*$/.test(text)
}

/** As INTERNALDATE is written. */
export function writeDate(date: Date): string {
  const [, day = '', month = '', year = '', time = ''] =
    /^\w+, (\d\d) (\w+) (\d+) ([\d:]+)/.exec(date.toUTCString()) ?? []
  return quote(`${day}-${month}-${year} ${time} +0000`)
}
