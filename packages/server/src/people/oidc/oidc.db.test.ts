/** [contract 7.1] The login by OIDC, at a real provider. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { CLIENT, createOidcServer, encode, type OidcServer } from '../../../test/oidc.ts'
import { type Answered, cookieOf, ORIGIN, usePeople } from '../../../test/people.ts'
import { inviteUser } from '../invitations/invitations.ts'

const CALLBACK = `${ORIGIN}/ui/oidc/callback`
const PENDING = '__Host-postrider_oidc'
const EMAIL = 'ada@example.com'

let server: OidcServer
let isOnly = false
beforeAll(async () => {
  server = await createOidcServer(CALLBACK)
})
afterAll(async () => {
  await server.close()
})

const people = usePeople(() => ({
  oidcIssuer: server.issuer,
  oidcClientId: CLIENT.id,
  oidcClientSecret: CLIENT.secret,
  oidcRoleClaim: 'roles',
  oidcOnly: isOnly,
}))
const { admin, ask, ui } = people

beforeEach(() => {
  server.changeToken(undefined)
  server.setClaims({ email: EMAIL, email_verified: true, name: 'Ada', roles: 'operator' })
})

async function begin() {
  const begun = await ask('GET', '/ui/oidc/login')
  return { begun, pending: cookieOf(begun), url: String(begun.headers.location) }
}

function back(url: URL, pending: string | undefined): Promise<Answered> {
  const headers = pending === undefined ? {} : { cookie: `${PENDING}=${pending}` }
  return ask('GET', url.pathname + url.search, { headers })
}

async function logIn(): Promise<Answered> {
  const { pending, url } = await begin()
  return await back(await server.logIn(url), pending)
}

function sessionOf({ headers }: Answered): string {
  const cookies = [headers['set-cookie']].flat().map(String)
  const own = cookies.find((one) => one.startsWith('__Host-postrider_session='))
  return /=([^;]*)/.exec(own ?? '')?.[1] ?? ''
}

async function roleIn(tenantId: string) {
  const { body } = await admin('GET', '/users')
  const [{ memberships = [] } = {}] = body.users
  return memberships.find((one: { tenant_id: string }) => one.tenant_id === tenantId)
}

describe('a login by OIDC', () => {
  it('asks the provider for a code with PKCE, a state and a nonce', async () => {
    const { begun, url } = await begin()
    expect(begun.status).toBe(303)
    expect(begun.headers['set-cookie']).toMatch(
      /^__Host-postrider_oidc=[\w.-]+; Path=\/; HttpOnly; SameSite=Lax; Max-Age=900; Secure$/,
    )
    const { origin, searchParams } = new URL(url)
    expect(origin).toBe(server.issuer)
    expect(Object.fromEntries(searchParams)).toMatchObject({
      response_type: 'code',
      code_challenge_method: 'S256',
      redirect_uri: CALLBACK,
      state: expect.stringMatching(/^[\w-]{43}$/),
      nonce: expect.stringMatching(/^[\w-]{43}$/),
    })
  })

  it('makes the user, and opens a session', async () => {
    const answered = await logIn()
    expect(answered.status).toBe(303)
    expect(answered.headers.location).toBe(`${ORIGIN}/app/`)
    const told = await ui('GET', '/ui/session', { cookie: sessionOf(answered) })
    expect(told.body).toMatchObject({
      role: 'operator',
      user: { email: EMAIL, name: 'Ada', state: 'active', content: true },
    })
    expect(await people.logIn(EMAIL)).toMatchObject({ status: 401 })
  })

  it('gives the roles of the claim, and follows it at each login', async () => {
    const [acme, other] = [people.acme.tenantId, people.other.tenantId]
    server.setClaims({
      email: EMAIL,
      roles: [`viewer:${acme}`, `owner:${acme}`, `support:${other}`],
    })
    expect(await logIn()).toMatchObject({ status: 303 })
    expect(await roleIn(acme)).toMatchObject({ role: 'owner', content: true })
    expect(await roleIn(other)).toMatchObject({ role: 'support' })
    server.setClaims({ email: EMAIL, roles: [`viewer:${acme}`] })
    const again = await logIn()
    expect(await roleIn(acme)).toMatchObject({ role: 'viewer', content: false })
    expect(await roleIn(other)).toBeUndefined()
    const tenants = (await ui('GET', '/ui/session', { cookie: sessionOf(again) })).body.tenants
    expect(tenants).toMatchObject([{ tenant_id: acme, role: 'viewer' }])
  })

  it.each([
    ['is missing', undefined],
    ['is unknown', 'king'],
    ['is unknown beside a known one', ['operator', 'king']],
    ['is of an operator in a tenant', 'operator:tn_01ARZ3NDEKTSV4RRFFQ69G5FAV'],
    ['is in a tenant that does not exist', 'owner:tn_01ARZ3NDEKTSV4RRFFQ69G5FAV'],
    ['names no tenant, and the user has none', 'owner'],
    ['is no text', [{ role: 'operator' }]],
  ])('is 403 when the role %s', async (_, roles) => {
    server.setClaims({ email: EMAIL, email_verified: true, ...(roles && { roles }) })
    const refused = await logIn()
    expect(refused).toMatchObject({ status: 403, body: { code: 'forbidden' } })
    expect(sessionOf(refused)).toBe('')
    expect((await admin('GET', '/users')).body.users).toEqual([])
  })

  it('finds a user by a verified address alone, and then by the subject', async () => {
    const { userId } = await people.newPerson('viewer')
    await people.db.query('update people_user set email = $1', [EMAIL])
    server.setClaims({ email: EMAIL, roles: 'developer' })
    expect(await logIn()).toMatchObject({ status: 403 })
    server.setClaims({ email: EMAIL, email_verified: true, roles: 'developer' })
    expect(await logIn()).toMatchObject({ status: 303 })
    expect(await roleIn(people.acme.tenantId)).toMatchObject({ role: 'developer' })
    server.setClaims({ email: 'new@example.com', roles: 'developer' })
    expect(await logIn()).toMatchObject({ status: 303 })
    expect((await admin('GET', '/users')).body.users).toMatchObject([{ user_id: userId }])
    // Somebody else at the provider with the same address.
    await people.db.query(`update people_user set oidc_subject = 'another'`)
    server.setClaims({ email: EMAIL, email_verified: true, roles: 'operator' })
    expect(await logIn()).toMatchObject({ status: 403 })
  })
})

describe('what a login by OIDC changes', () => {
  const entries = async () => (await admin('GET', '/audit')).body.entries

  it('is in the audit log of each tenant where the role is another one', async () => {
    const [acme, other] = [people.acme.tenantId, people.other.tenantId]
    server.setClaims({ email: EMAIL, roles: [`viewer:${acme}`] })
    await logIn()
    const [{ actor: userId }] = await entries()
    expect(await entries()).toMatchObject([
      { actor: userId, operation: 'GET /ui/oidc/callback', tenant_id: acme, status: 303 },
      { actor: 'oidc', operation: 'createUser', target: userId, tenant_id: acme },
    ])
    await logIn()
    expect(await entries()).toHaveLength(3)
    server.setClaims({ email: EMAIL, roles: [`viewer:${acme}`, `owner:${other}`] })
    await logIn()
    const [, , ofOther] = await entries()
    expect(ofOther).toMatchObject({
      ...{ actor: 'oidc', operation: 'updateUser', target: userId, tenant_id: other },
      from: '192.0.2.7',
    })
    server.setClaims({ email: EMAIL, roles: 'operator' })
    await logIn()
    const changes = (await entries()).filter((one: { actor: string }) => one.actor === 'oidc')
    expect(changes.slice(0, 3).map((one: { tenant_id: string }) => one.tenant_id)).toEqual([
      ...[null, ...[acme, other].toSorted().toReversed()],
    ])
  })

  it('ends the open sessions of a user whose roles are refused, and keeps the roles', async () => {
    const acme = people.acme.tenantId
    server.setClaims({ email: EMAIL, roles: [`viewer:${acme}`] })
    const cookie = sessionOf(await logIn())
    const bystander = await people.newPerson('viewer')
    server.setClaims({ email: EMAIL, roles: 'king' })
    expect(await logIn()).toMatchObject({ status: 403 })
    expect(await ui('GET', '/ui/session', { cookie })).toMatchObject({ status: 401 })
    expect(await ui('GET', '/ui/session', bystander)).toMatchObject({ status: 200 })
    await expect
      .poll(async () => (await entries())[0])
      .toMatchObject({ actor: 'nobody', operation: 'GET /ui/oidc/callback', status: 403 })
    server.setClaims({ email: EMAIL, roles: [`owner:tn_01ARZ3NDEKTSV4RRFFQ69G5FAV`] })
    expect(await logIn()).toMatchObject({ status: 403 })
    server.setClaims({ email: EMAIL, roles: [`viewer:${acme}`] })
    const again = sessionOf(await logIn())
    expect(await ui('GET', '/ui/session', { cookie: again })).toMatchObject({ status: 200 })
  })

  it('leaves a user of the same address alone, when somebody else is refused', async () => {
    const { cookie } = await people.newPerson('viewer')
    await people.db.query('update people_user set email = $1', [EMAIL])
    server.setClaims({ email: EMAIL, roles: 'operator' })
    expect(await logIn()).toMatchObject({ status: 403 })
    expect(await ui('GET', '/ui/session', { cookie })).toMatchObject({ status: 200 })
  })

  it('makes a user of it whom nobody else has a link of: a higher role ends nothing', async () => {
    const { userId } = await people.newPerson('viewer')
    await people.db.query(
      `update people_user set email = $1, inviter = '{"tenantId": null, "isOwner": false, "scopes": []}'`,
      [EMAIL],
    )
    server.setClaims({ email: EMAIL, email_verified: true, roles: 'viewer' })
    const cookie = sessionOf(await logIn())
    const raised = await admin('PUT', `/users/${userId}`, { role: 'owner' })
    expect(raised.body.invitation_url).toBeUndefined()
    expect(await ui('GET', '/ui/session', { cookie })).toMatchObject({ status: 200 })
  })
})

describe('the first login by OIDC of a user that somebody else invited', () => {
  it('leaves that one nothing: no password, no session and no invitation', async () => {
    // An owner who invites has the link, and may use it.
    const eve = await people.newPerson('viewer')
    await people.db.query('update people_user set email = $1', [EMAIL])
    const link = await people.db.transaction((tx) =>
      inviteUser(tx, { publicUrl: ORIGIN }, eve.userId),
    )
    const own = sessionOf(await logIn())
    expect(await ui('GET', '/ui/session', { cookie: own })).toMatchObject({
      body: { role: 'operator', user: { user_id: eve.userId } },
    })
    expect(await ui('GET', '/ui/session', { cookie: eve.cookie })).toMatchObject({ status: 401 })
    expect(await people.logIn(EMAIL)).toMatchObject({ status: 401 })
    expect(await people.accept(link)).toMatchObject({ status: 404 })
    await logIn()
    expect(await ui('GET', '/ui/session', { cookie: own })).toMatchObject({ status: 200 })
  })
})

describe('a login by OIDC of a user whom somebody invited since the last', () => {
  it('leaves that one nothing of the rights that the provider gives', async () => {
    const { tenantId } = people.acme
    server.setClaims({ email: EMAIL, email_verified: true, roles: [`viewer:${tenantId}`] })
    await logIn()
    const [{ user_id: userId }] = (await admin('GET', '/users')).body.users
    await admin('POST', `/users/${userId}/invitation`)
    const eve = await people.newPerson('owner')
    const path = `/v1/members/${userId}/invitation`
    const invited = await ui('POST', path, { cookie: eve.cookie, tenantId })
    expect(invited.status).toBe(201)
    const session = sessionOf(await people.accept(invited.body.invitation_url))
    // Also after a login at the same rights, which ends that somebody invited the user.
    for (const roles of [[`viewer:${tenantId}`], 'operator']) {
      server.setClaims({ email: EMAIL, email_verified: true, roles })
      expect(await logIn()).toMatchObject({ status: 303 })
      expect(await people.logIn(EMAIL)).toMatchObject({ status: 401 })
      expect(await ui('GET', '/ui/session', { cookie: session })).toMatchObject({ status: 401 })
    }
  })
})

describe('a login by OIDC is 401', () => {
  const seconds = () => Math.floor(Date.now() / 1000)

  it.each<[string, Parameters<OidcServer['changeToken']>[0]]>([
    ['another nonce', ({ claims, sign }) => sign({ ...claims, nonce: 'another' })],
    ['no nonce', ({ claims: { nonce: _, ...claims }, sign }) => sign(claims)],
    ['another issuer', ({ claims, sign }) => sign({ ...claims, iss: 'https://evil.example.com' })],
    ['another audience', ({ claims, sign }) => sign({ ...claims, aud: 'another' })],
    ['an expiry long ago', ({ claims, sign }) => sign({ ...claims, exp: seconds() - 3600 })],
    [
      'no signature',
      ({ claims }) => `${encode({ alg: 'none' })}.${encode({ ...claims, roles: 'operator' })}.`,
    ],
    [
      'a signature of other claims',
      ({ claims, sign }) => {
        const [head, , signature] = sign(claims).split('.')
        return `${head}.${encode({ ...claims, sub: 'somebody-else' })}.${signature}`
      },
    ],
    [
      'a signature by the secret of the client',
      ({ claims }) => `${encode({ alg: 'HS256' })}.${encode(claims)}.AAAA`,
    ],
  ])('with a token that has %s', async (_, change) => {
    server.changeToken(change)
    const refused = await logIn()
    expect(refused).toMatchObject({ status: 401, body: { code: 'unauthorized' } })
    expect(sessionOf(refused)).toBe('')
    expect((await admin('GET', '/users')).body.users).toEqual([])
  })

  it('with another state, without one, and without the cookie of the browser that began', async () => {
    const { pending, url } = await begin()
    const returned = await server.logIn(url)
    const other = await begin()
    expect(await back(returned, undefined)).toMatchObject({ status: 401 })
    expect(await back(returned, other.pending)).toMatchObject({ status: 401 })
    for (const [name, value] of [
      ['state', 'another'],
      ['state', ''],
      ['iss', 'https://evil.example.com'],
    ] as const) {
      const wrong = new URL(returned)
      if (value === '') wrong.searchParams.delete(name)
      else wrong.searchParams.set(name, value)
      expect(await back(wrong, pending)).toMatchObject({ status: 401 })
    }
    expect(await back(returned, pending)).toMatchObject({ status: 303 })
  })

  it('when a code is used a second time, or the verifier is another one', async () => {
    const { pending, url } = await begin()
    const returned = await server.logIn(url)
    expect(await back(returned, pending)).toMatchObject({ status: 303 })
    expect(await back(returned, pending)).toMatchObject({ status: 401 })
    const second = await begin()
    const [state, nonce] = second.pending.split('.')
    const verifier = 'v'.repeat(43)
    const stolen = await back(await server.logIn(second.url), `${state}.${nonce}.${verifier}`)
    expect(stolen).toMatchObject({ status: 401 })
  })

  it('when the person refused at the provider', async () => {
    const { pending, url } = await begin()
    const { searchParams } = new URL(url)
    const refused = new URL(CALLBACK)
    refused.search = String(
      new URLSearchParams({
        error: 'access_denied',
        state: searchParams.get('state') ?? '',
        iss: server.issuer,
      }),
    )
    expect(await back(refused, pending)).toMatchObject({ status: 401 })
  })
})

describe('with OIDC alone', () => {
  beforeAll(() => {
    isOnly = true
  })
  afterAll(() => {
    isOnly = false
  })

  it('nobody logs in by a password, or sets one', async () => {
    const made = await admin('POST', '/users', { email: EMAIL, name: 'Ada', role: 'operator' })
    expect(await people.accept(made.body.invitation_url)).toMatchObject({ status: 403 })
    expect(await people.logIn(EMAIL)).toMatchObject({ status: 403 })
    expect(await logIn()).toMatchObject({ status: 303 })
  })
})
