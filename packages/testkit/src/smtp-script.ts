/**
 * What a scripted SMTP server does instead of being well-behaved.
 *
 * A script is a function from what is happening to an action, or, for the common case, a table from
 * recipient to one text per transaction in which that recipient is named; the last text repeats:
 *
 *   { 'a@x.test': ['450 4.2.0 later', '250 2.1.5 ok'], 'b@x.test': ['dot: rst', 'ok'] }
 *
 * A text is `[<phase>: ]<what>[ >> fin|rst|hang]`, where the phase is `rcpt` unless it is given and
 * `<what>` is `ok` (nothing special), a reply, `fin`, `rst`, `hang`, `garbage`, `endless`,
 * `drip <ms> <reply>` or `delay <ms> <reply>`. `>>` says what happens once the reply is written.
 */
import type { WireAction } from './wire.ts'

export type SmtpPhase =
  | 'connect'
  | 'helo'
  | 'ehlo'
  | 'starttls'
  | 'auth'
  | 'mail'
  | 'rcpt'
  | 'data'
  | 'body'
  | 'dot'
  | 'rset'
  | 'noop'
  | 'quit'
  | 'other'

export interface SmtpContext {
  readonly phase: SmtpPhase
  /** The command as received, without its line end; empty where there is none. */
  readonly line: string
  readonly connection: number
  readonly secure: boolean
  /** The name that logged in, or in phase `auth` the one that tries to. */
  readonly username?: string | undefined
  readonly password?: string | undefined
  readonly from?: string | undefined
  /** The recipient of a RCPT; from `data` on the first one that was accepted. */
  readonly recipient?: string | undefined
  readonly recipients: readonly string[]
  /** How many transactions have named this recipient so far, this one included. */
  readonly attempt: number
  /** The message without its dot-stuffing, in phase `dot`. */
  readonly raw?: Buffer | undefined
}

export interface SmtpAction extends WireAction {
  /**
   * One line, or several: each a complete `250 text`; the hyphens are put in. Without it the server
   * says what it would have said, save when `raw`, `endless` or `ending` stands in its place.
   */
  readonly reply?: string | readonly string[]
}

export type SmtpScript = (context: SmtpContext) => SmtpAction | string | undefined
export type SmtpScriptTable = Readonly<Record<string, readonly string[]>>

/** The first script that has something to say decides. */
export function firstScript(...scripts: readonly (SmtpScript | SmtpScriptTable)[]): SmtpScript {
  const all = scripts.map((script) => (typeof script === 'function' ? script : tableScript(script)))
  return (context) => {
    for (const script of all) {
      const action = script(context)
      if (action !== undefined) return action
    }
    return undefined
  }
}

export function tableScript(table: SmtpScriptTable): SmtpScript {
  const steps = new Map<string, readonly { phase: SmtpPhase; action: SmtpAction | undefined }[]>()
  for (const [recipient, texts] of Object.entries(table)) {
    steps.set(recipient.toLowerCase(), texts.map(parseStep))
  }
  return (context) => {
    if (context.recipient === undefined) return undefined
    const list = steps.get(context.recipient.toLowerCase())
    const step = list?.[Math.min(context.attempt, list.length) - 1]
    return step?.phase === context.phase ? step.action : undefined
  }
}

/** The action that a text stands for; `undefined` for `ok`. */
export function parseAction(text: string): SmtpAction | undefined {
  const [what = '', then] = text.split(/\s*>>\s*/, 2)
  const follow = then === undefined ? {} : { ending: readEnding(then, text) }
  const timed = /^(drip|delay) (\d+) (.*)$/s.exec(what)
  if (timed !== null) {
    const [, kind, ms, reply = ''] = timed
    const timing = kind === 'drip' ? { dripMs: Number(ms) } : { delayMs: Number(ms) }
    return { reply, ...timing, ...follow }
  }
  if (/^\d{3}([ -]|$)/.test(what)) return { reply: what.split('\n'), ...follow }
  switch (what) {
    case 'ok':
      return undefined
    case 'fin':
    case 'rst':
    case 'hang':
      return { ending: what }
    case 'garbage':
      return { raw: GARBAGE, ...follow }
    case 'endless':
      return { endless: true }
    default:
      throw new Error(`not an SMTP script text: ${JSON.stringify(text)}`)
  }
}

/** Not a reply in any reading: no digits first, NUL, a lone CR, bytes that are not UTF-8. */
const GARBAGE = Buffer.from('\u0000\u00ff\u00fe\rHTTP/1.1 400 Bad Request\r\n\r\n', 'latin1')

function parseStep(text: string): { phase: SmtpPhase; action: SmtpAction | undefined } {
  const named = /^([a-z]+): (.*)$/s.exec(text)
  if (named === null) return { phase: 'rcpt', action: parseAction(text) }
  const [, phase = '', what = ''] = named
  if (!isRecipientPhase(phase)) throw new Error(`no recipient is known in phase ${phase}: ${text}`)
  return { phase, action: parseAction(what) }
}

function isRecipientPhase(phase: string): phase is SmtpPhase {
  return ['rcpt', 'data', 'body', 'dot'].includes(phase)
}

function readEnding(then: string, text: string): 'fin' | 'rst' | 'hang' {
  if (then === 'fin' || then === 'rst' || then === 'hang') return then
  throw new Error(`not an ending of an SMTP script text: ${JSON.stringify(text)}`)
}
