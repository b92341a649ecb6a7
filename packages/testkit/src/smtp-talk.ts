/**
 * What one connection of the scripted SMTP server is in the middle of, and how it answers: by the book,
 * or as the script says in its place.
 */
import type { SecureContext } from 'node:tls'
import type { SmtpAuthSettings } from './smtp-auth.ts'
import type { BodyReader } from './smtp-body.ts'
import type { SmtpFact } from './smtp-facts.ts'
import { parseAction, type SmtpAction, type SmtpPhase, type SmtpScript } from './smtp-script.ts'
import type { Wire } from './wire.ts'

export interface SmtpConnectionSettings {
  readonly hostname: string
  readonly sizeMax: number
  readonly extensions: readonly string[]
  readonly script: SmtpScript | undefined
  readonly tls:
    | { readonly mode: 'implicit' | 'starttls'; readonly context: SecureContext }
    | undefined
  readonly auth: SmtpAuthSettings | undefined
  readonly keepBytes: boolean
  nextTransaction(): number
  /** Counts this transaction for the recipient and answers the count. */
  countAttempt(recipient: string): number
  /** Undefined when nothing is recorded but the number of messages. */
  readonly onFact: ((fact: SmtpFact) => void) | undefined
  onAccepted(): void
}

export interface Transaction {
  readonly from: string
  readonly recipients: string[]
  /** Of the first accepted recipient. */
  attempt: number
}

/** One step of the dialogue: the answer by the book, and what the script is told about it. */
export interface Step {
  readonly standard: string | readonly string[] | undefined
  readonly ending?: 'fin'
  readonly from?: string
  readonly recipient?: string | undefined
  readonly attempt?: number
  readonly username?: string
  readonly password?: string
  readonly raw?: Buffer | undefined
  /** The transaction that this step has just ended. */
  readonly ended?: Transaction | undefined
  /** Told the reply that will be given, before it is. */
  readonly before?: (reply: string | null, code: number) => void
  /** Told its code once it is given. */
  readonly after?: (code: number) => void
  readonly onFlushed?: () => void
}

/** What has been said so far. */
export interface SmtpState {
  isGreeted: boolean
  phase: SmtpPhase
  username: string | undefined
  transaction: Transaction | undefined
  body: BodyReader | undefined
  isBodyAnnounced: boolean
  /** Takes the next line instead of the command table: the steps of an AUTH exchange. */
  nextLine: ((line: string) => void) | undefined
}

export interface SmtpTalk {
  readonly connection: number
  readonly settings: SmtpConnectionSettings
  readonly state: SmtpState
  readonly wire: Wire
  /** Enters the phase and does what the script says, else what the book says. */
  answer(at: SmtpPhase, line: string, step: Step): void
  /** What the script says. */
  ask(at: SmtpPhase, line: string, step: Step): SmtpAction | undefined
  perform(at: SmtpPhase, action: SmtpAction, step: Step): void
}

export function createSmtpState(): SmtpState {
  return {
    isGreeted: false,
    phase: 'connect',
    username: undefined,
    transaction: undefined,
    body: undefined,
    isBodyAnnounced: false,
    nextLine: undefined,
  }
}

export function createSmtpTalk(
  o: Pick<SmtpTalk, 'connection' | 'settings' | 'state' | 'wire'>,
): SmtpTalk {
  const { connection, settings, state, wire } = o
  const { onFact } = settings

  function answer(at: SmtpPhase, line: string, step: Step): void {
    state.phase = at
    if (at !== 'connect' && at !== 'dot') {
      onFact?.({ fact: 'command.received', connection, phase: at, line })
    }
    perform(at, ask(at, line, step) ?? {}, step)
  }

  function ask(at: SmtpPhase, line: string, step: Step): SmtpAction | undefined {
    const { script } = settings
    if (script === undefined) return undefined
    const current = step.ended ?? state.transaction
    const action = script({
      phase: at,
      line,
      connection,
      secure: wire.isSecure(),
      username: step.username ?? state.username,
      password: step.password,
      from: step.from ?? current?.from,
      recipient: at === 'rcpt' ? step.recipient : current?.recipients[0],
      recipients: current?.recipients ?? [],
      attempt: at === 'rcpt' ? (step.attempt ?? 0) : (current?.attempt ?? 0),
      raw: step.raw,
    })
    return typeof action === 'string' ? parseAction(action) : action
  }

  function perform(at: SmtpPhase, action: SmtpAction, step: Step): void {
    const isSilent =
      action.ending !== undefined || action.raw !== undefined || action.endless === true
    const lines = toLines(action.reply ?? (isSilent ? undefined : step.standard))
    const isReply = lines.length > 0 && action.endless !== true
    const reply = isReply ? lines.join('\n') : null
    const code = reply === null ? 0 : Number.parseInt(reply, 10) || 0
    const ending = action.ending ?? step.ending
    wire.answer({
      ...action,
      ...(ending && { ending }),
      ...(action.endless === true ? { lines: [], raw: toEndless(lines) } : { lines }),
      onGiving() {
        step.before?.(reply, code)
        onFact?.({
          fact: 'reply.given',
          connection,
          phase: at,
          reply,
          recipient: step.recipient ?? (step.ended ?? state.transaction)?.recipients[0],
          attempt: step.attempt ?? (step.ended ?? state.transaction)?.attempt,
          username: step.username,
        })
      },
      onGiven: () => step.after?.(code),
      onFlushed: reply === null ? undefined : step.onFlushed,
    })
  }

  return { ...o, answer, ask, perform }
}

/** Each line complete with its code; all but the last get the hyphen of a multi-line reply. */
function toLines(reply: string | readonly string[] | undefined): string[] {
  if (reply === undefined || reply === '') return []
  const lines = typeof reply === 'string' ? reply.split('\n') : [...reply]
  return lines.map((line, i) => {
    const mark = i < lines.length - 1 ? '-' : ' '
    return line.length > 3 ? `${line.slice(0, 3)}${mark}${line.slice(4)}` : line
  })
}

/** A reply that goes on: every line with a hyphen. */
function toEndless(lines: readonly string[]): string {
  const goingOn = lines.map((line) => `${line.slice(0, 3)}-${line.slice(4)}\r\n`).join('')
  return goingOn || '250-and another thing\r\n'
}
