/** docs/reference/people.md#a-higher-role */
import {
  inviteMemberAnswer,
  inviteUserAnswer,
  updateMemberAnswer,
  updateUserAnswer,
} from '@postrider/contract'
import { Check } from 'typebox/value'
import { describe, expect, it } from 'vitest'
import { cookieOf, type People, usePeople } from '../../../test/people.ts'
import { createClock } from '../../platform/clock.ts'
import { createApiKey } from '../../tenants/index.ts'

const people: People = usePeople()
const { accept, admin, ask, logIn, newPerson, ui } = people
const EMAIL = 'mallory@example.com'

/** A user who was invited by somebody, and has used the link. */
async function invited(
  by: { readonly cookie?: string; readonly token?: string },
  role = 'viewer',
): Promise<{ readonly userId: string; readonly cookie: string; readonly link: string }> {
  const { tenantId } = people.acme
  const body = { email: EMAIL, name: 'Mallory', role }
  const made =
    by.token === undefined
      ? await ui('POST', '/v1/members', { cookie: by.cookie, tenantId, body })
      : await ask('POST', '/v1/members', { token: by.token, body })
  expect(made.status).toBe(201)
  await accept(made.body.invitation_url)
  const link = made.body.invitation_url
  return { userId: made.body.member.user_id, cookie: cookieOf(await logIn(EMAIL)), link }
}

const isOpen = async (cookie: string) => (await ui('GET', '/ui/session', { cookie })).status === 200

describe('a user whom an owner invited', () => {
  it('loses password and sessions when the operator gives another tenant, and is invited anew', async () => {
    const owner = await newPerson('owner')
    const user = await invited(owner)
    const tenants = [people.acme.tenantId, people.other.tenantId]
    const raised = await admin('PUT', `/users/${user.userId}`, { tenants })
    expect(raised.status).toBe(200)
    expect(Check(updateUserAnswer, raised.body)).toBe(true)
    expect(raised.body.user).toMatchObject({ state: 'invited', tenants })
    expect(await isOpen(user.cookie)).toBe(false)
    expect(await logIn(EMAIL)).toMatchObject({ status: 401 })
    expect(await accept(user.link)).toMatchObject({ status: 404 })
    expect(await accept(raised.body.invitation_url)).toMatchObject({ status: 200 })
    expect(await logIn(EMAIL)).toMatchObject({ status: 201 })
    // The operator has the link now, and may give everything.
    const again = await admin('PUT', `/users/${user.userId}`, { role: 'operator' })
    expect(again.body).toMatchObject({ user: { role: 'operator', state: 'active' } })
    expect(again.body.invitation_url).toBeUndefined()
  })

  it('has a link that opens nothing any more, also when it was not used before', async () => {
    const owner = await newPerson('owner')
    const { tenantId } = people.acme
    const body = { email: EMAIL, name: 'Mallory', role: 'viewer' }
    const made = await ui('POST', '/v1/members', { cookie: owner.cookie, tenantId, body })
    const { user_id: userId } = made.body.member
    await admin('PUT', `/users/${userId}`, { role: 'operator' })
    expect(await accept(made.body.invitation_url)).toMatchObject({ status: 404 })
  })

  it('goes on with any role that the owner may give, and with less', async () => {
    const owner = await newPerson('owner')
    const user = await invited(owner)
    for (const body of [{ role: 'owner' }, { content: true }, { role: 'viewer' }, { name: 'M' }]) {
      const changed = await admin('PUT', `/users/${user.userId}`, body)
      expect(changed.status).toBe(200)
      expect(changed.body.invitation_url).toBeUndefined()
    }
    expect(await isOpen(user.cookie)).toBe(true)
  })

  it('is invited anew when an owner gives the content of mail, which the first one could not', async () => {
    const blind = await newPerson('owner', { content: false })
    const owner = await newPerson('owner')
    const user = await invited(blind)
    const { tenantId } = people.acme
    const change = { ...{ tenantId, cookie: owner.cookie }, body: { content: true } }
    const raised = await ui('PUT', `/v1/members/${user.userId}`, change)
    expect(raised.status).toBe(200)
    expect(Check(updateMemberAnswer, raised.body)).toBe(true)
    expect(raised.body).toMatchObject({
      member: { state: 'invited', content: true },
      invitation_url: expect.stringContaining('/app/invitation#'),
    })
    expect(await isOpen(user.cookie)).toBe(false)
  })
})

it('a user whom a key invited is invited anew for a role beyond the scopes of the key', async () => {
  const { apiKey } = await createApiKey(
    { db: people.db, clock: createClock() },
    people.acme.tenantId,
    { scopes: ['keys', 'read'] },
  )
  const user = await invited({ token: apiKey })
  const raised = await ask('PUT', `/v1/members/${user.userId}`, {
    ...{ token: people.acme.apiKey, body: { role: 'developer' } },
  })
  expect(raised.body.invitation_url).toContain('#')
  expect(await isOpen(user.cookie)).toBe(false)
})

describe('a new link', () => {
  it('of the operator ends password, sessions and earlier links of the user', async () => {
    const owner = await newPerson('owner')
    const user = await invited(owner)
    const made = await admin('POST', `/users/${user.userId}/invitation`)
    expect(made.status).toBe(201)
    expect(Check(inviteUserAnswer, made.body)).toBe(true)
    expect(made.body.user).toMatchObject({ user_id: user.userId, state: 'invited' })
    expect(await isOpen(user.cookie)).toBe(false)
    expect(await logIn(EMAIL)).toMatchObject({ status: 401 })
    const again = await admin('POST', `/users/${user.userId}/invitation`)
    expect(await accept(made.body.invitation_url)).toMatchObject({ status: 404 })
    expect(await accept(again.body.invitation_url)).toMatchObject({ status: 200 })
    expect(await logIn(EMAIL)).toMatchObject({ status: 201 })
    // The operator had the link, and may give everything.
    const raised = await admin('PUT', `/users/${user.userId}`, { role: 'operator' })
    expect(raised.body.invitation_url).toBeUndefined()
    expect((await admin('POST', '/users/user_unknown/invitation')).status).toBe(404)
  })

  it('of an owner is for a person of the tenant who has set no password yet', async () => {
    const owner = await newPerson('owner')
    const { tenantId } = people.acme
    const body = { email: EMAIL, name: 'Mallory', role: 'viewer' }
    const first = await ui('POST', '/v1/members', { cookie: owner.cookie, tenantId, body })
    const path = `/v1/members/${first.body.member.user_id}/invitation`
    const second = await ui('POST', path, { cookie: owner.cookie, tenantId })
    expect(second.status).toBe(201)
    expect(Check(inviteMemberAnswer, second.body)).toBe(true)
    expect(await ask('POST', path, { token: people.other.apiKey })).toMatchObject({ status: 404 })
    expect(await accept(first.body.invitation_url)).toMatchObject({ status: 404 })
    expect(await accept(second.body.invitation_url)).toMatchObject({ status: 200 })
    const refused = await ui('POST', path, { cookie: owner.cookie, tenantId })
    expect(refused).toMatchObject({ status: 409, body: { code: 'conflict' } })
    expect(await logIn(EMAIL)).toMatchObject({ status: 201 })
  })

  it('is made by nobody who may not give all rights of the user', async () => {
    const { tenantId } = people.acme
    const tenants = [tenantId, people.other.tenantId]
    const body = { email: EMAIL, name: 'Mallory', role: 'owner', tenants }
    const { user_id: userId } = (await admin('POST', '/users', body)).body.user
    const owner = await newPerson('owner')
    const path = `/v1/members/${userId}/invitation`
    expect(await ui('POST', path, { cookie: owner.cookie, tenantId })).toMatchObject({
      status: 403,
    })
    const blind = await newPerson('operator', { content: false })
    const refused = await ui('POST', `/admin/v1/users/${userId}/invitation`, {
      cookie: blind.cookie,
    })
    expect(refused).toMatchObject({ status: 403 })
  })
})

it('a key with networks or an expiry gives no role, and the refusal names these', async () => {
  const { apiKey } = await createApiKey(
    { db: people.db, clock: createClock() },
    people.acme.tenantId,
    { expires_at: '2999-01-01T00:00:00Z' },
  )
  const body = { email: EMAIL, name: 'Mallory', role: 'viewer' }
  const refused = await ask('POST', '/v1/members', { token: apiKey, body })
  expect(refused.status).toBe(403)
  expect(refused.body.message).toContain('networks or an expiry')
})

it('nobody gets the link of a user with rights that they may not give', async () => {
  // Invited by an operator without `content`, into two tenants.
  const operator = await newPerson('operator', { content: false })
  const tenants = [people.acme.tenantId, people.other.tenantId]
  const body = { email: EMAIL, name: 'Mallory', role: 'owner', tenants }
  const made = await ui('POST', '/admin/v1/users', { cookie: operator.cookie, body })
  expect(made.status).toBe(201)
  await accept(made.body.invitation_url)
  const { user_id: userId } = made.body.user
  const cookie = cookieOf(await logIn(EMAIL))
  const owner = await newPerson('owner')
  const { tenantId } = people.acme
  const change = { ...{ tenantId, cookie: owner.cookie }, body: { content: true } }
  const refused = await ui('PUT', `/v1/members/${userId}`, change)
  expect(refused).toMatchObject({ status: 403, body: { code: 'forbidden' } })
  expect(await isOpen(cookie)).toBe(true)
  const { body: after } = await admin('GET', `/users/${userId}`)
  expect(after.user).toMatchObject({ content: false, state: 'active' })
  const raised = await admin('PUT', `/users/${userId}`, { content: true })
  expect(raised.body.invitation_url).toContain('#')
})
