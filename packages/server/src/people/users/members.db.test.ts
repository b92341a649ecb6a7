/** [contract 7.1] An owner manages the members of its tenant, and nobody gives more than they have. */
import { createMemberAnswer, listMembersAnswer } from '@postrider/contract'
import { Check } from 'typebox/value'
import { describe, expect, it } from 'vitest'
import { type Asked, type Method, ORIGIN, usePeople } from '../../../test/people.ts'
import { inviteUser } from '../invitations/invitations.ts'

const people = usePeople()
const { accept, admin, ask, logIn, newPerson, ui } = people

const ada = (o: object = {}) => ({ email: 'ada@example.com', name: 'Ada', role: 'viewer', ...o })

async function owner(o: { readonly content?: boolean } = {}) {
  const person = await newPerson('owner', o)
  const { tenantId } = people.acme
  const call = (method: Method, path: string, asked: Asked = {}) =>
    ui(method, path, { cookie: person.cookie, tenantId, ...asked })
  return { ...person, call }
}

function invitationOf(userId: string): Promise<string> {
  return people.db.transaction((tx) => inviteUser(tx, { publicUrl: ORIGIN }, userId))
}

async function countWaiting(): Promise<number> {
  const { rows } = await people.db.query<{ readonly count: number }>(
    `select count(*)::int as count from pg_locks l join pg_database d on d.datname = current_database()
      where not l.granted and l.pid in (select pid from pg_stat_activity where datid = d.oid)`,
  )
  return rows[0]?.count ?? 0
}

async function keyWith(o: object): Promise<string> {
  const made = await ask('POST', '/v1/keys', {
    token: people.acme.apiKey,
    body: { name: 'Key', ...o },
  })
  return made.body.api_key
}

describe('members', () => {
  it('are invited by an owner, listed, changed and removed', async () => {
    const { call, userId } = await owner()
    const made = await call('POST', '/v1/members', { body: ada() })
    expect(made.status).toBe(201)
    expect(Check(createMemberAnswer, made.body)).toBe(true)
    expect(await accept(made.body.invitation_url)).toMatchObject({ status: 200 })
    expect(await logIn('ada@example.com')).toMatchObject({ status: 201, body: { role: 'viewer' } })
    const listed = await call('GET', '/v1/members')
    expect(Check(listMembersAnswer, listed.body)).toBe(true)
    expect(listed.body.members).toMatchObject([
      { email: 'ada@example.com', role: 'viewer', state: 'active' },
      { user_id: userId, role: 'owner' },
    ])
    const url = `/v1/members/${made.body.member.user_id}`
    const changed = await call('PUT', url, { body: { role: 'support' } })
    expect(changed.body.member).toMatchObject({ role: 'support', content: true })
    expect(await call('DELETE', url)).toMatchObject({ status: 200 })
    expect(await logIn('ada@example.com')).toMatchObject({ status: 401 })
    expect(await call('POST', '/v1/members', { body: ada() })).toMatchObject({ status: 201 })
  })

  it.each(['developer', 'support', 'viewer'])('are not for the role %s', async (role) => {
    const { cookie, userId } = await newPerson(role)
    const { tenantId } = people.acme
    for (const [method, path] of [
      ['GET', '/v1/members'],
      ['POST', '/v1/members'],
      ['PUT', `/v1/members/${userId}`],
      ['DELETE', `/v1/members/${userId}`],
    ] as const) {
      const body = method === 'GET' || method === 'DELETE' ? {} : { body: ada({ role: 'owner' }) }
      expect(await ui(method, path, { cookie, tenantId, ...body })).toMatchObject({ status: 403 })
    }
  })

  it('are never operators, and are refused by the field that is wrong', async () => {
    const { call, userId } = await owner()
    for (const role of ['operator', 'operator_viewer', 'king']) {
      expect(await call('POST', '/v1/members', { body: ada({ role }) })).toMatchObject({
        status: 400,
        body: { errors: [{ path: '/role' }] },
      })
      expect(await call('PUT', `/v1/members/${userId}`, { body: { role } })).toMatchObject({
        status: 400,
      })
    }
    for (const field of ['tenants', 'user_id', 'state'])
      expect(await call('POST', '/v1/members', { body: ada({ [field]: 'x' }) })).toMatchObject({
        status: 400,
        body: { errors: [{ path: `/${field}` }] },
      })
  })

  it('have an address that no user of the service has: 409', async () => {
    const { call } = await owner()
    const { email } = await newPerson('viewer', { tenants: [people.other.tenantId] })
    const refused = await call('POST', '/v1/members', { body: ada({ email }) })
    expect(refused).toMatchObject({ status: 409, body: { code: 'conflict' } })
  })

  it('of another tenant are not there, and neither are operators', async () => {
    const { call } = await owner()
    const stranger = await newPerson('viewer', { tenants: [people.other.tenantId] })
    const operator = await newPerson('operator')
    for (const { userId } of [stranger, operator, { userId: 'user_x' }]) {
      const url = `/v1/members/${userId}`
      expect(await call('PUT', url, { body: { role: 'viewer' } })).toMatchObject({ status: 404 })
      expect(await call('DELETE', url)).toMatchObject({ status: 404 })
    }
    const listed = await call('GET', '/v1/members')
    expect(listed.body.members).toHaveLength(1)
    const crossing = await call('GET', '/v1/members', { tenantId: people.other.tenantId })
    expect(crossing.status).toBe(403)
  })

  it('of two tenants have a role in each, which the other tenant neither sees nor changes', async () => {
    const { call } = await owner()
    const shared = await newPerson('developer', {
      tenants: [people.acme.tenantId, people.other.tenantId],
    })
    const url = `/v1/members/${shared.userId}`
    await call('PUT', url, { body: { role: 'viewer' } })
    const { body } = await admin('GET', `/users/${shared.userId}`)
    const roles = Object.fromEntries(
      body.user.memberships.map((one: { tenant_id: string; role: string }) => [
        one.tenant_id,
        one.role,
      ]),
    )
    expect(roles).toEqual({
      [people.acme.tenantId]: 'viewer',
      [people.other.tenantId]: 'developer',
    })
    const listed = await call('GET', '/v1/members')
    expect(JSON.stringify(listed.body)).not.toContain(people.other.tenantId)
    await call('DELETE', url)
    expect(await admin('GET', `/users/${shared.userId}`)).toMatchObject({
      body: { user: { tenants: [people.other.tenantId], role: 'developer' } },
    })
  })

  it('are in the audit log, by whom and of whom', async () => {
    const { call, userId } = await owner()
    const made = await call('POST', '/v1/members', { body: ada() })
    const { body } = await call('GET', '/v1/audit')
    expect(body.entries[0]).toMatchObject({
      actor: userId,
      operation: 'createMember',
      target: made.body.member.user_id,
      status: 201,
    })
  })
})

describe('changes of one person at once', () => {
  it('take turns, and none fails', async () => {
    const { call } = await owner()
    const statuses: number[] = []
    for (let round = 0; round < 5; round++) {
      const email = `round${round}@example.com`
      const made = await call('POST', '/v1/members', { body: ada({ email, role: 'owner' }) })
      const { user_id: userId } = made.body.member
      await accept(made.body.invitation_url)
      const [invitation, url] = [await invitationOf(userId), `/v1/members/${userId}`]
      const answers = await Promise.all([
        admin('PUT', `/users/${userId}`, { role: 'viewer', tenants: [people.acme.tenantId] }),
        call('PUT', url, { body: { role: 'support' } }),
        admin('DELETE', `/users/${userId}`),
        call('DELETE', url),
        accept(invitation),
        logIn(email),
      ])
      statuses.push(...answers.map(({ status }) => status))
    }
    expect(statuses.filter((status) => status >= 500)).toEqual([])
  })
})

describe('the last owner', () => {
  it('stays an owner: 409', async () => {
    const { call, userId } = await owner()
    // One who cannot log in yet does not count.
    await call('POST', '/v1/members', { body: ada({ role: 'owner' }) })
    const url = `/v1/members/${userId}`
    expect(await call('DELETE', url)).toMatchObject({ status: 409 })
    expect(await call('PUT', url, { body: { role: 'viewer' } })).toMatchObject({ status: 409 })
    expect(await call('PUT', url, { body: { content: false } })).toMatchObject({ status: 200 })
    await newPerson('owner')
    expect(await call('DELETE', url)).toMatchObject({ status: 200 })
  })

  it('stays when two owners remove each other at once', async () => {
    const [one, two] = [await owner(), await owner()]
    const removals: Promise<{ readonly status: number }>[] = []
    await people.db.transaction(async (tx) => {
      await tx.query('select from people_member for update')
      removals.push(one.call('DELETE', `/v1/members/${two.userId}`))
      removals.push(two.call('DELETE', `/v1/members/${one.userId}`))
      // Both wait by then, and go on together.
      await expect.poll(countWaiting, { timeout: 5_000 }).toBe(2)
    })
    const answers = await Promise.all(removals)
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    const { rows } = await people.db.query(`select from people_member where role = 'owner'`)
    expect(rows).toHaveLength(1)
  })

  it('is removed by the operator', async () => {
    const { userId } = await owner()
    const { tenantId } = people.acme
    const url = `/v1/members/${userId}`
    expect(await ask('DELETE', url, { token: 'the-operator', tenantId })).toMatchObject({
      status: 200,
    })
  })
})

describe('nobody gives more than they have', () => {
  it('an owner who may not read the content of mail does not give it', async () => {
    const { call, userId } = await owner({ content: false })
    for (const role of ['owner', 'support', 'viewer']) {
      const refused = await call('POST', '/v1/members', { body: ada({ role, content: true }) })
      expect(refused).toMatchObject({ status: 403, body: { code: 'forbidden' } })
    }
    const own = await call('PUT', `/v1/members/${userId}`, { body: { content: true } })
    expect(own).toMatchObject({ status: 403 })
    const again = await call('PUT', `/v1/members/${userId}`, { body: { role: 'owner' } })
    expect(again.body.member).toMatchObject({ content: false })
    const made = await call('POST', '/v1/members', { body: ada({ role: 'owner' }) })
    expect(made.body.member).toMatchObject({ role: 'owner', content: false })
  })

  it('a key with scopes gives roles within its scopes', async () => {
    const token = await keyWith({ scopes: ['keys', 'read'] })
    const create = (o: object) => ask('POST', '/v1/members', { token, body: ada(o) })
    for (const o of [{ role: 'owner' }, { role: 'developer' }, { role: 'viewer', content: true }])
      expect(await create(o)).toMatchObject({ status: 403 })
    // Support retries and suppresses, which of keys needs `send`.
    expect(await create({ role: 'support' })).toMatchObject({ status: 403 })
    const made = await create({ role: 'viewer' })
    expect(made).toMatchObject({ status: 201, body: { member: { content: false } } })
    const url = `/v1/members/${made.body.member.user_id}`
    for (const role of ['owner', 'support'])
      expect(await ask('PUT', url, { token, body: { role } })).toMatchObject({ status: 403 })
    const sender = await keyWith({ scopes: ['keys', 'read', 'send'] })
    const support = await ask('POST', '/v1/members', {
      ...{ token: sender, body: ada({ email: 'support@example.com', role: 'support' }) },
    })
    expect(support).toMatchObject({ status: 201, body: { member: { content: false } } })
  })

  it('a key that was revoked gives nothing, also where another process still believes it', async () => {
    const token = people.acme.apiKey
    await ask('GET', '/v1/keys', { token })
    await people.db.query('update tenants_api_key set revoked_at = now()')
    expect(await ask('GET', '/v1/keys', { token })).toMatchObject({ status: 200 })
    for (const [path, body] of [
      ['/v1/members', ada({ role: 'owner' })],
      ['/v1/keys', { name: 'Next' }],
    ] as const)
      expect(await ask('POST', path, { token, body })).toMatchObject({ status: 401 })
  })

  it.each([
    ['networks', { networks: ['192.0.2.0/24'] }],
    ['an expiry', { expires_at: '2099-01-01T00:00:00Z' }],
    ['all scopes by name', { scopes: ['send', 'webhooks', 'mailers', 'read', 'content', 'keys'] }],
  ])('a key with %s makes no owner', async (_, bounds) => {
    const token = await keyWith(bounds)
    const refused = await ask('POST', '/v1/members', { token, body: ada({ role: 'owner' }) })
    expect(refused).toMatchObject({ status: 403 })
  })

  it('a key without bounds makes an owner', async () => {
    const token = people.acme.apiKey
    const made = await ask('POST', '/v1/members', { token, body: ada({ role: 'owner' }) })
    expect(made).toMatchObject({ status: 201, body: { member: { content: true } } })
  })
})
