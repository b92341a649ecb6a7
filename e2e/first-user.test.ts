/** The way to the first user: links that a start and the command line print (docs/reference/people.md#invitations). */
import { randomBytes } from 'node:crypto'
import { programs, type RunningService, startProcess, startService } from '@postrider/testkit'
import { connectTo, createDatabase, type TestDatabaseCopy } from '@postrider/testkit/database'
import { afterEach, beforeEach, expect, inject, it } from 'vitest'

type Client = Awaited<ReturnType<typeof connectTo>>

const LINK = /\/app\/(?:setup|invitation)#\S+$/
const PASSWORD = 'a long password for tests'
const ann = { email: 'ann@example.com', name: 'Ann' }

let database: TestDatabaseCopy
let sql: Client
let env: Record<string, string>
let service: RunningService | undefined

beforeEach(async () => {
  const { serverUrl, templateWithDays: template } = inject('testDatabase')
  database = await createDatabase({ serverUrl, template })
  sql = await connectTo(database.url)
  env = {
    DATABASE_URL: database.url,
    SECRET_KEYS: `k:${randomBytes(32).toString('base64')}`,
    ADMIN_TOKEN: randomBytes(16).toString('hex'),
    PUBLIC_URL: 'http://127.0.0.1:8025',
  }
})
afterEach(async () => {
  await service?.stop()
  service = undefined
  await sql.end()
  await database.close()
})

/** Undefined when a start prints none. */
async function start(): Promise<string | undefined> {
  await service?.stop()
  service = await startService({ env })
  await service.process.waitForLine(/Postrider is running\./)
  const { lines } = service.process
  // The text is printed at once, and what ends it belongs to every start.
  await service.process.waitForLine(/another: (?:npx )?postrider key create|There is no tenant yet/)
  return lines.find((line) => LINK.test(line))?.trim()
}

async function invite(...args: string[]) {
  const run = await startProcess({
    script: programs.cli,
    args: ['user', 'invite', ...args],
    env: Object.fromEntries(
      Object.entries(env).map(([name, value]) => [`POSTRIDER_${name}`, value]),
    ),
  })
  const { code } = await run.exited
  return { code, link: run.lines.find((line) => LINK.test(line))?.trim() }
}

function post(path: string, body: object, headers: Readonly<Record<string, string>> = {}) {
  return fetch(`${service?.origin}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: env.PUBLIC_URL ?? '', ...headers },
    body: JSON.stringify(body),
  })
}
const use = async (link: string | undefined, body: object = ann) => {
  const token = link?.split('#')[1] ?? ''
  return (await post('/ui/invitation', { token, password: PASSWORD, ...body })).status
}
const logIn = (email: string) => post('/ui/session', { email, password: PASSWORD })

it('leads from the link of the first start to an operator, who is the only one', async () => {
  const link = await start()
  expect(link).toMatch(/^http:\/\/127\.0\.0\.1:8025\/app\/setup#[\w-]{43}$/)
  // Other links may have been printed meanwhile, by another process or by the command line.
  const { link: another } = await invite()
  expect(another).not.toBe(link)
  // A password that is refused uses nothing up.
  expect(await use(link, { ...ann, password: 'short' })).toBe(400)
  expect(await use(link)).toBe(200)
  expect(await use(link)).toBe(404)
  expect(await use(another, { email: 'bob@example.com', name: 'Bob' })).toBe(404)
  expect((await logIn('bob@example.com')).status).toBe(401)

  const session = await logIn('ann@example.com')
  expect(session.status).toBe(201)
  const cookie = session.headers.getSetCookie()[0]?.split(';')[0] ?? ''
  const users = await fetch(`${service?.origin}/ui/api/admin/v1/users`, { headers: { cookie } })
  expect(await users.json()).toMatchObject({
    users: [{ email: 'ann@example.com', role: 'operator' }],
  })

  // Once there is a user, no start and no command makes such a link.
  expect(await start()).toBeUndefined()
  expect(await invite()).toEqual({ code: 1, link: undefined })
}, 120_000)

it('prints another link at each start and by the command line, each for an hour', async () => {
  const first = await start()
  const second = await start()
  const { code, link: third } = await invite()
  expect(code).toBe(0)
  expect(new Set([first, second, third]).size).toBe(3)
  await sql.query(`update people_invitation set expires_at = expires_at - interval '59 minutes'`)
  expect(await use(second, { ...ann, password: 'short' })).toBe(400)
  await sql.query(`update people_invitation set expires_at = expires_at - interval '1 minute'`)
  for (const link of [first, second, third]) expect(await use(link)).toBe(404)
  expect((await logIn('ann@example.com')).status).toBe(401)

  expect(await use((await invite()).link)).toBe(200)
  expect((await logIn('ann@example.com')).status).toBe(201)
}, 120_000)

it('lets nobody become the first user once somebody was invited by the command line', async () => {
  const link = await start()
  const { link: invitation } = await invite('bob@example.com', '--role', 'operator_viewer')
  expect(invitation).toMatch(/^http:\/\/127\.0\.0\.1:8025\/app\/invitation#/)
  expect(await use(link)).toBe(404)
  expect(await use(invitation, {})).toBe(200)
  expect(await use(invitation, {})).toBe(404)
  expect((await logIn('bob@example.com')).status).toBe(201)
}, 120_000)
