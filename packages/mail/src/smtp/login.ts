/**
 * The login (RFC 4954): AUTH by the best mechanism that the server offers for what the mailer has.
 *
 * For a password PLAIN, LOGIN, CRAM-MD5 (RFC 4616, 2195); for an access token XOAUTH2, OAUTHBEARER
 * (RFC 7628). A server that offers a mechanism and does not know it is asked for the next one; a
 * refused password is never tried twice, since that is what locks accounts. Some servers do not take
 * an answer in the AUTH line itself: they are given it when they ask.
 */
import { createHmac } from 'node:crypto'
import { type Dialogue, DONE, isLost, say } from './dialogue.ts'
import { failureOfReply, LOCAL_REFUSALS, type SmtpFailure } from './failure.ts'
import type { Reply } from './reply-parser.ts'
import { bearerPrefix, plainPrefix, xoauth2Prefix } from './sasl.ts'
import type { SmtpAuth } from './session.ts'

interface Mechanism {
  readonly name: string
  /** In the AUTH line; in base64. */
  readonly initial?: string
  /** In base64; undefined where this mechanism has nothing to say to a further question. */
  readonly answer: (challenge: string, turn: number) => string | undefined
}

type LoginEnd = { readonly ok: true } | { readonly ok: false; readonly failure: SmtpFailure }

/** More questions than any mechanism here has. */
const TURNS_MAX = 4
const CHALLENGE_CHARS_MAX = 2_048
/** RFC 5321 §4.2.2: not known, not implemented; RFC 4954 §4: this mechanism is not. */
const NOT_KNOWN = new Set([500, 502, 504])
const NO_INITIAL_RESPONSE = 501

export function* login(
  auth: SmtpAuth,
  offered: readonly string[],
  server: { readonly host: string; readonly port: number },
): Dialogue<LoginEnd> {
  const refusal = refusalOf(auth, offered)
  if (refusal !== undefined) return { ok: false, failure: refusal }
  const known = mechanismsFor(auth, server).filter(({ name }) => offered.includes(name))
  let end: LoginEnd | undefined
  for (const mechanism of known) {
    let code: number
    ;[end, code] = yield* exchange(mechanism)
    if (code === NO_INITIAL_RESPONSE && mechanism.initial !== undefined) {
      const { name, answer } = mechanism
      ;[end, code] = yield* exchange({ name, answer })
    }
    if (!NOT_KNOWN.has(code)) return end
  }
  return end ?? { ok: false, failure: noneUsable(auth, offered) }
}

function refusalOf(auth: SmtpAuth, offered: readonly string[]): SmtpFailure | undefined {
  const refuse = (systemCode: string, message: string) =>
    ({ stage: 'auth', systemCode, message }) as const
  if (offered.length === 0)
    return refuse(
      LOCAL_REFUSALS.noLoginOffered,
      'The server offers no login (AUTH) on this connection',
    )
  const isToken = 'accessToken' in auth
  const secret = isToken ? auth.accessToken : auth.password
  if (auth.username === '' || secret === '')
    return refuse(
      LOCAL_REFUSALS.noCredentials,
      `The server asks for a login and the mailer has no ${isToken ? 'access token' : 'password'}`,
    )
  // They would end a field of the answer and begin another (RFC 4616 §2, RFC 7628 §3.1).
  if (['\0', '\u0001'].some((end) => `${auth.username}${secret}`.includes(end)))
    return refuse(
      LOCAL_REFUSALS.noCredentials,
      'Username or password hold a character that no login can hold',
    )
  return undefined
}

function noneUsable(auth: SmtpAuth, offered: readonly string[]): SmtpFailure {
  const kind = 'accessToken' in auth ? 'an access token' : 'a password'
  return {
    stage: 'auth',
    systemCode: LOCAL_REFUSALS.noLoginOffered,
    message: `The server offers no login with ${kind}, only ${offered.join(', ').slice(0, 200)}`,
  }
}

/** One AUTH; also answers the code of the last reply, 0 where there is none. */
function* exchange(mechanism: Mechanism): Dialogue<readonly [LoginEnd, number]> {
  const { name, initial } = mechanism
  let line = initial === undefined ? `AUTH ${name}` : `AUTH ${name} ${initial}`
  let authChallenge: string | undefined
  for (let turn = 0; turn < TURNS_MAX; turn += 1) {
    const input = yield say('auth', `${line}\r\n`)
    if (input === DONE || isLost(input)) return [failed(input), 0]
    if (input.code !== 334) return [conclude(input, authChallenge), input.code]
    const challenge = challengeOf(input)
    if (challenge.startsWith('{')) authChallenge = challenge.slice(0, CHALLENGE_CHARS_MAX)
    const answer = mechanism.answer(challenge, turn)
    if (answer === undefined) return [failed(input), input.code]
    line = answer
  }
  return [failed({ systemCode: 'EPROTOCOL', message: 'The server asks without end' }), 0]
}

function conclude(reply: Reply, authChallenge: string | undefined): LoginEnd {
  if (reply.code < 300) return { ok: true }
  const failure = failureOfReply('auth', reply)
  return {
    ok: false,
    failure: authChallenge === undefined ? failure : { ...failure, authChallenge },
  }
}

function failed(input: Exclude<Parameters<typeof isLost>[0], never>): LoginEnd {
  if (input === DONE) throw new Error('a login waits for replies alone')
  return {
    ok: false,
    failure: isLost(input) ? { stage: 'auth', ...input } : failureOfReply('auth', input),
  }
}

function challengeOf({ lines }: Reply): string {
  return Buffer.from((lines[0] ?? '').slice(4).trim(), 'base64').toString('utf8')
}

function mechanismsFor(
  auth: SmtpAuth,
  { host, port }: { readonly host: string; readonly port: number },
): readonly Mechanism[] {
  const { username } = auth
  if ('accessToken' in auth) {
    const { accessToken } = auth
    return [
      withToken('XOAUTH2', `${xoauth2Prefix(username)}${accessToken}\u0001\u0001`, ''),
      // A token that is refused is answered with a single 0x01 (RFC 7628 §3.2.3).
      withToken(
        'OAUTHBEARER',
        `${bearerPrefix(username, host, port)}${accessToken}\u0001\u0001`,
        base64('\u0001'),
      ),
    ]
  }
  const { password } = auth
  const plain = base64(`${plainPrefix(username)}${password}`)
  return [
    { name: 'PLAIN', initial: plain, answer: (_, turn) => (turn === 0 ? plain : undefined) },
    { name: 'LOGIN', answer: (_, turn) => [base64(username), base64(password)][turn] },
    {
      name: 'CRAM-MD5',
      answer: (challenge, turn) =>
        turn === 0 ? base64(`${username} ${hmacMd5(password, challenge)}`) : undefined,
    },
  ]
}

/** Asked with something to read, the server refuses the token and wants to be told to say so. */
function withToken(name: string, response: string, acknowledgement: string): Mechanism {
  const initial = base64(response)
  return {
    name,
    initial,
    answer: (challenge, turn) =>
      challenge !== '' ? acknowledgement : turn === 0 ? initial : undefined,
  }
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}

function hmacMd5(password: string, challenge: string): string {
  return createHmac('md5', password).update(challenge).digest('hex')
}
