/**
 * One connection of the scripted SMTP server (RFC 5321, with PIPELINING, STARTTLS and AUTH).
 *
 * Commands are answered strictly in order: while an answer is held back (a delay, a drip, a gate),
 * what has been pipelined behind it waits. All answers to one chunk of input leave in one write.
 */
import type { Socket } from 'node:net'
import { type SecureContext, TLSSocket } from 'node:tls'
import { type BodyReader, createBodyReader } from './smtp-body.ts'
import { readMessageId, type SmtpFact } from './smtp-facts.ts'
import {
  parseAction,
  type SmtpAction,
  type SmtpContext,
  type SmtpPhase,
  type SmtpScript,
} from './smtp-script.ts'

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

export interface SmtpAuthSettings {
  readonly users: Readonly<Record<string, string>>
  readonly mechanisms?: readonly ('PLAIN' | 'LOGIN')[]
  /** Refuse MAIL before a login; true unless told otherwise. */
  readonly required?: boolean
  /** Offer AUTH only under TLS. */
  readonly tlsOnly?: boolean
}

interface Transaction {
  readonly from: string
  readonly recipients: string[]
  /** Of the first accepted recipient. */
  attempt: number
}

const LINE_BYTES_MAX = 8192

export function serveSmtpConnection(
  plainSocket: Socket,
  connection: number,
  settings: SmtpConnectionSettings,
): void {
  const { onFact } = settings
  const startTls = settings.tls?.mode === 'starttls' ? settings.tls.context : undefined
  let socket: Socket = plainSocket
  let input: Buffer = Buffer.alloc(0)
  let output = ''
  let onFlushed: (() => void)[] = []
  // Set while an answer is under way: no further input is looked at.
  let isBusy = false
  // Set once nothing will be answered any more: input is read and thrown away.
  let isDeaf = false
  let isClosed = false
  let isGreeted = false
  let phase: SmtpPhase = 'connect'
  let username: string | undefined
  let transaction: Transaction | undefined
  let body: BodyReader | undefined
  let isBodyAnnounced = false
  // Takes the next line instead of the command table: the steps of an AUTH exchange.
  let nextLine: ((line: string) => void) | undefined
  const timers = new Set<NodeJS.Timeout>()

  const commands: Readonly<Record<string, (line: string) => void>> = {
    HELO: (line) => answer('helo', line, { standard: `250 ${settings.hostname}`, after: greet }),
    EHLO: (line) => answer('ehlo', line, { standard: announce(), after: greet }),
    STARTTLS: onStartTls,
    AUTH: onAuth,
    MAIL: onMail,
    RCPT: onRcpt,
    DATA: onDataCommand,
    RSET(line) {
      transaction = undefined
      answer('rset', line, { standard: '250 2.0.0 ok' })
    },
    NOOP: (line) => answer('noop', line, { standard: '250 2.0.0 ok' }),
    QUIT: (line) => answer('quit', line, { standard: '221 2.0.0 bye', ending: 'fin' }),
  }

  onFact?.({ fact: 'connection.opened', connection })
  if (settings.tls?.mode === 'implicit') secure(settings.tls.context)
  else listen()
  answer('connect', '', { standard: `220 ${settings.hostname} ESMTP ready` })
  flush()

  function listen(): void {
    const current = socket
    current.on('data', onData)
    current.on('close', onClose)
    current.on('end', onEnd)
    current.on('error', () => current.destroy())
  }

  function secure(secureContext: SecureContext): void {
    const bare = socket
    bare.off('data', onData)
    bare.off('close', onClose)
    bare.off('end', onEnd)
    socket = new TLSSocket(bare, { isServer: true, secureContext })
    socket.once('secure', () => onFact?.({ fact: 'connection.secured', connection }))
    bare.on('error', () => bare.destroy())
    listen()
  }

  function onEnd(): void {
    socket.end()
  }

  function onClose(): void {
    if (isClosed) return
    isClosed = true
    for (const timer of timers) clearInterval(timer)
    onFact?.({ fact: 'connection.closed', connection, phase })
  }

  function onData(chunk: Buffer): void {
    if (isDeaf) return
    input = input.length === 0 ? chunk : Buffer.concat([input, chunk])
    work()
  }

  function work(): void {
    while (!isBusy && !isClosed && input.length > 0) {
      if (body !== undefined) {
        readBody(body)
        continue
      }
      const end = input.indexOf(10)
      if (end < 0) {
        if (input.length <= LINE_BYTES_MAX) break
        say('500 5.5.2 line too long')
        input = Buffer.alloc(0)
        break
      }
      const line = input.toString('utf8', 0, end > 0 && input[end - 1] === 13 ? end - 1 : end)
      input = input.subarray(end + 1)
      if (nextLine === undefined) onCommand(line)
      else nextLine(line)
    }
    flush()
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
    if (startTls !== undefined && !isSecure()) lines.push('STARTTLS')
    if (settings.auth !== undefined && (isSecure() || settings.auth.tlsOnly !== true)) {
      lines.push(`AUTH ${(settings.auth.mechanisms ?? ['PLAIN', 'LOGIN']).join(' ')}`)
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

  function onDataCommand(line: string): void {
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

  function readBody(reader: BodyReader): void {
    if (!isBodyAnnounced) {
      isBodyAnnounced = true
      phase = 'body'
      const action = ask({ phase: 'body', line: '' })
      if (action !== undefined) {
        perform('body', action, undefined, {})
        return
      }
    }
    const chunk = input
    const used = reader.take(chunk)
    input = used < 0 ? Buffer.alloc(0) : chunk.subarray(used)
    if (used >= 0) onDot(reader)
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
      before: (reply, code) => {
        const accepted = code >= 200 && code < 300
        if (onFact !== undefined && raw !== undefined) {
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
          if (reply !== null) {
            onFlushed.push(() => onFact({ fact: 'reply.flushed', connection, transaction: number }))
          }
        }
        if (accepted) settings.onAccepted()
      },
    })
  }

  function onStartTls(line: string): void {
    const isPossible = startTls !== undefined && !isSecure()
    answer('starttls', line, {
      standard: isPossible ? '220 2.0.0 go ahead' : '502 5.5.1 not offered',
      after: (code) => {
        if (code !== 220 || startTls === undefined) return
        flush()
        // What came in clear behind STARTTLS is thrown away, as it must be (RFC 3207 §4.2).
        input = Buffer.alloc(0)
        isGreeted = false
        transaction = undefined
        secure(startTls)
      },
    })
  }

  function onAuth(line: string): void {
    const [, mechanism = '', initial] = /^AUTH\s+(\S+)(?:\s+(\S*))?/i.exec(line) ?? []
    const offered: readonly string[] = settings.auth?.mechanisms ?? ['PLAIN', 'LOGIN']
    if (settings.auth === undefined || !offered.includes(mechanism.toUpperCase())) {
      answer('auth', line, { standard: '504 5.5.4 mechanism not offered' })
    } else if (mechanism.toUpperCase() === 'PLAIN') {
      const read = (text: string): void => {
        const [, user = '', password = ''] = decode(text).split('\u0000')
        login(line, user, password)
      }
      if (initial === undefined || initial === '') challenge('', read)
      else read(initial)
    } else {
      loginStepwise(line, initial)
    }
  }

  function loginStepwise(line: string, initial: string | undefined): void {
    const readUser = (text: string): void => {
      const user = decode(text)
      challenge(encode('Password:'), (secret) => login(line, user, decode(secret)))
    }
    if (initial === undefined || initial === '') challenge(encode('Username:'), readUser)
    else readUser(initial)
  }

  function challenge(text: string, read: (line: string) => void): void {
    nextLine = (line) => {
      nextLine = undefined
      if (line === '*') answer('auth', line, { standard: '501 5.0.0 cancelled' })
      else read(line)
    }
    say(`334 ${text}`)
  }

  function login(line: string, user: string, password: string): void {
    const isRight = settings.auth?.users[user] === password
    answer('auth', line, {
      standard: isRight ? '235 2.7.0 ok' : '535 5.7.8 authentication credentials invalid',
      user,
      password,
      after: (code) => {
        if (code === 235) username = user
      },
    })
  }

  interface Answer {
    readonly standard: string | readonly string[]
    readonly ending?: 'fin'
    readonly from?: string
    readonly recipient?: string | undefined
    readonly attempt?: number
    readonly user?: string
    readonly password?: string
    readonly raw?: Buffer | undefined
    readonly ended?: Transaction | undefined
    /** Called with the reply that will be given, before it is. */
    readonly before?: (reply: string | null, code: number) => void
    /** Called with its code once it is given. */
    readonly after?: (code: number) => void
  }

  function answer(at: SmtpPhase, line: string, o: Answer): void {
    phase = at
    if (onFact !== undefined && at !== 'connect' && at !== 'dot') {
      onFact({ fact: 'command.received', connection, phase: at, line })
    }
    perform(at, ask({ phase: at, line, answer: o }) ?? {}, o.standard, o)
  }

  function ask(o: { phase: SmtpPhase; line: string; answer?: Answer }): SmtpAction | undefined {
    const { script } = settings
    if (script === undefined) return undefined
    const current = o.answer?.ended ?? transaction
    const context: SmtpContext = {
      phase: o.phase,
      line: o.line,
      connection,
      secure: isSecure(),
      username: o.answer?.user ?? username,
      password: o.answer?.password,
      from: o.answer?.from ?? current?.from,
      recipient: o.phase === 'rcpt' ? o.answer?.recipient : current?.recipients[0],
      recipients: current?.recipients ?? [],
      attempt: o.phase === 'rcpt' ? (o.answer?.attempt ?? 0) : (current?.attempt ?? 0),
      raw: o.answer?.raw,
    }
    const action = script(context)
    return typeof action === 'string' ? parseAction(action) : action
  }

  function perform(
    at: SmtpPhase,
    action: SmtpAction,
    standard: string | readonly string[] | undefined,
    o: Partial<Answer>,
  ): void {
    const isSilent =
      action.ending !== undefined || action.raw !== undefined || action.endless === true
    const lines = toLines(action.reply ?? (isSilent ? undefined : standard))
    const reply = lines.length === 0 ? null : lines.join('\n')
    const code = reply === null || action.endless === true ? 0 : Number.parseInt(reply, 10) || 0
    const give = (): void => {
      if (isClosed) return
      o.before?.(reply, code)
      onFact?.({
        fact: 'reply.given',
        connection,
        phase: at,
        reply,
        recipient: o.recipient ?? (o.ended ?? transaction)?.recipients[0],
        attempt: o.attempt,
        username: o.user,
      })
      if (action.endless === true) {
        floodReplies()
        return
      }
      const text = lines.map((line) => `${line}\r\n`).join('')
      if (action.dripMs !== undefined) {
        drip(Buffer.concat([Buffer.from(text), bytesOf(action.raw)]), action.dripMs, finish)
        return
      }
      output += text
      if (action.raw !== undefined) writeWith(action.raw)
      finish()
    }
    const finish = (): void => {
      isBusy = false
      o.after?.(code)
      end(action.ending ?? o.ending ?? 'continue')
    }
    isBusy = true
    if (action.after === undefined && action.delayMs === undefined) {
      give()
      return
    }
    flush()
    const giveAndGoOn = (): void => {
      give()
      work()
    }
    if (action.delayMs !== undefined) timers.add(setTimeout(giveAndGoOn, action.delayMs))
    else void action.after?.then(giveAndGoOn, giveAndGoOn)
  }

  function end(how: 'continue' | 'fin' | 'rst' | 'hang'): void {
    switch (how) {
      case 'continue':
        return
      case 'hang':
        stopListening()
        return
      case 'fin':
        stopListening()
        socket.end()
        return
      case 'rst':
        stopListening()
        // What is written must have left this process, or the reset would throw it away.
        socket.write('', reset)
        return
    }
  }

  function stopListening(): void {
    isBusy = true
    isDeaf = true
    input = Buffer.alloc(0)
    flush()
  }

  function reset(): void {
    const bottom = socket instanceof TLSSocket ? plainSocket : socket
    bottom.resetAndDestroy()
  }

  function drip(bytes: Buffer, everyMs: number, goOn: () => void): void {
    const done = onFlushed
    onFlushed = []
    flush()
    let at = 0
    const timer = setInterval(() => {
      if (isClosed) return
      socket.write(bytes.subarray(at, at + 1))
      at += 1
      if (at < bytes.length) return
      clearInterval(timer)
      timers.delete(timer)
      for (const tell of done) tell()
      goOn()
      work()
    }, everyMs)
    timers.add(timer)
  }

  function floodReplies(): void {
    const lines = '250-and another thing\r\n'.repeat(500)
    const pour = (): void => {
      while (!isClosed && socket.writable && socket.write(lines));
      if (!isClosed && socket.writable) socket.once('drain', pour)
    }
    flush()
    pour()
  }

  function say(line: string): void {
    output += `${line}\r\n`
  }

  function flush(): void {
    if (output === '') return
    const text = output
    const done = onFlushed
    output = ''
    onFlushed = []
    if (isClosed || !socket.writable) return
    if (done.length === 0) {
      socket.write(text)
      return
    }
    socket.write(text, (error) => {
      if (error == null) for (const tell of done) tell()
    })
  }

  /** Sends what is waiting and these bytes in one piece. */
  function writeWith(bytes: string | Buffer): void {
    socket.cork()
    flush()
    if (socket.writable) socket.write(bytes)
    socket.uncork()
  }

  function isSecure(): boolean {
    return socket instanceof TLSSocket
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

function bytesOf(raw: string | Buffer | undefined): Buffer {
  return typeof raw === 'string' ? Buffer.from(raw) : (raw ?? Buffer.alloc(0))
}

function decode(text: string): string {
  return Buffer.from(text, 'base64').toString('utf8')
}

function encode(text: string): string {
  return Buffer.from(text, 'utf8').toString('base64')
}
