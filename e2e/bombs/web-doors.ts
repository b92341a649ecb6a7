/** Doors that are HTTP: the API and the tracker, and what token endpoints answer. */
import { createOAuthServer } from '@postrider/testkit'
import { bombInputs } from './bomb-inputs.ts'
import { type Door, type DoorDeps, isReadHttp, isTaken, KIB } from './door.ts'
import { latin1, postRaw, sendHttp } from './send-http.ts'

const HEADERS = ['X-Forwarded-For', 'Traceparent', 'Authorization', 'Content-Type', 'User-Agent']

export async function openWebDoors(deps: DoorDeps): Promise<readonly Door[]> {
  const { world } = deps
  const { apiKey } = await world.newTenant()
  const { port } = world.service()
  const authorization = `Authorization: Bearer ${apiKey}\r\n`
  let n = 0
  return [
    {
      name: 'a body of sendEmail',
      inputs: bombInputs(['json body'], 900 * KIB),
      enter: async (text) =>
        isReadHttp(
          await postRaw(port, '/v1/email/send', text, {
            Authorization: `Bearer ${apiKey}`,
            'Content-Type': 'application/json',
          }),
        ),
    },
    {
      name: 'headers of a request',
      inputs: bombInputs(['http header', 'user agent'], 4 * KIB),
      async enter(text) {
        // One address may give few wrong keys.
        n += 1
        const from = `X-Forwarded-For: 10.0.${n >> 8}.${n & 255}\r\n`
        const answers = await Promise.all(
          HEADERS.map((name) => {
            const head = `Host: a\r\nConnection: close\r\n${name === 'X-Forwarded-For' ? '' : from}${name}: ${text}\r\n\r\n`
            return sendHttp(
              port,
              name === 'Authorization'
                ? `GET /v1/email/logs HTTP/1.1\r\n${head}`
                : `GET /t/o/a.gif HTTP/1.1\r\n${head}`,
            )
          }),
        )
        return answers.every((one) => /^HTTP\/1\.1 401 /.test(one) || isReadHttp(one))
      },
    },
    {
      name: 'a path',
      inputs: bombInputs(['tracker path'], 8 * KIB),
      enter: async (text) =>
        isReadHttp(
          await sendHttp(
            port,
            `GET ${text} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${authorization}\r\n`,
          ),
        ),
    },
    await tokenDoor(deps),
  ]
}

/** A tenant may fail so many logins in a minute: each has few. */
const LOGINS_OF_ONE = 30

async function tokenDoor({ world }: DoorDeps): Promise<Door> {
  const server = await createOAuthServer()
  const newApp = async () => {
    const { client } = await world.newTenant()
    const { app } = await client.createOAuthApp({
      provider: 'custom',
      client_id: server.clientId,
      client_secret: server.clientSecret,
      authorize_url: server.authorizeUrl,
      token_url: server.tokenUrl,
      smtp: { host: '127.0.0.1', port: 1, secure: 'None' },
    })
    return { client, appId: app.app_id }
  }
  let current = await newApp()
  let n = 0
  return {
    name: 'answers of a token endpoint',
    inputs: bombInputs(['token answer', 'id token'], 60 * KIB),
    async enter(text) {
      if (n > 0 && n % LOGINS_OF_ONE === 0) current = await newApp()
      const isIdToken = !text.startsWith('{"') && !text.startsWith('<')
      const idToken = `e30.${latin1(text.slice(0, 12 * KIB)).toString('base64url')}.AA`
      const body = isIdToken && n % 2 === 0 ? { access_token: 'a', id_token: idToken } : text
      const status = n % 3 === 0 ? 400 : 200
      n += 1
      let isGiven = false
      server.setScript(() => {
        isGiven = true
        return { status, body }
      })
      const { client, appId } = current
      await isTaken(client.oauthLogin({ app_id: appId, token: server.grant('ada@example.com') }))
      return isGiven
    },
    close: () => server.close(),
  }
}
