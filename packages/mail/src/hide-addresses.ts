/**
 * A server's reply for the log: without addresses of people, in one bounded line.
 *
 * Servers quote the recipient (`550 5.1.1 <ada@example.com>: unknown`), and some quote only the local
 * part (`mailbox ada unavailable`). The log keeps the domain and hides the local part. Every step is
 * linear in the length of the text, which is bounded first.
 */
const TEXT_CHARS_MAX = 2_000
const SHOWN_CHARS_MAX = 500
/** A shorter local part would hide ordinary words. */
const LOCAL_CHARS_MIN = 3
const HIDDEN = '…'
const NOT_LOCAL = /[\s<>()[\]{},;:'"]/

/** @param recipient whose local part is hidden also where it stands alone */
export function hideAddresses(text: string, recipient: string): string {
  const line = wholeWords(text).replace(/\s+/g, ' ').trim()
  const hidden = hideLocalPart(hideLocalParts(line), localPartOf(recipient))
  return hidden.length > SHOWN_CHARS_MAX ? `${hidden.slice(0, SHOWN_CHARS_MAX)}…` : hidden
}

/** The half of an address at the cut would not be recognised. */
function wholeWords(text: string): string {
  if (text.length <= TEXT_CHARS_MAX) return text
  let end = TEXT_CHARS_MAX
  while (end > 0 && !/\s/.test(text[end - 1] ?? '')) end -= 1
  return `${text.slice(0, end)}${HIDDEN}`
}

function hideLocalParts(text: string): string {
  const pieces = text.split('@')
  const last = pieces.pop() ?? ''
  return [...pieces.map((piece) => `${piece.slice(0, startOfLocal(piece))}${HIDDEN}`), last].join(
    '@',
  )
}

/** Where the local part begins that `text` ends with; a quoted one may hold blanks (RFC 5321 §4.1.2). */
function startOfLocal(text: string): number {
  if (text.endsWith('"')) {
    const quote = text.lastIndexOf('"', text.length - 2)
    if (quote !== -1) return quote
  }
  let start = text.length
  while (start > 0 && !NOT_LOCAL.test(text[start - 1] ?? '')) start -= 1
  return start
}

function localPartOf(address: string): string {
  return address.slice(0, Math.max(0, address.lastIndexOf('@')))
}

function hideLocalPart(text: string, local: string): string {
  if (local.length < LOCAL_CHARS_MIN) return text
  const literal = local.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')
  return text.replace(new RegExp(`(?<![\\p{L}\\p{N}])${literal}(?![\\p{L}\\p{N}])`, 'giu'), HIDDEN)
}
