/**
 * Plays dialogues over bytes: what the peer sends goes in, in whatever pieces; what has to be done
 * comes out, step by step. Pure and without a clock; the socket around it is wire.ts.
 *
 * One machine lives as long as its connection and plays one dialogue after the other. A peer that
 * speaks where nothing may be said, before the TLS handshake above all (RFC 3207 §6), ends it.
 */
import { type Dialogue, DONE, type Input, isLost, type Step } from './dialogue.ts'
import type { Lost } from './failure.ts'
import { createReplyParser } from './reply-parser.ts'

export type Turn =
  | { readonly kind: 'step'; readonly step: Step }
  | { readonly kind: 'ended'; readonly result: unknown }

export interface Machine {
  /** Begins a dialogue; the one before it has ended. */
  begin(dialogue: Dialogue<unknown>): void
  push(chunk: Buffer): void
  /** Tells the dialogue of something else than a reply; what the peer has said comes first. */
  tell(input: Lost | typeof DONE): void
  /** What to do next; undefined as long as something has to come first. */
  next(): Turn | undefined
  /** The peer has said nothing beyond what the dialogues took. */
  readonly isQuiet: boolean
}

export function createMachine(): Machine {
  const parser = createReplyParser()
  let dialogue: Dialogue<unknown> | undefined
  let step: Step | undefined
  let told: Lost | typeof DONE | undefined
  /** The connection was gone before this dialogue: what it left unread answers nothing. */
  let isOver = false

  const play = (input: Input | undefined): Turn => {
    if (dialogue === undefined) throw new Error('no dialogue is under way')
    const { done, value } = input === undefined ? dialogue.next(DONE) : dialogue.next(input)
    if (done === true) {
      dialogue = undefined
      step = undefined
      told = undefined
      return { kind: 'ended', result: value }
    }
    if (input !== undefined && isLost(input)) throw new Error('nothing is said to a lost peer')
    step = value
    return { kind: 'step', step: value }
  }

  /** Comes before what was told: it had arrived by then. */
  const heard = (): Input | undefined => {
    if (step?.until === 'secured' && !parser.isEmpty)
      return { systemCode: 'EPROTOCOL', message: 'The server spoke in clear after STARTTLS' }
    const reply = parser.next()
    if (reply === undefined) return undefined
    return 'fault' in reply ? { systemCode: 'EPROTOCOL', message: reply.fault } : reply
  }

  return {
    begin(next) {
      if (dialogue !== undefined) throw new Error('a dialogue is under way')
      dialogue = next
      isOver = told !== undefined
    },
    push: (chunk) => parser.push(chunk),
    tell(input) {
      told = input
    },
    next() {
      if (dialogue === undefined) return undefined
      if (step === undefined) return play(undefined)
      const input = isOver ? undefined : heard()
      if (input !== undefined) return play(input)
      if (told === undefined) return undefined
      const due = told
      told = undefined
      return play(due)
    },
    get isQuiet() {
      return parser.isEmpty
    },
  }
}
