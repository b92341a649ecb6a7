/**
 * The protocol of one connection of the scripted IMAP server (RFC 3501, with the extensions that its
 * capabilities name). For each command there is an answer by the book, which the script may replace.
 */
import type { Socket } from 'node:net'
import { openWire, type Wire } from '../wire.ts'
import { imapCommands } from './imap-commands.ts'
import { capabilitiesOf, connectionCommands, endIdle } from './imap-connection-commands.ts'
import { createImapInput } from './imap-input.ts'
import { parseImapAction } from './imap-script.ts'
import { type ImapPart, type ImapToken, readTokens } from './imap-syntax.ts'
import {
  createImapTalk,
  type ImapConnection,
  type ImapConnectionSettings,
  type ImapProgress,
  type ImapTalk,
  type Said,
  silent,
} from './imap-talk.ts'

export function serveImapConnection(
  socket: Socket,
  number: number,
  settings: ImapConnectionSettings,
): ImapConnection {
  const { tls } = settings
  const progress: ImapProgress = {
    username: undefined,
    state: undefined,
    idleTag: undefined,
    nextLine: undefined,
  }
  const self: ImapConnection = {
    number,
    get username() {
      return progress.username
    },
    get folder() {
      return progress.state?.view?.folder
    },
    get isIdle() {
      return progress.idleTag !== undefined
    },
    tell(account, folder, change) {
      const { state } = progress
      if (state?.account !== account || state.view?.folder !== folder) return
      if (change === 'gone') self.end('BYE [UNAVAILABLE] the mailbox is not what it was')
      else if (self.isIdle && !wire.isHeld) talk.say(state.view.changes())
    },
    end(how) {
      wire.answer({ ...silent, ...parseImapAction(how) })
    },
  }
  const wire: Wire = openWire({
    socket,
    implicitTls: tls?.mode === 'implicit' ? tls.context : undefined,
    onInput: createImapInput({
      onCommand: (parts) => carryOut(talk, parts),
      takeLine: () => progress.nextLine,
      onLiteral: () => talk.say([Buffer.from('+ go on\r\n')]),
      onTooLong: () => self.end('BYE line too long'),
    }),
    onSecure: () => undefined,
    onClose: () => settings.onClosed(self),
  })
  const talk = createImapTalk({ self, settings, progress, wire })
  const greeting = `OK [CAPABILITY ${capabilitiesOf(talk)}] ready`
  talk.answer({ tag: '*', command: 'GREETING', line: '', reply: greeting })
  return self
}

function carryOut(talk: ImapTalk, parts: readonly ImapPart[]): void {
  const first = String(parts[0])
  const { idleTag } = talk.progress
  if (idleTag !== undefined) {
    endIdle(talk, idleTag, first)
    return
  }
  const [head = '', tag = '*', verb = ''] = /^(\S+) +((?:UID +)?\S+) */i.exec(first) ?? []
  const tokens = readTokens([first.slice(head.length), ...parts.slice(1)])
  const whole = parts.map((part) => (typeof part === 'string' ? part : '{}')).join('')
  const said: Said = {
    tag,
    command: verb.toUpperCase().replace(/ +/, ' '),
    line: whole.slice(tag.length + 1),
  }
  if (head === '' || tokens === undefined)
    talk.answer({ ...said, command: '?', reply: 'BAD syntax' })
  else (connectionCommands[said.command] ?? carryOutOnMailbox)(talk, said, tokens)
}

function carryOutOnMailbox(
  { answer, progress }: ImapTalk,
  said: Said,
  tokens: readonly ImapToken[],
): void {
  const isUid = said.command.startsWith('UID ')
  const run = imapCommands[isUid ? said.command.slice(4) : said.command]
  if (run === undefined) answer({ ...said, reply: 'BAD unknown command' })
  else if (progress.state === undefined) answer({ ...said, reply: 'BAD log in first' })
  else answer({ ...said, ...run(progress.state, tokens, isUid) })
}
