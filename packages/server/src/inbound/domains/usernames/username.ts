/**
 * Which local parts are one (docs/reference/inbound.md#routes): compared without case and in NFC, quoted or
 * not (RFC 5321 §4.1.2: quotes say nothing), whatever their tag. Dots count.
 */
import { inboundUsernameBytesMax } from '@postrider/contract'
import { addressKeyOf, parseAddress } from '@postrider/mail'

export type CheckedUsername =
  | { readonly ok: true; readonly username: string }
  | { readonly ok: false; readonly problem: string }

const QUOTED = /^"((?:[^"\\]|\\.)*)"$/su
/** No mail program shows them, and a text with NUL cannot be stored. */
const INVISIBLE = /[\p{C}\u2028\u2029]/u

/** As a route has it, of a local part as SMTP has it; undefined for what nobody can have. */
export function usernameOf(local: string): string | undefined {
  const text = unquoted(local)
  if (!text.isWellFormed() || INVISIBLE.test(text)) return undefined
  const [base = ''] = text.split('+', 1)
  return addressKeyOf(base)
}

/** What a route may be made for. */
export function checkUsername(text: string): CheckedUsername {
  const isQuoted = QUOTED.test(text)
  if (!isQuoted && text.includes('@')) return refuse('must be what stands before the @, alone')
  const username = usernameOf(text)
  if (username === undefined) return refuse('must not have invisible characters')
  if (unquoted(text).includes('+'))
    return refuse('must not have a +: mail with a tag comes by the username before it')
  if (text.includes('*'))
    return refuse('must not have a *: it is one local part; a domain without usernames takes all')
  if (Buffer.byteLength(username) > inboundUsernameBytesMax)
    return refuse(`must be at most ${inboundUsernameBytesMax} octets`)
  if (username === '' || !(isQuoted || parseAddress(`${text}@example.com`).ok))
    return refuse('must be a local part such as support, or "in quotes"')
  return { ok: true, username }
}

/** As it may have been given in a path, with its quotes or without; undefined for what has no route. */
export function readUsername(text: string): string | undefined {
  return unquoted(text).includes('+') ? undefined : usernameOf(text)
}

function unquoted(local: string): string {
  return QUOTED.exec(local)?.[1]?.replace(/\\(.)/gsu, '$1') ?? local
}

function refuse(problem: string): CheckedUsername {
  return { ok: false, problem }
}
