/**
 * Looks at JSON as it is written, for what its value does not tell: how many values it holds, before
 * anything is made of them, and names that an object has twice, of which a parser keeps the last.
 */

const [QUOTE, BACKSLASH, COLON, COMMA, BRACKET, BRACE, CLOSING_BRACKET, CLOSING_BRACE] =
  Buffer.from('"\\:,[{]}')
/** From there on a text is searched by the native search, which begins slowly. */
const SHORT_TEXT = 64

export interface JsonCounts {
  /** Every value but the first of its holder follows a comma; every holder opens with a bracket. */
  readonly values: number
  /** Names in all objects, repeated ones too. */
  readonly members: number
}

/** Of well-formed JSON; of other text, any number. No further than beyond `valuesMax`. */
export function countJson(bytes: Buffer, valuesMax: number): JsonCounts {
  let values = 0
  let members = 0
  for (let i = 0; i < bytes.length && values <= valuesMax; i++) {
    const byte = bytes[i]
    if (byte === QUOTE) i = endOfText(bytes, i)
    else if (byte === COLON) members++
    else if (byte === COMMA || byte === BRACKET || byte === BRACE) values++
  }
  return { values, members }
}

/** Where the quotation mark stands that ends the text which begins here; else the end of all. */
function endOfText(bytes: Buffer, start: number): number {
  let i = start + 1
  for (const end = i + SHORT_TEXT; i < end && i < bytes.length; i++) {
    const byte = bytes[i]
    if (byte === QUOTE) return i
    if (byte === BACKSLASH) i++
  }
  for (;;) {
    const quote = bytes.indexOf(QUOTE ?? 0, i)
    if (quote === -1) return bytes.length
    let backslashes = 0
    while (quote - backslashes > i && bytes[quote - backslashes - 1] === BACKSLASH) backslashes++
    if (backslashes % 2 === 0) return quote
    i = quote + 1
  }
}

export interface RepeatedName {
  /** From the root; the last is the name. */
  readonly segments: readonly (string | number)[]
}

/** Of an array, the index; of an object, the name of the member that is being read. */
type Holder = { index: number } | { readonly names: Set<string>; name: string }

/**
 * The first name that its object has had before, in well-formed JSON. `too-deep`: something nested
 * deeper than `depthMax` comes first.
 */
export function findRepeatedName(
  bytes: Buffer,
  depthMax: number,
): RepeatedName | 'too-deep' | undefined {
  const holders: Holder[] = []
  let isName = false
  for (let i = 0; i < bytes.length; i++) {
    const holder = holders.at(-1)
    switch (bytes[i]) {
      case BRACE:
      case BRACKET:
        if (holders.length === depthMax) return 'too-deep'
        isName = bytes[i] === BRACE
        holders.push(isName ? { names: new Set(), name: '' } : { index: 0 })
        break
      case CLOSING_BRACE:
      case CLOSING_BRACKET:
        holders.pop()
        break
      case COMMA:
        if (holder !== undefined && 'index' in holder) holder.index++
        else isName = true
        break
      case QUOTE: {
        const end = endOfText(bytes, i)
        if (isName && holder !== undefined && 'names' in holder) {
          holder.name = JSON.parse(bytes.toString('utf8', i, end + 1)) as string
          if (holder.names.has(holder.name)) return { segments: holders.map(segmentOf) }
          holder.names.add(holder.name)
          isName = false
        }
        i = end
        break
      }
    }
  }
  return undefined
}

function segmentOf(holder: Holder): string | number {
  return 'index' in holder ? holder.index : holder.name
}
