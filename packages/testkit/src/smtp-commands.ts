/** The commands of the scripted SMTP server, each with its answer by the book. */
import {
  authenticate,
  decodeBase64,
  isMechanism,
  type LoginTried,
  mechanismsOf,
  playLogin,
} from './smtp-auth.ts'
import { type BodyReader, createBodyReader } from './smtp-body.ts'
import { readMessageId } from './smtp-facts.ts'
import type { SmtpTalk } from './smtp-talk.ts'

export const smtpCommands: Readonly<Record<string, (talk: SmtpTalk, line: string) => void>> = {
  HELO: (talk, line) =>
    talk.answer('helo', line, {
      standard: `250 ${talk.settings.hostname}`,
      after: (code) => greet(talk, code),
    }),
  EHLO: (talk, line) =>
    talk.answer('ehlo', line, { standard: announce(talk), after: (code) => greet(talk, code) }),
  STARTTLS: startTls,
  AUTH: logIn,
  MAIL: beginTransaction,
  RCPT: addRecipient,
  DATA: beginBody,
  RSET(talk, line) {
    talk.state.transaction = undefined
    talk.answer('rset', line, { standard: '250 2.0.0 ok' })
  },
  NOOP: (talk, line) => talk.answer('noop', line, { standard: '250 2.0.0 ok' }),
  QUIT: (talk, line) => talk.answer('quit', line, { standard: '221 2.0.0 bye', ending: 'fin' }),
}

function greet({ state }: SmtpTalk, code: number): void {
  if (code === 250) state.isGreeted = true
  state.transaction = undefined
}

function announce({ settings, wire }: SmtpTalk): string[] {
  const { auth, tls } = settings
  const lines = [settings.hostname, ...settings.extensions]
  if (tls?.mode === 'starttls' && !wire.isSecure()) lines.push('STARTTLS')
  if (auth !== undefined && (wire.isSecure() || auth.tlsOnly !== true)) {
    lines.push(`AUTH ${mechanismsOf(auth).join(' ')}`)
  }
  return lines.map((line) => `250 ${line}`)
}

function startTls({ answer, settings, state, wire }: SmtpTalk, line: string): void {
  const { tls } = settings
  const isPossible = tls?.mode === 'starttls' && !wire.isSecure()
  answer('starttls', line, {
    standard: isPossible ? '220 2.0.0 go ahead' : '502 5.5.1 not offered',
    after: (code) => {
      if (code !== 220 || !isPossible) return
      state.isGreeted = false
      state.transaction = undefined
      wire.startTls(tls.context)
    },
  })
}

function logIn(talk: SmtpTalk, line: string): void {
  const { auth } = talk.settings
  const [, name = '', initial = ''] = /^AUTH\s+(\S+)(?:\s+(\S*))?/i.exec(line) ?? []
  const mechanism = name.toUpperCase()
  if (auth === undefined || !isMechanism(mechanism) || !mechanismsOf(auth).includes(mechanism)) {
    talk.answer('auth', line, { standard: '504 5.5.4 mechanism not offered' })
    return
  }
  if (initial !== '' && auth.initialResponse === 'refused') {
    talk.answer('auth', line, { standard: '501 5.5.4 no initial response here' })
    return
  }
  const isTaken = initial !== '' && auth.initialResponse !== 'ignored'
  playLogin(authenticate(mechanism, isTaken ? decodeBase64(initial) : undefined, auth), {
    ask: (challenge, read) => challengeWith(talk, challenge, read),
    conclude: (tried) => concludeLogin(talk, line, tried),
  })
}

function challengeWith(talk: SmtpTalk, challenge: string, read: (line: string) => void): void {
  const { state } = talk
  state.nextLine = (line) => {
    state.nextLine = undefined
    if (line === '*') talk.answer('auth', line, { standard: '501 5.0.0 cancelled' })
    else read(line)
  }
  talk.perform('auth', { reply: `334 ${challenge}` }, { standard: undefined })
}

function concludeLogin(
  { answer, state }: SmtpTalk,
  line: string,
  { username, secret, isRight, refusal }: LoginTried,
): void {
  const refused = refusal ?? '535 5.7.8 authentication credentials invalid'
  answer('auth', line, {
    standard: isRight ? '235 2.7.0 ok' : refused,
    username,
    password: secret,
    after: (code) => {
      if (code === 235) state.username = username
    },
  })
}

function beginTransaction({ answer, settings, state }: SmtpTalk, line: string): void {
  const parsed = /^MAIL FROM:\s*<([^>]*)>(.*)$/i.exec(line)
  const size = Number(/ SIZE=(\d+)/i.exec(parsed?.[2] ?? '')?.[1] ?? 0)
  const needsLogin = settings.auth !== undefined && settings.auth.required !== false
  let standard = '250 2.1.0 ok'
  if (!state.isGreeted) standard = '503 5.5.1 EHLO first'
  else if (parsed === null) standard = '501 5.5.4 syntax: MAIL FROM:<address>'
  else if (needsLogin && !state.username) standard = '530 5.7.0 authentication required'
  else if (size > settings.sizeMax) standard = '552 5.3.4 message size exceeds fixed limit'
  else if (state.transaction !== undefined) standard = '503 5.5.1 nested MAIL'
  const from = parsed?.[1] ?? ''
  answer('mail', line, {
    standard,
    from,
    after: (code) => {
      if (code === 250) state.transaction = { from, recipients: [], attempt: 0 }
    },
  })
}

function addRecipient({ answer, settings, state }: SmtpTalk, line: string): void {
  const recipient = /^RCPT TO:\s*<([^>]+)>/i.exec(line)?.[1]
  let standard = '250 2.1.5 ok'
  if (state.transaction === undefined) standard = '503 5.5.1 MAIL first'
  else if (recipient === undefined) standard = '501 5.5.4 syntax: RCPT TO:<address>'
  const attempt =
    state.transaction === undefined || recipient === undefined
      ? 0
      : settings.countAttempt(recipient)
  answer('rcpt', line, {
    standard,
    recipient,
    attempt,
    after: (code) => {
      const { transaction } = state
      if (transaction === undefined || recipient === undefined) return
      if (code !== 250 && code !== 251) return
      if (transaction.recipients.length === 0) transaction.attempt = attempt
      transaction.recipients.push(recipient)
    },
  })
}

function beginBody({ answer, settings, state }: SmtpTalk, line: string): void {
  const isReady = state.transaction !== undefined && state.transaction.recipients.length > 0
  answer('data', line, {
    standard: isReady ? '354 end with CRLF.CRLF' : '503 5.5.1 RCPT first',
    after: (code) => {
      if (code !== 354) return
      state.body = createBodyReader(settings.keepBytes)
      state.isBodyAnnounced = false
    },
  })
}

/** After the final dot. */
export function endBody(talk: SmtpTalk, reader: BodyReader): void {
  const { connection, settings, state } = talk
  const { onFact } = settings
  const done = state.transaction
  state.body = undefined
  state.transaction = undefined
  const raw = settings.keepBytes ? reader.message() : undefined
  const isTooBig = reader.bytes() > settings.sizeMax
  const number = settings.nextTransaction()
  talk.answer('dot', '', {
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
