/**
 * The protocol of one connection of the scripted IMAP server (RFC 3501, with the extensions that its
 * capabilities name). For each command there is an answer by the book, which the script may replace.
 */
import type { Socket } from 'node:net'
import type { SecureContext } from 'node:tls'
import {
  authenticate,
  isMechanism,
  type LoginTried,
  mechanismsOf,
  type SmtpAuthSettings,
} from '../smtp-auth.ts'
import { openWire } from '../wire.ts'
import type { FolderChange, ImapAccount } from './imap-account.ts'
import { type ImapState, imapCommands } from './imap-commands.ts'
import { createImapInput } from './imap-input.ts'
import { type ImapAction, type ImapScript, parseImapAction } from './imap-script.ts'
import { type ImapPart, type ImapToken, readTokens, textOf } from './imap-syntax.ts'

export interface ImapConnectionSettings {
  readonly capabilities: readonly string[]
  readonly script: ImapScript | undefined
  readonly tls:
    | { readonly mode: 'implicit' | 'starttls'; readonly context: SecureContext }
    | undefined
  readonly auth: SmtpAuthSettings
  accountOf(username: string): ImapAccount
  /** Counts a command and answers how many of its name there have been. */
  onCommand(command: string, connection: ImapConnection): number
  onLogin(): void
  onClosed(connection: ImapConnection): void
}

export interface ImapConnection {
  readonly number: number
  readonly username: string | undefined
  readonly folder: string | undefined
  readonly isIdle: boolean
  /** A folder of its account is not what it was. */
  tell(account: ImapAccount, folder: string, change: FolderChange): void
  /** Ends it from this side, as an action says. */
  end(how: string): void
}

/** A command as it was given. */
interface Said {
  readonly tag: string
  readonly command: string
  readonly line: string
}

/** One step of the dialogue: the answer by the book; without a reply it goes on. */
interface Step extends Said {
  readonly untagged?: readonly (string | Buffer)[] | undefined
  readonly reply: string | undefined
  readonly carryOut?: (() => void) | undefined
  /** Once it has been answered. */
  readonly afterwards?: () => void
  readonly ending?: 'fin'
  readonly who?: { readonly username: string; readonly secret: string }
}

/** A changed mailbox must wait while these are answered (RFC 3501 §7.4.1). */
const QUIET = new Set(['FETCH', 'SEARCH', 'STORE', 'SELECT', 'EXAMINE', 'CLOSE', 'UNSELECT'])

const nothing = (): void => undefined
const silent = { lines: [], onGiving: nothing, onGiven: nothing }

export function serveImapConnection(
  socket: Socket,
  number: number,
  settings: ImapConnectionSettings,
): ImapConnection {
  const { auth, tls } = settings
  let username: string | undefined
  let state: ImapState | undefined
  let idleTag: string | undefined
  // Takes the next line instead of the command table: the steps of an AUTHENTICATE exchange.
  let nextLine: ((line: string) => void) | undefined

  const self: ImapConnection = {
    number,
    get username() {
      return username
    },
    get folder() {
      return state?.view?.folder
    },
    get isIdle() {
      return idleTag !== undefined
    },
    tell(account, folder, change) {
      if (state?.account !== account || state.view?.folder !== folder) return
      if (change === 'gone') self.end('BYE [UNAVAILABLE] the mailbox is not what it was')
      else if (idleTag !== undefined && !wire.isHeld) say(state.view.changes())
    },
    end(how) {
      wire.answer({ ...silent, ...parseImapAction(how) })
    },
  }
  const commands: Readonly<Record<string, (said: Said, tokens: readonly ImapToken[]) => void>> = {
    CAPABILITY: (said) =>
      answer({ ...said, untagged: [`CAPABILITY ${capabilities()}`], reply: 'OK done' }),
    NOOP: (said) => answer({ ...said, reply: 'OK done' }),
    ID: (said) => answer({ ...said, untagged: ['ID ("name" "box.test")'], reply: 'OK done' }),
    LOGOUT: (said) =>
      answer({ ...said, untagged: ['BYE see you'], reply: 'OK bye', ending: 'fin' }),
    STARTTLS: onStartTls,
    LOGIN(said, tokens) {
      const [name = '', secret = ''] = tokens.map(textOf)
      conclude(said, { username: name, secret, isRight: auth.users[name] === secret })
    },
    AUTHENTICATE: onAuthenticate,
    IDLE: onIdle,
  }
  const wire = openWire({
    socket,
    implicitTls: tls?.mode === 'implicit' ? tls.context : undefined,
    onInput: createImapInput({
      onCommand: onParts,
      takeLine: () => nextLine,
      onLiteral: () => say([Buffer.from('+ go on\r\n')]),
      onTooLong: () => self.end('BYE line too long'),
    }),
    onSecure: () => undefined,
    onClose: () => settings.onClosed(self),
  })
  answer({
    tag: '*',
    command: 'GREETING',
    line: '',
    reply: `OK [CAPABILITY ${capabilities()}] ready`,
  })
  return self

  function onParts(parts: readonly ImapPart[]): void {
    const first = String(parts[0])
    if (idleTag !== undefined) {
      const tag = idleTag
      idleTag = undefined
      const isDone = first.toUpperCase() === 'DONE'
      answer({
        tag,
        command: 'DONE',
        line: first,
        reply: isDone ? 'OK idled' : 'BAD expected DONE',
      })
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
    if (head === '' || tokens === undefined) answer({ ...said, command: '?', reply: 'BAD syntax' })
    else (commands[said.command] ?? onMailboxCommand)(said, tokens)
  }

  function onMailboxCommand(said: Said, tokens: readonly ImapToken[]): void {
    const isUid = said.command.startsWith('UID ')
    const run = imapCommands[isUid ? said.command.slice(4) : said.command]
    if (run === undefined) answer({ ...said, reply: 'BAD unknown command' })
    else if (state === undefined) answer({ ...said, reply: 'BAD log in first' })
    else answer({ ...said, ...run(state, tokens, isUid) })
  }

  function onIdle(said: Said): void {
    const isPossible = state?.view !== undefined && settings.capabilities.includes('IDLE')
    const carryOut = (): void => {
      idleTag = said.tag
    }
    const untagged = [Buffer.from('+ idling\r\n')]
    if (isPossible) answer({ ...said, untagged, reply: undefined, carryOut })
    else answer({ ...said, reply: 'BAD not here' })
  }

  function onStartTls(said: Said): void {
    if (tls?.mode !== 'starttls' || wire.isSecure()) answer({ ...said, reply: 'BAD not offered' })
    else answer({ ...said, reply: 'OK go ahead', afterwards: () => wire.startTls(tls.context) })
  }

  function onAuthenticate(said: Said, [name, initial]: readonly ImapToken[]): void {
    const mechanism = textOf(name).toUpperCase()
    if (!isMechanism(mechanism) || !mechanismsOf(auth).includes(mechanism)) {
      answer({ ...said, reply: 'NO [CANNOT] mechanism not offered' })
      return
    }
    const first = textOf(initial)
    const login = authenticate(mechanism, initial && (first === '=' ? '' : decode(first)), auth)
    const goOn = (turn: IteratorResult<string, LoginTried>): void => {
      if (turn.done === true) conclude(said, turn.value)
      else ask(turn.value, (text) => goOn(login.next(decode(text))))
    }
    goOn(login.next())
  }

  function ask(text: string, read: (line: string) => void): void {
    nextLine = (line) => {
      nextLine = undefined
      read(line)
    }
    say([Buffer.from(`+ ${Buffer.from(text).toString('base64')}\r\n`)])
  }

  function conclude(said: Said, { isRight, username: user, secret }: LoginTried): void {
    const who = { username: user, secret }
    const carryOut = (): void => {
      const { capabilities: names } = settings
      username = user
      state = { account: settings.accountOf(user), capabilities: names, view: undefined }
      settings.onLogin()
    }
    const enters = { reply: `OK [CAPABILITY ${capabilities()}] logged in`, carryOut }
    const refused = { reply: 'NO [AUTHENTICATIONFAILED] Authentication failed.' }
    answer({ ...said, ...(isRight ? enters : refused), who })
  }

  function capabilities(): string {
    const isBare = auth.tlsOnly === true && !wire.isSecure()
    const logins = isBare ? ['LOGINDISABLED'] : mechanismsOf(auth).map((name) => `AUTH=${name}`)
    const startTls = tls?.mode === 'starttls' && !wire.isSecure() ? ['STARTTLS'] : []
    return ['IMAP4rev1', 'SASL-IR', ...startTls, ...logins, ...settings.capabilities].join(' ')
  }

  function answer(step: Step): void {
    const { tag, command, line, untagged = [], reply, carryOut, afterwards, ending } = step
    const n = settings.onCommand(command, self)
    const tagged = (text: string): Buffer => Buffer.from(`${tag} ${text}\r\n`)
    const pieces = untagged.map((one) =>
      typeof one === 'string' ? Buffer.from(`* ${one}\r\n`) : one,
    )
    const last = reply === undefined ? [] : [tagged(reply)]
    const told = settings.script?.({
      command,
      line,
      connection: number,
      secure: wire.isSecure(),
      username: step.who?.username ?? username,
      secret: step.who?.secret,
      folder: self.folder,
      n,
      answer: [...pieces, ...last],
    })
    const action = (typeof told === 'string' ? parseImapAction(told) : told) ?? {}
    if (action.reply !== undefined) refuse(action, tagged(action.reply))
    else if (isInstead(action)) wire.answer({ ...silent, ...action })
    else {
      carryOut?.()
      const isQuiet = reply === undefined || QUIET.has(command)
      const changes = isQuiet ? [] : (state?.view?.changes() ?? [])
      const whole = cut([...pieces, ...changes, ...last], action)
      const byTheBook = Buffer.concat([toBuffer(action.before), whole])
      if (action.endless === true) {
        say([byTheBook])
        wire.answer({ ...silent, ...action })
      } else {
        const raw = Buffer.concat([byTheBook, toBuffer(action.raw)])
        const onGiven = afterwards ?? nothing
        wire.answer({ ...silent, ending: ending ?? 'continue', ...action, raw, onGiven })
      }
      if (self.isIdle && !wire.isHeld) say(state?.view?.changes() ?? [])
    }
  }

  /** Not as the book has it, where need be after a question that can only be answered. */
  function refuse(action: ImapAction, reply: Buffer): void {
    const raw = Buffer.concat([reply, toBuffer(action.raw)])
    if (action.continuation === undefined) wire.answer({ ...silent, ...action, raw })
    else ask(action.continuation, () => wire.answer({ ...silent, ...action, raw }))
  }

  function say(pieces: readonly Buffer[]): void {
    if (pieces.length > 0) wire.answer({ ...silent, raw: Buffer.concat(pieces) })
  }
}

/** Something else is done in place of the answer. */
function isInstead(action: ImapAction): boolean {
  const { raw, ending, endless, before, piecesMax, bytesMax } = action
  const isOther = raw !== undefined || ending !== undefined || endless === true
  return isOther && before === undefined && piecesMax === undefined && bytesMax === undefined
}

function cut(pieces: readonly Buffer[], { piecesMax, bytesMax }: ImapAction): Buffer {
  return Buffer.concat(pieces.slice(0, piecesMax)).subarray(0, bytesMax)
}

function toBuffer(bytes: string | Buffer | undefined): Buffer {
  return Buffer.from(bytes ?? '')
}

function decode(text: string): string {
  return Buffer.from(text, 'base64').toString('utf8')
}
