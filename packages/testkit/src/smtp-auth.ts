/**
 * The login that the scripted SMTP and IMAP servers check: PLAIN, LOGIN, CRAM-MD5, XOAUTH2 and
 * OAUTHBEARER (RFC 4954, 4616, 2195, 7628), each as a generator that asks and is answered.
 */
import { createHmac } from 'node:crypto'

export interface SmtpAuthSettings {
  readonly users: Readonly<Record<string, string>>
  /** Access tokens for XOAUTH2 and OAUTHBEARER: by username, or by a function. */
  readonly tokens?:
    | Readonly<Record<string, string>>
    | ((username: string, token: string) => boolean)
  readonly mechanisms?: readonly SmtpMechanism[]
  /** Refuse MAIL before a login; true unless told otherwise. */
  readonly required?: boolean
  /** Offer AUTH only under TLS. */
  readonly tlsOnly?: boolean
  /** What an answer in the AUTH line itself gets: it is taken unless told otherwise. */
  readonly initialResponse?: 'taken' | 'ignored' | 'refused'
}

export type SmtpMechanism = (typeof MECHANISMS)[number]

export interface LoginTried {
  readonly username: string
  /** Password or token; of CRAM-MD5, its digest. */
  readonly secret: string
  readonly isRight: boolean
  /** Instead of the refusal by the book. */
  readonly refusal?: string
}

const MECHANISMS = ['PLAIN', 'LOGIN', 'CRAM-MD5', 'XOAUTH2', 'OAUTHBEARER'] as const
const REFUSED_TOKEN = JSON.stringify({
  status: '400',
  schemes: 'bearer',
  scope: 'https://mail.example.com/',
})
const CRAM_CHALLENGE = '<1896.697170952@sink.test>'

export function mechanismsOf(settings: SmtpAuthSettings): readonly SmtpMechanism[] {
  return settings.mechanisms ?? ['PLAIN', 'LOGIN']
}

/** Yields each challenge in clear; is told the answers in clear. */
export function* authenticate(
  mechanism: SmtpMechanism,
  initial: string | undefined,
  settings: SmtpAuthSettings,
): Generator<string, LoginTried, string> {
  const { users, tokens = {} } = settings
  const tried = (username: string, secret: string, right: string | undefined): LoginTried => ({
    username,
    secret,
    isRight: right !== undefined && secret === right,
  })
  switch (mechanism) {
    case 'PLAIN': {
      const [, username = '', password = ''] = (initial ?? (yield '')).split('\u0000')
      return tried(username, password, users[username])
    }
    case 'LOGIN': {
      const username = initial ?? (yield 'Username:')
      return tried(username, yield 'Password:', users[username])
    }
    case 'CRAM-MD5': {
      const [username = '', digest = ''] = (yield CRAM_CHALLENGE).split(' ')
      const password = users[username]
      const right = password === undefined ? undefined : hmacMd5(password, CRAM_CHALLENGE)
      return tried(username, digest, right)
    }
    case 'XOAUTH2':
    case 'OAUTHBEARER': {
      const [first = '', ...others] = (initial ?? (yield '')).split('\u0001')
      const username = /^(?:user=|n,a=)(.*?),?$/.exec(first)?.[1] ?? ''
      const bearer = others.find((field) => field.startsWith('auth=Bearer ')) ?? ''
      const token = bearer.slice('auth=Bearer '.length)
      const login =
        typeof tokens === 'function'
          ? { username, secret: token, isRight: tokens(username, token) }
          : tried(username, token, tokens[username])
      if (login.isRight) return login
      const isRead = (yield REFUSED_TOKEN) === (mechanism === 'XOAUTH2' ? '' : '\u0001')
      return isRead
        ? login
        : { ...login, refusal: '501 5.5.2 that is no answer to a refused token' }
    }
  }
}

/** To its end. Challenges and answers go over the wire in base64. */
export function playLogin(
  login: Generator<string, LoginTried, string>,
  o: {
    readonly ask: (challenge: string, read: (answer: string) => void) => void
    readonly conclude: (tried: LoginTried) => void
  },
): void {
  const goOn = (turn: IteratorResult<string, LoginTried>): void => {
    if (turn.done === true) o.conclude(turn.value)
    else o.ask(toBase64(turn.value), (answer) => goOn(login.next(decodeBase64(answer))))
  }
  goOn(login.next())
}

export function toBase64(text: string): string {
  return Buffer.from(text).toString('base64')
}

export function decodeBase64(text: string): string {
  return Buffer.from(text, 'base64').toString('utf8')
}

export function isMechanism(name: string): name is SmtpMechanism {
  return (MECHANISMS as readonly string[]).includes(name)
}

function hmacMd5(password: string, challenge: string): string {
  return createHmac('md5', password).update(challenge).digest('hex')
}
