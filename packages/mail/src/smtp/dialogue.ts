/**
 * A conversation with a server as a pure function: a generator that says what to write and what to
 * wait for, and is told what came. Neither sockets nor clocks are known here, so that a whole
 * conversation can be played byte by byte (machine.ts), and every outcome follows from what was
 * heard and nothing else.
 *
 * Once it is told that the connection is lost, a dialogue says no more and ends.
 */
import type { Lost, SmtpStage } from './failure.ts'
import type { Reply } from './reply-parser.ts'

export interface Step {
  /** Where the conversation stands while this is waited for. */
  readonly stage: SmtpStage
  readonly write?: string | undefined
  /**
   * `secured`: TLS is up. `body-sent`: the message is on its way, all but its end. `agreed`: the
   * caller lets the final dot go.
   */
  readonly until: 'reply' | 'secured' | 'body-sent' | 'agreed'
  /** The longest wait; what comes meanwhile in drips does not extend it. */
  readonly timeoutMs: number
  /** From this step on the server may hold the whole message. */
  readonly isEndOfData?: boolean
}

/** What was waited for has happened, where that is not a reply. */
export const DONE = 'done'

/** A reply comes also where none was asked for: to a message that is still on its way. */
export type Input = Reply | Lost | typeof DONE

export type Dialogue<Result> = Generator<Step, Result, Input>

/** Those of RFC 5321 §4.5.3.2, below the deadline of the whole attempt. */
const MINUTE_MS = 60_000
export const STEP_TIMEOUTS_MS: Readonly<Record<Exclude<SmtpStage, 'connect'>, number>> = {
  greeting: 5 * MINUTE_MS,
  ehlo: 5 * MINUTE_MS,
  starttls: 2 * MINUTE_MS,
  auth: 5 * MINUTE_MS,
  mail: 5 * MINUTE_MS,
  rcpt: 5 * MINUTE_MS,
  data: 2 * MINUTE_MS,
  dot: 10 * MINUTE_MS,
}

export function isLost(input: Input): input is Lost {
  return input !== DONE && 'systemCode' in input
}

/** Writes a command and waits for its reply. */
export function say(stage: Exclude<SmtpStage, 'connect'>, write?: string): Step {
  return { stage, write, until: 'reply', timeoutMs: STEP_TIMEOUTS_MS[stage] }
}
