/** docs/reference/operator.md#audit-log: logins, invitations and ended sessions. */
import { listAuditAnswer, listAuditOfAllTenantsAnswer } from '@postrider/contract'
import { Check } from 'typebox/value'
import { describe, expect, it } from 'vitest'
import { cookieOf, usePeople } from '../../test/people.ts'

const people = usePeople()
const { admin, ask, logIn, newPerson, ui } = people
const WRONG = { password: 'a wrong password' }

async function entriesOf(token: string) {
  const { body } = await ask('GET', '/v1/audit', { token })
  expect(Check(listAuditAnswer, body)).toBe(true)
  return body.entries
}

async function operatorsEntries() {
  const { body } = await admin('GET', '/audit')
  expect(Check(listAuditOfAllTenantsAnswer, body)).toBe(true)
  return body.entries
}

const failures = async () =>
  (await operatorsEntries()).filter((one: { actor: string }) => one.actor === 'nobody')

describe('the audit log', () => {
  it('has an accepted invitation and a login, in each tenant of the user and with the address', async () => {
    const tenants = [people.acme.tenantId, people.other.tenantId]
    const { email, userId } = await newPerson('developer', { tenants, accepts: true })
    const { body } = await logIn(email, { from: '198.51.100.9' })
    for (const { apiKey } of [people.acme, people.other])
      expect(await entriesOf(apiKey)).toMatchObject([
        {
          ...{ actor: userId, operation: 'createSession', target: body.session_id, status: 201 },
          from: '198.51.100.9',
        },
        { operation: 'createSession', from: '192.0.2.7' },
        { actor: userId, operation: 'acceptInvitation', target: userId, status: 200 },
      ])
  })

  it('has the login of an operator for the operator alone', async () => {
    const { userId } = await newPerson('operator', { accepts: true })
    expect((await operatorsEntries()).slice(0, 2)).toMatchObject([
      { actor: userId, operation: 'createSession', tenant_id: null },
      { actor: userId, operation: 'acceptInvitation', tenant_id: null },
    ])
    expect(await entriesOf(people.acme.apiKey)).toEqual([])
  })

  it('has the end of another session, and none of a session that is not found', async () => {
    const { cookie, email, userId } = await newPerson('viewer')
    const { body } = await logIn(email)
    const url = `/ui/sessions/${body.session_id}`
    for (const status of [200, 404])
      expect(await ui('DELETE', url, { cookie })).toMatchObject({ status })
    const ended = (await entriesOf(people.acme.apiKey)).filter(
      (one: { operation: string }) => one.operation === 'revokeSession',
    )
    expect(ended).toMatchObject([{ actor: userId, target: body.session_id, status: 200 }])
  })

  it('has failed logins of a user once an hour, and none to an address that no user has', async () => {
    const { email, userId } = await newPerson('viewer')
    const other = await newPerson('viewer')
    await logIn('nobody@example.com', WRONG)
    for (let i = 0; i < 5; i += 1)
      expect(await logIn(email, { ...WRONG, from: `198.51.100.${i}` })).toMatchObject({
        status: 401,
      })
    await logIn(other.email, WRONG)
    await expect.poll(async () => (await failures()).length).toBe(2)
    expect((await failures())[1]).toMatchObject({
      ...{ actor: 'nobody', operation: 'createSession', target: userId, status: 401 },
      ...{ tenant_id: people.acme.tenantId, from: expect.stringMatching(/^198\.51\.100\.\d$/) },
    })
    await people.db.query(
      `update people_user set login_failure_noted_at = now() - interval '61 minutes'
        where user_id = $1`,
      [userId],
    )
    await logIn(email, WRONG)
    await expect.poll(async () => (await failures()).length).toBe(3)
    // A login that succeeds does not begin a new hour.
    expect(cookieOf(await logIn(email))).not.toBe('')
    await logIn(email, WRONG)
    await logIn(other.email, WRONG)
    // What is recorded after them tells that they were not.
    await logIn((await newPerson('viewer')).email, WRONG)
    await expect.poll(async () => (await failures()).length).toBe(4)
    const targets = (await failures()).map((one: { target: string }) => one.target)
    expect(targets.slice(1)).toEqual([userId, other.userId, userId])
  })
})
