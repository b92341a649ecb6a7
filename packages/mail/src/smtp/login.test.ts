import { createSmtpServer, type SmtpServer, type SmtpServerOptions } from '@postrider/testkit'
import { afterEach, describe, expect, it } from 'vitest'
import { openTo, sessionOptions } from '../../test/smtp-loopback.ts'
import { classifyFailure } from '../classify-reply.ts'
import type { SmtpReply, SmtpStage } from './failure.ts'
import { openSmtpSession } from './open-session.ts'
import type { SmtpAuth } from './session.ts'

type AuthSettings = NonNullable<SmtpServerOptions['auth']>
type Script = NonNullable<SmtpServerOptions['script']>

const PASSWORD = { username: 'ann', password: 'pä=ss, word' }
const TOKEN = { username: 'ann=a,b@example.com', accessToken: 'ya29.a0Aa4xrX-secret~token+/==' }
const SETTINGS: AuthSettings = {
  users: { ann: PASSWORD.password },
  tokens: {
    'ann=a,b@example.com': TOKEN.accessToken,
    'ann=3Da=2Cb@example.com': TOKEN.accessToken,
  },
}

let server: SmtpServer | undefined
afterEach(async () => {
  await server?.close()
  server = undefined
})

async function start(auth: Partial<AuthSettings> = {}, script?: Script): Promise<SmtpServer> {
  server = await createSmtpServer({
    auth: { ...SETTINGS, ...auth },
    ...(script === undefined ? {} : { script }),
  })
  return server
}

async function logIn(to: SmtpServer, auth: SmtpAuth) {
  const opened = await openSmtpSession(sessionOptions(to.port, { auth }))
  if (opened.ok) opened.session.close()
  return opened.ok ? undefined : opened.failure
}

const authLines = ({ connections }: SmtpServer) =>
  connections[0]?.commands.filter((line) => line.startsWith('AUTH')).map((l) => l.split(' ')[1])

describe('the mechanism of a login', () => {
  it.each([
    [['PLAIN', 'LOGIN', 'CRAM-MD5', 'XOAUTH2'], 'PLAIN'],
    [['XOAUTH2', 'CRAM-MD5', 'LOGIN'], 'LOGIN'],
    [['CRAM-MD5', 'XOAUTH2', 'OAUTHBEARER'], 'CRAM-MD5'],
  ] as const)(
    'the mechanism of a login for a password, of %j, is %s',
    async (mechanisms, chosen) => {
      const to = await start({ mechanisms })
      expect(await logIn(to, PASSWORD)).toBeUndefined()
      expect(authLines(to)).toEqual([chosen])
      expect(to.connections[0]?.username).toBe('ann')
    },
  )

  it.each([
    [['PLAIN', 'OAUTHBEARER', 'XOAUTH2'], 'XOAUTH2', TOKEN.username],
    // Its field is escaped: a comma would end it.
    [['PLAIN', 'OAUTHBEARER'], 'OAUTHBEARER', 'ann=3Da=2Cb@example.com'],
  ] as const)(
    'the mechanism of a login for a token, of %j, is %s',
    async (mechanisms, chosen, username) => {
      const to = await start({ mechanisms })
      expect(await logIn(to, TOKEN)).toBeUndefined()
      expect(authLines(to)).toEqual([chosen])
      expect(to.connections[0]?.username).toBe(username)
    },
  )

  it('is never guessed: a server without a suitable one gets no secret', async () => {
    for (const [mechanisms, auth, kind] of [
      [['XOAUTH2'], PASSWORD, 'a password, only XOAUTH2'],
      [['PLAIN', 'LOGIN'], TOKEN, 'an access token, only PLAIN, LOGIN'],
    ] as const) {
      const to = await start({ mechanisms })
      const failure = await logIn(to, auth)
      expect(failure).toEqual({
        stage: 'auth',
        systemCode: 'ENOAUTH',
        message: `The server offers no login with ${kind}`,
      })
      expect(authLines(to)).toEqual([])
      await to.close()
    }
  })

  it('is the next one when the server does not know what it offers', async () => {
    const to = await start({}, ({ phase, line }) =>
      phase === 'auth' && line.startsWith('AUTH PLAIN') ? '504 5.5.4 not really' : undefined,
    )
    expect(await logIn(to, PASSWORD)).toBeUndefined()
    expect(authLines(to)).toEqual(['PLAIN', 'LOGIN'])
  })

  it('is not changed, nor the password tried again, after a refusal', async () => {
    for (const refusal of ['535 5.7.8 no', '534 5.7.9 no', '454 4.7.0 later']) {
      const to = await start({}, ({ phase }) => (phase === 'auth' ? refusal : undefined))
      expect(await logIn(to, PASSWORD)).toMatchObject({ reply: { text: refusal } })
      expect(authLines(to)).toEqual(['PLAIN'])
      await to.close()
    }
  })
})

describe('an initial response in the AUTH line', () => {
  for (const initialResponse of ['ignored', 'refused'] as const)
    it.each(['PLAIN', 'XOAUTH2', 'OAUTHBEARER', 'LOGIN'] as const)(
      `is sent again on request, where it is ${initialResponse}: %s`,
      async (mechanism) => {
        const to = await start({ mechanisms: [mechanism], initialResponse })
        const auth = mechanism === 'PLAIN' || mechanism === 'LOGIN' ? PASSWORD : TOKEN
        expect(await logIn(to, auth)).toBeUndefined()
      },
    )

  it('is sent again once only', async () => {
    const to = await start({}, ({ phase }) => (phase === 'auth' ? '501 5.5.4 no' : undefined))
    expect(await logIn(to, PASSWORD)).toMatchObject({ reply: { code: 501 } })
    expect(authLines(to)).toEqual(['PLAIN', 'PLAIN'])
  })
})

describe('a refused token', () => {
  it.each(['XOAUTH2', 'OAUTHBEARER'] as const)(
    'is reported with the error of the server, by %s',
    async (mechanism) => {
      const to = await start({ mechanisms: [mechanism], tokens: {} })
      const failure = await logIn(to, TOKEN)
      expect(failure).toMatchObject({ stage: 'auth', reply: { code: 535 } })
      expect(JSON.parse(failure?.authChallenge ?? '')).toMatchObject({ status: '400' })
      expect(classifyFailure(failure ?? { stage: 'auth' })).toMatchObject({ authRejected: true })
    },
  )

  it('is hidden in the error of the server', async () => {
    const said = Buffer.from(`{"status":"400","token":"${TOKEN.accessToken}"}`).toString('base64')
    let asked = 0
    const to = await start({ mechanisms: ['XOAUTH2'] }, ({ phase }) => {
      if (phase !== 'auth' && phase !== 'other') return undefined
      asked += 1
      return asked === 1 ? `334 ${said}` : '535 5.7.8 no'
    })
    expect(await logIn(to, TOKEN)).toMatchObject({
      reply: { code: 535 },
      authChallenge: '{"status":"400","token":"[redacted]"}',
    })
  })

  it('is hidden however the server quotes it', async () => {
    const response = `user=${TOKEN.username}\u0001auth=Bearer ${TOKEN.accessToken}\u0001\u0001`
    const quotes = [
      TOKEN.accessToken,
      Buffer.from(TOKEN.accessToken).toString('base64'),
      Buffer.from(response).toString('base64'),
      Buffer.from(response).toString('base64').slice(0, 70),
    ]
    for (const quote of quotes) {
      const to = await start({ mechanisms: ['XOAUTH2'], tokens: {} }, ({ phase }) =>
        phase === 'auth' ? `535 5.7.8 no ${quote} here` : undefined,
      )
      const failure = await logIn(to, TOKEN)
      expect(failure?.reply?.text).toBe('535 5.7.8 no [redacted] here')
      await to.close()
    }
  })
})

describe('credentials', () => {
  it.each([
    { username: '', password: 'x' },
    { username: 'x', password: '' },
    { username: 'x', accessToken: '' },
    { username: 'x\u0000y', password: 'z' },
    { username: 'x', accessToken: 'y\u0001auth=Bearer z' },
  ])('are not sent when they are malformed: %j', async (auth) => {
    const to = await start({ mechanisms: ['PLAIN', 'XOAUTH2'] })
    expect(await logIn(to, auth)).toMatchObject({ stage: 'auth', systemCode: 'ECREDENTIALS' })
    expect(authLines(to)).toEqual([])
  })
})

it('reports each refusal of a login with its step', async () => {
  const to = await start()
  const heard: [SmtpStage, SmtpReply, string | undefined][] = []
  const session = await openTo(to.port, {
    auth: PASSWORD,
    onReply: (stage, reply, asked) => heard.push([stage, reply, asked]),
  })
  session.close()
  expect(heard.map(([stage, { code }, asked]) => [stage, code, asked])).toEqual([
    ['greeting', 220, undefined],
    ['ehlo', 250, 'EHLO'],
    ['auth', 235, 'AUTH PLAIN'],
  ])
  expect(session.capabilities).toMatchObject({ hasPipelining: true, hasDsn: false })
})
