/** The commands of the scripted IMAP server that belong to the connection, in any state of it. */
import {
  authenticate,
  decodeBase64,
  isMechanism,
  type LoginTried,
  mechanismsOf,
  playLogin,
} from '../smtp-auth.ts'
import { type ImapToken, textOf } from './imap-syntax.ts'
import type { ImapTalk, Said } from './imap-talk.ts'

type Command = (talk: ImapTalk, said: Said, tokens: readonly ImapToken[]) => void

export const connectionCommands: Readonly<Record<string, Command>> = {
  CAPABILITY: (talk, said) =>
    talk.answer({ ...said, untagged: [`CAPABILITY ${capabilitiesOf(talk)}`], reply: 'OK done' }),
  NOOP: ({ answer }, said) => answer({ ...said, reply: 'OK done' }),
  ID: ({ answer }, said) =>
    answer({ ...said, untagged: ['ID ("name" "box.test")'], reply: 'OK done' }),
  LOGOUT: ({ answer }, said) =>
    answer({ ...said, untagged: ['BYE see you'], reply: 'OK bye', ending: 'fin' }),
  STARTTLS: startTls,
  LOGIN(talk, said, tokens) {
    const [username = '', secret = ''] = tokens.map(textOf)
    const isRight = talk.settings.auth.users[username] === secret
    concludeLogin(talk, said, { username, secret, isRight })
  },
  AUTHENTICATE: logIn,
  IDLE: idle,
}

export function capabilitiesOf({ settings, wire }: ImapTalk): string {
  const { auth, tls } = settings
  const isBare = auth.tlsOnly === true && !wire.isSecure()
  const logins = isBare ? ['LOGINDISABLED'] : mechanismsOf(auth).map((name) => `AUTH=${name}`)
  const startTls = tls?.mode === 'starttls' && !wire.isSecure() ? ['STARTTLS'] : []
  return ['IMAP4rev1', 'SASL-IR', ...startTls, ...logins, ...settings.capabilities].join(' ')
}

function startTls({ answer, settings, wire }: ImapTalk, said: Said): void {
  const { tls } = settings
  if (tls?.mode !== 'starttls' || wire.isSecure()) answer({ ...said, reply: 'BAD not offered' })
  else answer({ ...said, reply: 'OK go ahead', afterwards: () => wire.startTls(tls.context) })
}

function logIn(talk: ImapTalk, said: Said, [name, initial]: readonly ImapToken[]): void {
  const { auth } = talk.settings
  const mechanism = textOf(name).toUpperCase()
  if (!isMechanism(mechanism) || !mechanismsOf(auth).includes(mechanism)) {
    talk.answer({ ...said, reply: 'NO [CANNOT] mechanism not offered' })
    return
  }
  const first = textOf(initial)
  const given = initial && (first === '=' ? '' : decodeBase64(first))
  playLogin(authenticate(mechanism, given, auth), {
    ask: talk.ask,
    conclude: (tried) => concludeLogin(talk, said, tried),
  })
}

function concludeLogin(
  talk: ImapTalk,
  said: Said,
  { isRight, username, secret }: LoginTried,
): void {
  const { progress, settings } = talk
  const who = { username, secret }
  const carryOut = (): void => {
    const { capabilities } = settings
    progress.username = username
    progress.state = { account: settings.accountOf(username), capabilities, view: undefined }
    settings.onLogin()
  }
  const enters = { reply: `OK [CAPABILITY ${capabilitiesOf(talk)}] logged in`, carryOut }
  const refused = { reply: 'NO [AUTHENTICATIONFAILED] Authentication failed.' }
  talk.answer({ ...said, ...(isRight ? enters : refused), who })
}

function idle({ answer, progress, settings }: ImapTalk, said: Said): void {
  const isPossible = progress.state?.view !== undefined && settings.capabilities.includes('IDLE')
  const carryOut = (): void => {
    progress.idleTag = said.tag
  }
  const untagged = [Buffer.from('+ idling\r\n')]
  if (isPossible) answer({ ...said, untagged, reply: undefined, carryOut })
  else answer({ ...said, reply: 'BAD not here' })
}

/** What comes next ends it, whatever it is. */
export function endIdle({ answer, progress }: ImapTalk, tag: string, line: string): void {
  progress.idleTag = undefined
  const isDone = line.toUpperCase() === 'DONE'
  answer({ tag, command: 'DONE', line, reply: isDone ? 'OK idled' : 'BAD expected DONE' })
}
