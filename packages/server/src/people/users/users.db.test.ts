/** [contract 7.1] Users over all tenants, and the links by which they set a password. */
import { createUserAnswer, listUsersAnswer } from '@postrider/contract'
import { Check } from 'typebox/value'
import { describe, expect, it } from 'vitest'
import { cookieOf, ORIGIN, PASSWORD, tokenOf, usePeople } from '../../../test/people.ts'
import { createLogger } from '../../platform/log.ts'
import { createSetupLink, inviteUser } from '../invitations/invitations.ts'
import { createPeopleJanitor } from '../janitor.ts'

const people = usePeople()
const { accept, admin, ask, logIn, newPerson } = people

const ada = (o: object = {}) => ({
  email: 'Ada@Example.com',
  name: 'Ada',
  role: 'viewer',
  tenants: [people.acme.tenantId],
  ...o,
})

describe('users', () => {
  it('are invited, and log in after they set a password', async () => {
    const made = await admin('POST', '/users', ada())
    expect(made.status).toBe(201)
    expect(Check(createUserAnswer, made.body)).toBe(true)
    expect(made.body.invitation_url).toMatch(`${ORIGIN}/app/invitation#`)
    expect(made.body.user).toMatchObject({
      email: 'ada@example.com',
      role: 'viewer',
      tenants: [people.acme.tenantId],
      content: false,
      state: 'invited',
    })
    expect(await logIn('ada@example.com')).toMatchObject({ status: 401 })
    const accepted = await accept(made.body.invitation_url)
    expect(accepted).toMatchObject({ status: 200, body: { user: { state: 'active' } } })
    expect(accepted.headers['set-cookie']).toBeUndefined()
    expect(await logIn('ADA@example.com')).toMatchObject({
      status: 201,
      body: { role: 'viewer', tenants: [{ tenant_id: people.acme.tenantId, name: 'Acme' }] },
    })
  })

  it.each([
    ['operator', true],
    ['operator_viewer', false],
    ['owner', true],
    ['developer', false],
    ['support', true],
    ['viewer', false],
  ])('with the role %s read the content of mail by default: %s', async (role, content) => {
    const tenants = role.startsWith('operator') ? [] : [people.acme.tenantId]
    const made = await admin('POST', '/users', ada({ role, tenants }))
    expect(made.body.user).toMatchObject({ role, content })
    const { user_id } = made.body.user
    const changed = await admin('PUT', `/users/${user_id}`, { content: !content })
    expect(changed.body.user).toMatchObject({ role, content: !content, tenants })
  })

  it('are refused by the field that is wrong', async () => {
    const { tenantId } = people.acme
    for (const [change, path] of [
      [{ email: 'ada' }, '/email'],
      [{ name: 'a\nb' }, '/name'],
      [{ role: 'king' }, '/role'],
      [{ tenants: [] }, '/tenants'],
      [{ tenants: [tenantId, 'tn_unknown'] }, '/tenants/1'],
      [{ role: 'operator' }, '/tenants'],
      [{ state: 'active' }, '/state'],
    ] as const) {
      const refused = await admin('POST', '/users', ada(change))
      expect([path, refused.status, refused.body.errors?.[0]?.path]).toEqual([path, 400, path])
    }
  })

  it('are refused by all fields that are wrong at once', async () => {
    const wrong = { email: 'not an address', name: 'a\nb', role: 'viewer', tenants: [] }
    const refused = await admin('POST', '/users', ada(wrong))
    expect(refused.body.errors.map((one: { path: string }) => one.path)).toEqual([
      '/email',
      '/name',
      '/tenants',
    ])
  })

  it('are not invited into a tenant that is being deleted, and keep the address free', async () => {
    const { acme, other } = people
    await admin('DELETE', `/tenants/${acme.tenantId}?confirm=Acme`)
    const errors = [{ path: '/tenants/0', message: `${acme.tenantId} is being deleted` }]
    expect(await admin('POST', '/users', ada())).toMatchObject({ status: 400, body: { errors } })
    const elsewhere = await admin('POST', '/users', ada({ tenants: [other.tenantId] }))
    expect(elsewhere.status).toBe(201)
    const { user_id } = elsewhere.body.user
    expect(await admin('PUT', `/users/${user_id}`, { tenants: [acme.tenantId] })).toMatchObject({
      status: 400,
      body: { errors },
    })
  })

  it('have an address that nobody else has: 409, whatever its case', async () => {
    await admin('POST', '/users', ada())
    const again = await admin('POST', '/users', ada({ email: 'ADA@example.com' }))
    expect(again).toMatchObject({ status: 409, body: { code: 'conflict' } })
  })

  it('are listed in pages, read, changed and deleted', async () => {
    for (const n of [1, 2, 3]) await admin('POST', '/users', ada({ email: `u${n}@example.com` }))
    const first = await admin('GET', '/users?pageSize=2')
    expect(Check(listUsersAnswer, first.body)).toBe(true)
    expect(first.body.users).toHaveLength(2)
    const next = await admin('GET', `/users?pageToken=${first.body.nextPageToken}`)
    expect(next.body.users).toMatchObject([{ email: 'u1@example.com' }])
    const { user_id } = next.body.users[0]
    const url = `/users/${user_id}`
    const { tenantId } = people.other
    const tenants = [people.acme.tenantId, tenantId].sort()
    const changed = await admin('PUT', url, { name: 'New', tenants })
    expect(changed.body.user).toMatchObject({ name: 'New', role: 'viewer', tenants })
    const raised = await admin('PUT', url, { role: 'operator' })
    expect(raised.body.user).toMatchObject({ role: 'operator', tenants: [], content: true })
    expect(await admin('PUT', url, { role: 'owner' })).toMatchObject({
      status: 400,
      body: { errors: [{ path: '/tenants' }] },
    })
    expect(await admin('DELETE', url)).toMatchObject({ status: 200 })
    for (const method of ['GET', 'PUT', 'DELETE'] as const)
      expect(await admin(method, url, method === 'PUT' ? {} : undefined)).toMatchObject({
        status: 404,
      })
  })

  it('lose their sessions with themselves, and their rights at once', async () => {
    const { userId, cookie } = await newPerson('owner')
    const members = () =>
      people.ui('GET', '/v1/members', { cookie, tenantId: people.acme.tenantId })
    expect(await members()).toMatchObject({ status: 200 })
    await admin('PUT', `/users/${userId}`, { role: 'viewer' })
    expect(await members()).toMatchObject({ status: 403 })
    await admin('DELETE', `/users/${userId}`)
    expect(await members()).toMatchObject({ status: 401 })
  })

  it('are not given the content of mail by an operator who may not read it', async () => {
    const { cookie } = await newPerson('operator', { content: false })
    const create = (o: object) =>
      people.ui('POST', '/admin/v1/users', { cookie, body: ada({ role: 'owner', ...o }) })
    expect(await create({ content: true })).toMatchObject({ status: 403 })
    expect(await create({})).toMatchObject({ status: 201, body: { user: { content: false } } })
    const url = `/admin/v1/tenants/${people.acme.tenantId}/keys`
    expect(await people.ui('POST', url, { cookie, body: {} })).toMatchObject({ status: 201 })
    const refused = await people.ui('POST', url, { cookie, body: { scopes: ['content'] } })
    expect(refused).toMatchObject({ status: 403, body: { errors: [{ path: '/scopes' }] } })
    const { userId } = await newPerson('support', { content: false })
    const change = (body: object) => people.ui('PUT', `/admin/v1/users/${userId}`, { cookie, body })
    expect(await change({ content: true })).toMatchObject({ status: 403 })
    expect(await change({ role: 'operator', content: true })).toMatchObject({ status: 403 })
    const tenants = [people.acme.tenantId, people.other.tenantId]
    const added = await change({ tenants })
    expect(added.body.user.memberships).toMatchObject([{ content: false }, { content: false }])
  })
})

describe('an invitation', () => {
  const invite = async () => (await admin('POST', '/users', ada())).body.invitation_url as string

  it('works once, also when it is used many times at once', async () => {
    const url = await invite()
    const answers = await Promise.all(Array.from({ length: 8 }, () => accept(url)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(7).fill(404)])
    expect(await accept(url)).toMatchObject({ status: 404, body: { code: 'not_found' } })
  })

  it('is not used up by a refused password', async () => {
    const url = await invite()
    for (const password of ['', 'eleven char', 'x'.repeat(257)])
      expect(await accept(url, { password })).toMatchObject({
        status: 400,
        body: { errors: [{ path: '/password' }] },
      })
    for (const field of ['email', 'name'])
      expect(await accept(url, { [field]: 'eve@example.com' })).toMatchObject({
        status: 400,
        body: { errors: [{ path: `/${field}` }] },
      })
    expect(await accept(url)).toMatchObject({ status: 200 })
  })

  it('expires after 7 days, and then the janitor deletes it', async () => {
    const url = await invite()
    await people.db.query(
      `update people_invitation set expires_at = expires_at - interval '7 days 1 second'`,
    )
    expect(await accept(url)).toMatchObject({ status: 404 })
    const janitor = createPeopleJanitor({ db: people.db, log: createLogger({ level: 'silent' }) })
    expect(await janitor.runOnce()).toBe(1)
  })

  it('ends when the user gets a newer one', async () => {
    const made = await admin('POST', '/users', ada())
    const newer = await people.db.transaction((tx) =>
      inviteUser(tx, { publicUrl: ORIGIN }, made.body.user.user_id),
    )
    expect(await accept(made.body.invitation_url)).toMatchObject({ status: 404 })
    expect(await accept(newer)).toMatchObject({ status: 200 })
  })

  it('is stored as a hash alone', async () => {
    const token = tokenOf(await invite())
    const { rows } = await people.db.query<{ row: string }>(
      'select i::text as row from people_invitation i',
    )
    expect(rows).toHaveLength(1)
    expect(rows[0]?.row).not.toContain(token)
  })

  it('is refused from a page of another origin, and guesses are counted', async () => {
    const url = await invite()
    const body = { token: tokenOf(url), password: PASSWORD }
    const headers = { origin: 'https://evil.example.com' }
    expect(await ask('POST', '/ui/invitation', { body, headers })).toMatchObject({ status: 403 })
    for (let n = 0; n < 30; n++) expect(await accept('#wrong')).toMatchObject({ status: 404 })
    expect(await accept('#wrong')).toMatchObject({ status: 429 })
    expect(await accept(url)).toMatchObject({ status: 200 })
  })
})

describe('the set-up link', () => {
  const link = () => createSetupLink({ db: people.db, publicUrl: ORIGIN })
  const first = { email: 'first@example.com', name: 'First' }

  it('makes the first user, an operator, and every other such link dies with that', async () => {
    const [url = '', another = ''] = [await link(), await link()]
    expect(url).toMatch(`${ORIGIN}/app/setup#`)
    for (const [body, path] of [
      [{ name: 'First' }, '/email'],
      [{ email: 'first@example.com' }, '/name'],
      [{ ...first, email: 'first' }, '/email'],
    ] as const)
      expect(await accept(url, body)).toMatchObject({ status: 400, body: { errors: [{ path }] } })
    expect(await accept(url, first)).toMatchObject({
      status: 200,
      body: { user: { role: 'operator', state: 'active', content: true } },
    })
    expect(await accept(another, { ...first, email: 'second@example.com' })).toMatchObject({
      status: 404,
    })
    expect(await link()).toBeUndefined()
    expect(cookieOf(await logIn('first@example.com'))).not.toBe('')
  })

  it('makes one user, when several links are used at once', async () => {
    const urls = await Promise.all([link(), link(), link(), link()])
    const answers = await Promise.all(
      urls.map((url, n) => accept(url ?? '', { ...first, email: `first${n}@example.com` })),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 404, 404, 404])
  })

  it('opens nothing once the operator has invited somebody', async () => {
    const url = (await link()) ?? ''
    await admin('POST', '/users', ada())
    expect(await accept(url, first)).toMatchObject({ status: 404 })
  })

  it('opens nothing for good once there was a user', async () => {
    const url = (await link()) ?? ''
    const made = await admin('POST', '/users', ada())
    await admin('DELETE', `/users/${made.body.user.user_id}`)
    expect(await accept(url, first)).toMatchObject({ status: 404 })
    expect(await link()).toBeDefined()
  })

  it('works for an hour', async () => {
    const url = (await link()) ?? ''
    await people.db.query(
      `update people_invitation set expires_at = expires_at - interval '1 hour 1 second'`,
    )
    expect(await accept(url, first)).toMatchObject({ status: 404 })
  })
})
