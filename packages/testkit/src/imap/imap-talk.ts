/**
 * What one connection of the scripted IMAP server is in the middle of, and how it answers: by the book,
 * or as the script says in its place.
 */
import type { SecureContext } from 'node:tls'
import { type SmtpAuthSettings, toBase64 } from '../smtp-auth.ts'
import type { Wire } from '../wire.ts'
import type { FolderChange, ImapAccount } from './imap-account.ts'
import type { ImapState } from './imap-commands.ts'
import { type ImapAction, type ImapScript, parseImapAction } from './imap-script.ts'

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
export interface Said {
  readonly tag: string
  readonly command: string
  readonly line: string
}

/** One step of the dialogue: the answer by the book; without a reply it goes on. */
export interface Step extends Said {
  readonly untagged?: readonly (string | Buffer)[] | undefined
  readonly reply: string | undefined
  readonly carryOut?: (() => void) | undefined
  /** Once it has been answered. */
  readonly afterwards?: () => void
  readonly ending?: 'fin'
  readonly who?: { readonly username: string; readonly secret: string }
}

/** What has been said so far. */
export interface ImapProgress {
  username: string | undefined
  /** Once somebody has logged in. */
  state: ImapState | undefined
  idleTag: string | undefined
  /** Takes the next line instead of the command table: the steps of an AUTHENTICATE exchange. */
  nextLine: ((line: string) => void) | undefined
}

export interface ImapTalk {
  readonly self: ImapConnection
  readonly settings: ImapConnectionSettings
  readonly progress: ImapProgress
  readonly wire: Wire
  /** Does what the script says, else what the book says. */
  answer(step: Step): void
  /** Puts a question, and hands the next line on. */
  ask(question: string, read: (line: string) => void): void
  say(pieces: readonly Buffer[]): void
}

/** A changed mailbox must wait while these are answered (RFC 3501 §7.4.1). */
const QUIET = new Set(['FETCH', 'SEARCH', 'STORE', 'SELECT', 'EXAMINE', 'CLOSE', 'UNSELECT'])

const nothing = (): void => undefined
export const silent = { lines: [], onGiving: nothing, onGiven: nothing }

export function createImapTalk(
  o: Pick<ImapTalk, 'self' | 'settings' | 'progress' | 'wire'>,
): ImapTalk {
  const { self, settings, progress, wire } = o

  function answer(step: Step): void {
    const { tag, command, untagged = [], reply } = step
    const n = settings.onCommand(command, self)
    const tagged = (text: string): Buffer => Buffer.from(`${tag} ${text}\r\n`)
    const pieces = untagged.map((one) =>
      typeof one === 'string' ? Buffer.from(`* ${one}\r\n`) : one,
    )
    const last = reply === undefined ? [] : [tagged(reply)]
    const action = findAction(step, n, [...pieces, ...last])
    if (action.reply !== undefined) refuse(action, tagged(action.reply))
    else if (isInstead(action)) wire.answer({ ...silent, ...action })
    else answerByTheBook(step, action, { pieces, last })
  }

  /** Empty where the script says nothing. */
  function findAction(step: Step, n: number, whole: readonly Buffer[]): ImapAction {
    const told = settings.script?.({
      command: step.command,
      line: step.line,
      connection: self.number,
      secure: wire.isSecure(),
      username: step.who?.username ?? progress.username,
      secret: step.who?.secret,
      folder: self.folder,
      n,
      answer: whole,
    })
    return (typeof told === 'string' ? parseImapAction(told) : told) ?? {}
  }

  /** Carried out, and answered as a whole unless the action cuts the answer or adds to it. */
  function answerByTheBook(
    { command, reply, carryOut, afterwards, ending }: Step,
    action: ImapAction,
    { pieces, last }: { readonly pieces: readonly Buffer[]; readonly last: readonly Buffer[] },
  ): void {
    carryOut?.()
    const isQuiet = reply === undefined || QUIET.has(command)
    const changes = isQuiet ? [] : (progress.state?.view?.changes() ?? [])
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
    if (self.isIdle && !wire.isHeld) say(progress.state?.view?.changes() ?? [])
  }

  /** Not as the book has it, where need be after a question that can only be answered. */
  function refuse(action: ImapAction, reply: Buffer): void {
    const raw = Buffer.concat([reply, toBuffer(action.raw)])
    if (action.continuation === undefined) wire.answer({ ...silent, ...action, raw })
    else ask(toBase64(action.continuation), () => wire.answer({ ...silent, ...action, raw }))
  }

  function ask(question: string, read: (line: string) => void): void {
    progress.nextLine = (line) => {
      progress.nextLine = undefined
      read(line)
    }
    say([Buffer.from(`+ ${question}\r\n`)])
  }

  function say(pieces: readonly Buffer[]): void {
    if (pieces.length > 0) wire.answer({ ...silent, raw: Buffer.concat(pieces) })
  }

  return { ...o, answer, ask, say }
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
