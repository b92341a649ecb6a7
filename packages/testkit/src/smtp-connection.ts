/**
 * The protocol of one connection of the scripted SMTP server: RFC 5321 with PIPELINING, STARTTLS
 * and AUTH. For each command there is an answer by the book, which the script may replace.
 */
import type { Socket } from 'node:net'
import type { SecureContext } from 'node:tls'
import {
  authenticate,
  isMechanism,
  type LoginTried,
  mechanismsOf,
  type SmtpAuthSettings,
} from './smtp-auth.ts'
import { type BodyReader, createBodyReader } from './smtp-body.ts'
import { readMessageId, type SmtpFact } from './smtp-facts.ts'
import { parseAction, type SmtpAction, type SmtpPhase, type SmtpScript } from './smtp-script.ts'
import { openWire } from './wire.ts'

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

interface Transaction {
  readonly from: string
  readonly recipients: string[]
  /** Of the first accepted recipient. */
  attempt: number
}

/** One step of the dialogue: the answer by the book, and what the script is told about it. */
interface Step {
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

const LINE_BYTES_MAX = 8192
const LF = 10
const CR = 13

export function serveSmtpConnection(
  socket: Socket,
  connection: number,
  settings: SmtpConnectionSettings,
): void {
  const { onFact, tls } = settings
  let isGreeted = false
  let phase: SmtpPhase = 'connect'
  let username: string | undefined
  let transaction: Transaction | undefined
  let body: BodyReader | undefined
  let isBodyAnnounced = false
  // Takes the next line instead of the command table: the steps of an AUTH exchange.
  let nextLine: ((line: string) => void) | undefined

  const commands: Readonly<Record<string, (line: string) => void>> = {
    HELO: (line) => answer('helo', line, { standard: `250 ${settings.hostname}`, after: greet }),
    EHLO: (line) => answer('ehlo', line, { standard: announce(), after: greet }),
    STARTTLS: onStartTls,
    AUTH: onAuth,
    MAIL: onMail,
    RCPT: onRcpt,
    DATA: onData,
    RSET(line) {
      transaction = undefined
      answer('rset', line, { standard: '250 2.0.0 ok' })
    },
    NOOP: (line) => answer('noop', line, { standard: '250 2.0.0 ok' }),
    QUIT: (line) => answer('quit', line, { standard: '221 2.0.0 bye', ending: 'fin' }),
  }

  onFact?.({ fact: 'connection.opened', connection })
  const wire = openWire({
    socket,
    implicitTls: tls?.mode === 'implicit' ? tls.context : undefined,
    onInput: (input) => (body === undefined ? readLine(input) : readBody(input, body)),
    onSecure: () => onFact?.({ fact: 'connection.secured', connection }),
    onClose: () => onFact?.({ fact: 'connection.closed', connection, phase }),
  })
  answer('connect', '', { standard: `220 ${settings.hostname} ESMTP ready` })

  function readLine(input: Buffer): number {
    const end = input.indexOf(LF)
    if (end < 0) {
      if (input.length <= LINE_BYTES_MAX) return 0
      answer('other', '', { standard: '500 5.5.2 line too long' })
      return input.length
    }
    const line = input.toString('utf8', 0, end > 0 && input[end - 1] === CR ? end - 1 : end)
    if (nextLine === undefined) onCommand(line)
    else nextLine(line)
    return end + 1
  }

  function readBody(input: Buffer, reader: BodyReader): number {
    if (!isBodyAnnounced) {
      isBodyAnnounced = true
      phase = 'body'
      const action = ask('body', '', { standard: undefined })
      if (action !== undefined) perform('body', action, { standard: undefined })
      if (wire.isHeld) return 0
    }
    const used = reader.take(input)
    if (used < 0) return input.length
    onDot(reader)
    return used
  }

  function onCommand(line: string): void {
    const verb = /^[a-z]*/i.exec(line)?.[0].toUpperCase() ?? ''
    const run = commands[verb]
    if (run !== undefined) run(line)
    else answer('other', line, { standard: '500 5.5.1 command not recognised' })
  }

  function greet(code: number): void {
    if (code === 250) isGreeted = true
    transaction = undefined
  }

  function announce(): string[] {
    const lines = [settings.hostname, ...settings.extensions]
    if (tls?.mode === 'starttls' && !wire.isSecure()) lines.push('STARTTLS')
    if (settings.auth !== undefined && (wire.isSecure() || settings.auth.tlsOnly !== true)) {
      lines.push(`AUTH ${mechanismsOf(settings.auth).join(' ')}`)
    }
    return lines.map((line) => `250 ${line}`)
  }

  function onMail(line: string): void {
    const parsed = /^MAIL FROM:\s*<([^>]*)>(.*)$/i.exec(line)
    const size = Number(/ SIZE=(\d+)/i.exec(parsed?.[2] ?? '')?.[1] ?? 0)
    let standard = '250 2.1.0 ok'
    if (!isGreeted) standard = '503 5.5.1 EHLO first'
    else if (parsed === null) standard = '501 5.5.4 syntax: MAIL FROM:<address>'
    else if (settings.auth !== undefined && settings.auth.required !== false && !username)
      standard = '530 5.7.0 authentication required'
    else if (size > settings.sizeMax) standard = '552 5.3.4 message size exceeds fixed limit'
    else if (transaction !== undefined) standard = '503 5.5.1 nested MAIL'
    const from = parsed?.[1] ?? ''
    answer('mail', line, {
      standard,
      from,
      after: (code) => {
        if (code === 250) transaction = { from, recipients: [], attempt: 0 }
      },
    })
  }

  function onRcpt(line: string): void {
    const recipient = /^RCPT TO:\s*<([^>]+)>/i.exec(line)?.[1]
    let standard = '250 2.1.5 ok'
    if (transaction === undefined) standard = '503 5.5.1 MAIL first'
    else if (recipient === undefined) standard = '501 5.5.4 syntax: RCPT TO:<address>'
    const attempt =
      transaction === undefined || recipient === undefined ? 0 : settings.countAttempt(recipient)
    answer('rcpt', line, {
      standard,
      recipient,
      attempt,
      after: (code) => {
        if (transaction === undefined || recipient === undefined) return
        if (code !== 250 && code !== 251) return
        if (transaction.recipients.length === 0) transaction.attempt = attempt
        transaction.recipients.push(recipient)
      },
    })
  }

  function onData(line: string): void {
    const isReady = transaction !== undefined && transaction.recipients.length > 0
    answer('data', line, {
      standard: isReady ? '354 end with CRLF.CRLF' : '503 5.5.1 RCPT first',
      after: (code) => {
        if (code !== 354) return
        body = createBodyReader(settings.keepBytes)
        isBodyAnnounced = false
      },
    })
  }

  function onDot(reader: BodyReader): void {
    const done = transaction
    body = undefined
    transaction = undefined
    const raw = settings.keepBytes ? reader.message() : undefined
    const isTooBig = reader.bytes() > settings.sizeMax
    const number = settings.nextTransaction()
    answer('dot', '', {
      standard: isTooBig ? '552 5.3.4 too big' : `250 2.0.0 ok queued as ${number}`,
      raw,
      ended: done,
      before(reply, code) {
        const accepted = code >= 200 && code < 300
        if (accepted) settings.onAccepted()
        if (onFact === undefined || raw === undefined) return
        onFact({
          fact: 'message.received',
          connection,
          transaction: number,
          from: done?.from ?? '',
          recipients: done?.recipients ?? [],
          messageId: readMessageId(raw),
          raw,
          reply,
          accepted,
        })
      },
      ...(onFact && {
        onFlushed: () => onFact({ fact: 'reply.flushed', connection, transaction: number }),
      }),
    })
  }

  function onStartTls(line: string): void {
    const isPossible = tls?.mode === 'starttls' && !wire.isSecure()
    answer('starttls', line, {
      standard: isPossible ? '220 2.0.0 go ahead' : '502 5.5.1 not offered',
      after: (code) => {
        if (code !== 220 || !isPossible) return
        isGreeted = false
        transaction = undefined
        wire.startTls(tls.context)
      },
    })
  }

  function onAuth(line: string): void {
    const { auth } = settings
    const [, name = '', initial = ''] = /^AUTH\s+(\S+)(?:\s+(\S*))?/i.exec(line) ?? []
    const mechanism = name.toUpperCase()
    if (auth === undefined || !isMechanism(mechanism) || !mechanismsOf(auth).includes(mechanism)) {
      answer('auth', line, { standard: '504 5.5.4 mechanism not offered' })
      return
    }
    if (initial !== '' && auth.initialResponse === 'refused') {
      answer('auth', line, { standard: '501 5.5.4 no initial response here' })
      return
    }
    const isTaken = initial !== '' && auth.initialResponse !== 'ignored'
    const login = authenticate(mechanism, isTaken ? decode(initial) : undefined, auth)
    const goOn = (turn: IteratorResult<string, LoginTried>): void => {
      if (turn.done === true) conclude(line, turn.value)
      else challenge(turn.value, (text) => goOn(login.next(decode(text))))
    }
    goOn(login.next())
  }

  function challenge(text: string, read: (line: string) => void): void {
    nextLine = (line) => {
      nextLine = undefined
      if (line === '*') answer('auth', line, { standard: '501 5.0.0 cancelled' })
      else read(line)
    }
    const reply = `334 ${Buffer.from(text).toString('base64')}`
    perform('auth', { reply }, { standard: undefined })
  }

  function conclude(line: string, { username: user, secret, isRight, refusal }: LoginTried): void {
    const refused = refusal ?? '535 5.7.8 authentication credentials invalid'
    answer('auth', line, {
      standard: isRight ? '235 2.7.0 ok' : refused,
      username: user,
      password: secret,
      after: (code) => {
        if (code === 235) username = user
      },
    })
  }

  function answer(at: SmtpPhase, line: string, step: Step): void {
    phase = at
    if (at !== 'connect' && at !== 'dot') {
      onFact?.({ fact: 'command.received', connection, phase: at, line })
    }
    perform(at, ask(at, line, step) ?? {}, step)
  }

  function ask(at: SmtpPhase, line: string, step: Step): SmtpAction | undefined {
    const { script } = settings
    if (script === undefined) return undefined
    const current = step.ended ?? transaction
    const action = script({
      phase: at,
      line,
      connection,
      secure: wire.isSecure(),
      username: step.username ?? username,
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
          recipient: step.recipient ?? (step.ended ?? transaction)?.recipients[0],
          attempt: step.attempt ?? (step.ended ?? transaction)?.attempt,
          username: step.username,
        })
      },
      onGiven: () => step.after?.(code),
      onFlushed: reply === null ? undefined : step.onFlushed,
    })
  }
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

function decode(text: string): string {
  return Buffer.from(text, 'base64').toString('utf8')
}
