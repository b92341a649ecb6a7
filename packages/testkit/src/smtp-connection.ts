/**
 * The protocol of one connection of the scripted SMTP server: RFC 5321 with PIPELINING, STARTTLS
 * and AUTH. For each command there is an answer by the book, which the script may replace.
 */
import type { Socket } from 'node:net'
import type { BodyReader } from './smtp-body.ts'
import { endBody, smtpCommands } from './smtp-commands.ts'
import {
  createSmtpState,
  createSmtpTalk,
  type SmtpConnectionSettings,
  type SmtpTalk,
} from './smtp-talk.ts'
import { openWire } from './wire.ts'

const LINE_BYTES_MAX = 8192
const LF = 10
const CR = 13

export function serveSmtpConnection(
  socket: Socket,
  connection: number,
  settings: SmtpConnectionSettings,
): void {
  const { onFact, tls } = settings
  const state = createSmtpState()
  onFact?.({ fact: 'connection.opened', connection })
  const wire = openWire({
    socket,
    implicitTls: tls?.mode === 'implicit' ? tls.context : undefined,
    onInput: (input) =>
      state.body === undefined ? readLine(talk, input) : readBody(talk, input, state.body),
    onSecure: () => onFact?.({ fact: 'connection.secured', connection }),
    onClose: () => onFact?.({ fact: 'connection.closed', connection, phase: state.phase }),
  })
  const talk = createSmtpTalk({ connection, settings, state, wire })
  talk.answer('connect', '', { standard: `220 ${settings.hostname} ESMTP ready` })
}

function readLine(talk: SmtpTalk, input: Buffer): number {
  const end = input.indexOf(LF)
  if (end < 0) {
    if (input.length <= LINE_BYTES_MAX) return 0
    talk.answer('other', '', { standard: '500 5.5.2 line too long' })
    return input.length
  }
  const line = input.toString('utf8', 0, end > 0 && input[end - 1] === CR ? end - 1 : end)
  const { nextLine } = talk.state
  if (nextLine === undefined) carryOut(talk, line)
  else nextLine(line)
  return end + 1
}

function carryOut(talk: SmtpTalk, line: string): void {
  const verb = /^[a-z]*/i.exec(line)?.[0].toUpperCase() ?? ''
  const run = smtpCommands[verb]
  if (run !== undefined) run(talk, line)
  else talk.answer('other', line, { standard: '500 5.5.1 command not recognised' })
}

function readBody(talk: SmtpTalk, input: Buffer, reader: BodyReader): number {
  const { state } = talk
  if (!state.isBodyAnnounced) {
    state.isBodyAnnounced = true
    state.phase = 'body'
    const action = talk.ask('body', '', { standard: undefined })
    if (action !== undefined) talk.perform('body', action, { standard: undefined })
    if (talk.wire.isHeld) return 0
  }
  const used = reader.take(input)
  if (used < 0) return input.length
  endBody(talk, reader)
  return used
}
