/**
 * What a scripted IMAP server does instead of being well-behaved: a function from what is happening
 * to an action, or to a text that stands for one:
 *
 *   `NO [CODE] text`, `BAD text`, `OK text`   the command is answered so, and not carried out
 *   `BYE text`                                the server says goodbye and ends the connection
 *   `fin`, `rst`, `hang`, `garbage`           in place of any answer
 */
import type { WireAction } from '../wire.ts'

export interface ImapContext {
  /** In capitals, `UID FETCH` with its UID; `GREETING` before the first, `DONE` at the end of IDLE. */
  readonly command: string
  /** As received, without its tag, its literals and its line end. */
  readonly line: string
  readonly connection: number
  readonly secure: boolean
  /** The name that logged in, or the one that tries to. */
  readonly username: string | undefined
  readonly secret: string | undefined
  /** The one that is selected. */
  readonly folder: string | undefined
  /** How often this command has been given to the server, this time included. */
  readonly n: number
  /** What it would answer, in pieces: one for each untagged response, and the tagged one. */
  readonly answer: readonly Buffer[]
}

export interface ImapAction extends WireAction {
  /** The tagged answer, without its tag, to a command that is not carried out. */
  readonly reply?: string
  /** Of AUTHENTICATE: what is asked, before the reply; it is written in Base64. */
  readonly continuation?: string
  /** So many pieces of the answer by the book, then nothing but `raw` and the ending. */
  readonly piecesMax?: number
  /** So many bytes of it. */
  readonly bytesMax?: number
  /** Written before the answer by the book. */
  readonly before?: string | Buffer
}

export type ImapScript = (context: ImapContext) => ImapAction | string | undefined

export function parseImapAction(text: string): ImapAction {
  if (/^(?:NO|BAD|OK)\b/.test(text)) return { reply: text }
  if (text.startsWith('BYE')) return { raw: `* ${text}\r\n`, ending: 'fin' }
  switch (text) {
    case 'fin':
    case 'rst':
    case 'hang':
      return { ending: text }
    case 'garbage':
      return { raw: GARBAGE }
    default:
      throw new Error(`not an IMAP script text: ${JSON.stringify(text)}`)
  }
}

/** No response in any reading: NUL, a lone CR, an open quote, brackets that close nothing. */
const GARBAGE = Buffer.from('\u0000\u00ff\rHTTP/1.1 400 )]} "\r\n* FETCH (((\r\n', 'latin1')
