/** [contract 7.1] Logging in, and calls by a session. */
import { setTimeout } from 'node:timers/promises'
import { createSessionAnswer, getSessionAnswer, listSessionsAnswer } from '@postrider/contract'
import { Check } from 'typebox/value'
import { describe, expect, it } from 'vitest'
import {
  COOKIE,
  cookieOf,
  ORIGIN,
  PASSWORD,
  submissionOfTests,
  usePeople,
} from '../../../test/people.ts'
import { createLogger } from '../../platform/log.ts'
import { createPeopleJanitor } from '../janitor.ts'
import { createSessionFinder } from './find-session.ts'

const people = usePeople()
const { accept, ask, logIn, newPerson, ui } = people

const email = 'grace@example.com'
const WRONG = { password: 'a wrong password' }

describe('a session', () => {
  it('begins with a cookie that no script reads, and tells who it is', async () => {
    const person = await newPerson('owner')
    const answered = await logIn(person.email)
    expect(answered.status).toBe(201)
    expect(Check(createSessionAnswer, answered.body)).toBe(true)
    expect(answered.headers['set-cookie']).toMatch(
      /^__Host-postrider_session=[0-9A-Za-z]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=1209600; Secure$/,
    )
    const told = await ui('GET', '/ui/session', { cookie: cookieOf(answered) })
    expect(Check(getSessionAnswer, told.body)).toBe(true)
    expect(told.body).toMatchObject({ role: 'owner', user: { email: person.email } })
    expect(told.body.submission).toEqual(submissionOfTests)
    expect(JSON.stringify(told.body)).not.toContain(cookieOf(answered))
  })

  it('ends with the logout, for its cookie alone', async () => {
    const { email, cookie } = await newPerson('viewer')
    const second = cookieOf(await logIn(email))
    const ended = await ui('DELETE', '/ui/session', { cookie })
    expect(ended.status).toBe(200)
    expect(ended.headers['set-cookie']).toMatch(/^__Host-postrider_session=; .*Max-Age=0/)
    expect(await ui('GET', '/ui/session', { cookie })).toMatchObject({ status: 401 })
    expect(await ui('GET', '/ui/session', { cookie: second })).toMatchObject({ status: 200 })
  })

  it('is listed with the others of the user, who ends any of them and nobody else does', async () => {
    const { email, cookie } = await newPerson('viewer')
    const stranger = await newPerson('operator')
    const second = cookieOf(await logIn(email, { headers: { 'user-agent': 'Lynx' } }))
    const listed = await ui('GET', '/ui/sessions', { cookie })
    expect(Check(listSessionsAnswer, listed.body)).toBe(true)
    expect(listed.body.sessions).toMatchObject([
      { current: false, ip: '192.0.2.7', user_agent: 'Lynx' },
      { current: true },
    ])
    const url = `/ui/sessions/${listed.body.sessions[0].session_id}`
    expect(await ui('DELETE', url, { cookie: stranger.cookie })).toMatchObject({ status: 404 })
    expect(await ui('DELETE', url, { cookie })).toMatchObject({ status: 200 })
    expect(await ui('DELETE', url, { cookie })).toMatchObject({ status: 404 })
    expect(await ui('GET', '/ui/session', { cookie: second })).toMatchObject({ status: 401 })
  })

  it.each([
    ['after 12 hours without use', `last_used_at = now() - interval '12 hours 1 second'`],
    ['14 days after the login', `created_at = now() - interval '14 days 1 second'`],
  ])('ends %s, and then the janitor deletes it', async (_, change) => {
    const { cookie } = await newPerson('viewer')
    await people.db.query(`update people_session set ${change}`)
    expect(await ui('GET', '/ui/session', { cookie })).toMatchObject({ status: 401 })
    const janitor = createPeopleJanitor({ db: people.db, log: createLogger({ level: 'silent' }) })
    expect(await janitor.runOnce()).toBe(1)
  })

  it('goes on while it is used', async () => {
    const { cookie } = await newPerson('viewer')
    await people.db.query(`update people_session set last_used_at = now() - interval '11 hours'`)
    expect(await ui('GET', '/ui/session', { cookie })).toMatchObject({ status: 200 })
    await expect
      .poll(async () => {
        const { rows } = await people.db.query(
          `select from people_session where last_used_at > now() - interval '1 minute'`,
        )
        return rows.length
      })
      .toBe(1)
  })

  it('does not go on by an open stream, which only asks whether it is still there', async () => {
    const { cookie } = await newPerson('viewer')
    await people.db.query(`update people_session set last_used_at = now() - interval '11 hours'`)
    const { find } = createSessionFinder(people)
    expect(await find(cookie, () => '', false)).toMatchObject({ memberships: [{ role: 'viewer' }] })
    await setTimeout(200)
    const { rows } = await people.db.query(
      `select from people_session where last_used_at > now() - interval '10 hours'`,
    )
    expect(rows).toEqual([])
  })

  it('is one of 50 of a user: the oldest ends when there are more', async () => {
    const { userId, email, cookie } = await newPerson('viewer')
    await people.db.query(
      `insert into people_session (session_id, user_id, token_hash, ip, user_agent)
       select 'ses_Z' || n, $1, sha256(n::text::bytea), '', '' from generate_series(1, 49) n`,
      [userId],
    )
    await logIn(email)
    expect(await ui('GET', '/ui/session', { cookie })).toMatchObject({ status: 401 })
  })

  it('never has the token that came with the login, and ends the session of that token', async () => {
    const { email, cookie } = await newPerson('viewer')
    const planted = 'A'.repeat(43)
    expect(cookieOf(await logIn(email, { cookie: planted }))).not.toBe(planted)
    expect(await ui('GET', '/ui/session', { cookie: planted })).toMatchObject({ status: 401 })
    const next = cookieOf(await logIn(email, { cookie }))
    expect(await ui('GET', '/ui/session', { cookie })).toMatchObject({ status: 401 })
    expect(await ui('GET', '/ui/session', { cookie: next })).toMatchObject({ status: 200 })
  })

  it('is stored as a hash alone, and so is the password', async () => {
    const { cookie } = await newPerson('viewer', { accepts: true })
    const { rows } = await people.db.query<{ row: string }>(
      `select s::text as row from people_session s union all select u::text from people_user u`,
    )
    const stored = JSON.stringify(rows)
    expect(stored).toContain('scrypt$32768$8$3$')
    expect(stored).not.toContain(cookie)
    expect(stored).not.toContain(PASSWORD)
  })

  it('ends when the user sets a new password', async () => {
    const { userId, cookie } = await newPerson('viewer')
    const { inviteUser } = await import('../invitations/invitations.ts')
    const url = await people.db.transaction((tx) => inviteUser(tx, { publicUrl: ORIGIN }, userId))
    expect(await people.accept(url)).toMatchObject({ status: 200 })
    expect(await ui('GET', '/ui/session', { cookie })).toMatchObject({ status: 401 })
  })

  it('never begins with a password that is being replaced', async () => {
    const { userId, email } = await newPerson('viewer')
    const { inviteUser } = await import('../invitations/invitations.ts')
    const invite = () =>
      people.db.transaction((tx) => inviteUser(tx, { publicUrl: ORIGIN }, userId))
    let password = PASSWORD
    const alive: number[] = []
    for (let n = 0; n < 6; n++) {
      const [url, next] = [await invite(), `${PASSWORD} ${n}`]
      const accepting = accept(url, { password: next })
      await setTimeout(n * 30)
      const login = await logIn(email, { password, from: `198.51.100.${n}` })
      expect(await accepting).toMatchObject({ status: 200 })
      const told = await ui('GET', '/ui/session', { cookie: cookieOf(login) })
      alive.push(told.status)
      password = next
    }
    expect(alive).toEqual(Array(6).fill(401))
  })

  it('ends when its cookie is given twice, as nobody knows which is right', async () => {
    const { cookie } = await newPerson('viewer')
    const headers = { cookie: `${COOKIE}=x; ${COOKIE}=${cookie}` }
    expect(await ask('GET', '/ui/session', { headers })).toMatchObject({ status: 401 })
  })
})

describe('calls by a session', () => {
  const suppressions = '/v1/suppressions'
  const body = { email: 'ada@example.com' }

  it('reach the operations under /ui/api, for the tenant in the header', async () => {
    const { cookie } = await newPerson('developer')
    const { tenantId } = people.acme
    expect(await ui('GET', suppressions, { cookie, tenantId })).toMatchObject({ status: 200 })
    expect(await ui('POST', '/v1/email/unsubscribe', { cookie, tenantId, body })).toMatchObject({
      status: 200,
    })
    const listed = await ui('GET', suppressions, { cookie, tenantId })
    expect(listed.body.suppressions).toMatchObject([body])
  })

  it('open nothing in a tenant of others, and say the same of one that is not there', async () => {
    const { cookie } = await newPerson('owner')
    for (const tenantId of [people.other.tenantId, 'tn_01ARZ3NDEKTSV4RRFFQ69G5FAV'])
      expect(await ui('GET', suppressions, { cookie, tenantId })).toMatchObject({ status: 403 })
    for (const tenantId of [undefined, '', 'x', `${people.acme.tenantId}, ${people.acme.tenantId}`])
      expect(
        await ui('GET', suppressions, { cookie, ...(tenantId !== undefined && { tenantId }) }),
      ).toMatchObject({ status: 400, body: { errors: [{ path: '/X-Postrider-Tenant' }] } })
  })

  it('tell which of the tenants are suspended', async () => {
    const { acme, other, admin } = people
    const { cookie } = await newPerson('owner', { tenants: [acme.tenantId, other.tenantId] })
    await admin('PUT', `/tenants/${acme.tenantId}`, { state: 'suspended' })
    const told = await ui('GET', '/ui/session', { cookie })
    expect(Check(getSessionAnswer, told.body)).toBe(true)
    const states = told.body.tenants.map((one: Record<string, string>) => [
      one.tenant_id,
      one.state,
    ])
    expect(new Map(states)).toEqual(
      new Map([
        [acme.tenantId, 'suspended'],
        [other.tenantId, 'active'],
      ]),
    )
  })

  it('open nothing in a tenant from the moment on in which its deletion begins', async () => {
    const { acme, other, admin } = people
    const { cookie } = await newPerson('owner', { tenants: [acme.tenantId, other.tenantId] })
    const deleted = await admin('DELETE', `/tenants/${acme.tenantId}?confirm=Acme`)
    expect(deleted.status).toBeLessThan(300)
    const call = (tenantId: string) => ui('GET', suppressions, { cookie, tenantId })
    expect(await call(acme.tenantId)).toMatchObject({ status: 403 })
    expect(await call(other.tenantId)).toMatchObject({ status: 200 })
    const told = await ui('GET', '/ui/session', { cookie })
    expect(told.body.tenants).toMatchObject([{ tenant_id: other.tenantId }])
  })

  it('of an operator open every tenant; one that is not there is 404', async () => {
    const { cookie } = await newPerson('operator_viewer')
    const { tenantId } = people.other
    expect(await ui('GET', suppressions, { cookie, tenantId })).toMatchObject({ status: 200 })
    expect(await ui('GET', '/admin/v1/tenants', { cookie })).toMatchObject({ status: 200 })
    const unknown = 'tn_01ARZ3NDEKTSV4RRFFQ69G5FAV'
    expect(await ui('GET', suppressions, { cookie, tenantId: unknown })).toMatchObject({
      status: 404,
    })
    for (const [method, path] of [
      ['POST', '/admin/v1/tenants'],
      ['POST', '/v1/email/unsubscribe'],
    ] as const)
      expect(await ui(method, path, { cookie, tenantId, body: {} })).toMatchObject({ status: 403 })
  })

  it('need the cookie there and the key elsewhere, never the other', async () => {
    const { cookie } = await newPerson('owner')
    const { apiKey: token, tenantId } = people.acme
    for (const asked of [
      await ask('GET', suppressions, { cookie, tenantId }),
      await ask('GET', '/admin/v1/tenants', { cookie, tenantId }),
      await ask('GET', `/ui/api${suppressions}`, { token, tenantId }),
      await ask('GET', `/ui/api${suppressions}`, { token: 'the-operator', tenantId }),
      await ask('GET', '/ui/api/admin/v1/tenants', { token: 'the-operator' }),
      await ask('GET', '/ui/session', { token }),
      await ask('GET', '/ui/sessions', { token: 'the-operator' }),
    ])
      expect(asked).toMatchObject({ status: 401, body: { code: 'unauthorized' } })
    expect(await ask('GET', suppressions, { token })).toMatchObject({ status: 200 })
  })

  it.each([
    '/ui/api',
    '/ui/api/',
    '/ui/api//v1/suppressions',
    '/ui/api/ui/api/v1/suppressions',
    '/ui/api/ui/session',
    '/ui/api/healthz',
    '/ui/apiv1/suppressions',
    '/ui/%61pi/v1/suppressions',
    '/ui/api/%76%31/suppressions',
    '/ui/api/v1/nothing',
  ])('are not found at %s', async (path) => {
    const { cookie } = await newPerson('owner')
    const { tenantId } = people.acme
    expect(await ask('GET', path, { cookie, tenantId })).toMatchObject({ status: 404 })
  })

  it('that change something need the header and the origin of the dashboard', async () => {
    const { cookie } = await newPerson('owner')
    const call = (headers: Record<string, string>) =>
      ask('POST', '/ui/api/v1/email/unsubscribe', {
        ...{ cookie, body, headers },
        tenantId: people.acme.tenantId,
      })
    const session = { 'x-postrider-session': '1' }
    for (const headers of [
      {},
      session,
      { origin: ORIGIN },
      { ...session, origin: 'null' },
      { ...session, origin: '' },
      { ...session, origin: 'https://mail.example.com.evil.test' },
      { ...session, origin: 'https://mail.example.com:8443' },
      { ...session, origin: 'http://mail.example.com' },
      { ...session, origin: 'https://evil.test', referer: `${ORIGIN}/app` },
      { 'x-postrider-session': 'true', origin: ORIGIN },
      { 'x-postrider-session': '1, 1', origin: ORIGIN },
    ])
      expect([headers, (await call(headers)).status]).toEqual([headers, 403])
    expect(await call({ ...session, origin: ORIGIN })).toMatchObject({ status: 200 })
    for (const path of ['/ui/session', '/ui/sessions/ses_x'])
      expect(await ask('DELETE', path, { cookie })).toMatchObject({ status: 403 })
  })

  it('are refused with 401 and 403 before 400, 404 and 415', async () => {
    const { cookie } = await newPerson('viewer')
    const { tenantId } = people.acme
    const bad = { body: { nonsense: true }, headers: { 'content-type': 'text/plain' } }
    for (const path of ['/v1/email/unsubscribe?nonsense=1', '/v1/keys', '/admin/v1/users']) {
      expect(await ui('POST', path, { ...bad, tenantId })).toMatchObject({ status: 401 })
      expect(await ui('POST', path, { ...bad, cookie, tenantId })).toMatchObject({ status: 403 })
      expect(await ui('POST', path, { ...bad, cookie })).toMatchObject({ status: 403 })
    }
    expect(await ui('DELETE', '/v1/members/x', { cookie, tenantId })).toMatchObject({ status: 403 })
  })

  it('are in the audit log with the user as the actor', async () => {
    const owner = await newPerson('owner')
    const operator = await newPerson('operator')
    await people.db.query('delete from tenants_audit_entry')
    const { tenantId } = people.acme
    for (const { cookie } of [owner, operator])
      await ui('POST', '/v1/email/unsubscribe', { cookie, tenantId, body })
    await ui('POST', '/admin/v1/tenants', { cookie: operator.cookie, body: { name: 'New' } })
    await ui('GET', '/v1/suppressions', { cookie: owner.cookie, tenantId })
    const own = await ui('GET', '/v1/audit', { cookie: owner.cookie, tenantId })
    expect(own.body.entries).toMatchObject([
      { actor: operator.userId, operation: 'unsubscribeEmail', status: 200, from: '192.0.2.7' },
      { actor: owner.userId, operation: 'unsubscribeEmail', status: 200 },
    ])
    const all = await people.admin('GET', '/audit')
    expect(all.body.entries[0]).toMatchObject({
      actor: operator.userId,
      operation: 'createTenant',
      tenant_id: null,
    })
  })

  it('make keys of at most what the role allows', async () => {
    const { cookie } = await newPerson('owner', { content: false })
    const create = (o: object) =>
      ui('POST', '/v1/keys', {
        cookie,
        tenantId: people.acme.tenantId,
        body: { name: 'Key', ...o },
      })
    expect(await create({ scopes: ['content'] })).toMatchObject({ status: 403 })
    expect(await create({ scopes: [] })).toMatchObject({ status: 400 })
    const made = await create({})
    expect(made.body.key.scopes).not.toContain('content')
    const reader = await newPerson('owner')
    const all = await ui('POST', '/v1/keys', {
      cookie: reader.cookie,
      tenantId: people.acme.tenantId,
      body: { name: 'Key' },
    })
    expect(all.body.key.scopes).toEqual([])
  })
})

describe('logins', () => {
  it('are refused in the same words for a wrong password and an unknown address', async () => {
    const { email: known } = await newPerson('viewer')
    const [wrong, unknown] = [await logIn(known, WRONG), await logIn(email, WRONG)]
    for (const { status, body } of [wrong, unknown])
      expect({ status, message: body.message }).toEqual({
        status: 401,
        message: 'The address or the password is wrong',
      })
  })

  it('take the same work for an unknown address and for a user without a password', async () => {
    const known = 'ann@example.com'
    const made = await people.admin('POST', '/users', {
      email: known,
      name: 'Ann',
      role: 'operator',
    })
    await accept(made.body.invitation_url)
    const invited = { email, name: 'Grace', role: 'operator' }
    await people.admin('POST', '/users', invited)
    const quickest = async (address: string) => {
      const times: number[] = []
      for (let n = 0; n < 3; n++) {
        const begun = performance.now()
        expect(await logIn(address, WRONG)).toMatchObject({ status: 401 })
        times.push(performance.now() - begun)
      }
      return Math.min(...times)
    }
    const wrong = await quickest(known)
    for (const address of ['nobody@example.com', invited.email])
      expect((await quickest(address)) / wrong).toBeGreaterThan(0.3)
  })

  it('are refused from a page of another origin', async () => {
    const { email } = await newPerson('viewer')
    for (const origin of ['https://evil.test', 'null', ''])
      expect(await logIn(email, { headers: { origin } })).toMatchObject({ status: 403 })
    expect(await logIn(email, { headers: { origin: ORIGIN } })).toMatchObject({ status: 201 })
  })

  it('take JSON alone, so that no form logs somebody in', async () => {
    const { email } = await newPerson('viewer')
    const headers = { 'content-type': 'text/plain' }
    expect(await logIn(email, { headers })).toMatchObject({ status: 415 })
  })

  it('fail ten times for an account from one network, then they are 429, the right one too', async () => {
    const { email } = await newPerson('viewer')
    const from = '198.51.100.1'
    const answers = await Promise.all(
      Array.from({ length: 14 }, () => logIn(email, { ...WRONG, from })),
    )
    const statuses = answers.map(({ status }) => status)
    expect(statuses.filter((status) => status === 401)).toHaveLength(10)
    const refused = await logIn(email, { from })
    expect(refused).toMatchObject({ status: 429, body: { code: 'rate_limited' } })
    expect(Number(refused.headers['retry-after'])).toBeLessThanOrEqual(900)
    // Another network of attackers.
    expect(await logIn(email, { from: '198.51.100.2' })).toMatchObject({ status: 429 })
  })

  it('fail ten times from the usual network, too, and lock nobody out elsewhere then', async () => {
    const { email } = await newPerson('viewer')
    for (let n = 0; n < 10; n++) expect(await logIn(email, WRONG)).toMatchObject({ status: 401 })
    expect(await logIn(email)).toMatchObject({ status: 429 })
    expect(await logIn(email, { from: '198.51.100.1' })).toMatchObject({ status: 201 })
  })

  it('of others lock nobody out of the usual network, and end no open session', async () => {
    const { email, cookie } = await newPerson('viewer')
    for (let n = 0; n < 11; n++) await logIn(email, { ...WRONG, from: `198.51.100.${n}` })
    expect(await logIn(email, { from: '198.51.100.99' })).toMatchObject({ status: 429 })
    expect(await logIn(email)).toMatchObject({ status: 201 })
    expect(await ui('GET', '/ui/session', { cookie, from: '198.51.100.1' })).toMatchObject({
      status: 200,
    })
  })

  it('fail 30 times from an address, whatever the accounts, then they are 429', async () => {
    const { email } = await newPerson('viewer')
    // Three of them are unknown, which costs as much as any login.
    await people.db.query(
      `insert into people_user (user_id, email, name, password_hash, activated_at)
       select 'user_' || n, n || '@example.com', '', 'scrypt$2$1$1$AA$AA', now() from generate_series(3, 29) n`,
    )
    for (let n = 0; n < 30; n++)
      expect(await logIn(`${n}@example.com`, WRONG)).toMatchObject({ status: 401 })
    expect(await logIn(email)).toMatchObject({ status: 429 })
    expect(await logIn(email, { from: '198.51.100.1' })).toMatchObject({ status: 201 })
  })

  it('wait in a bounded number, from however many networks they come', async () => {
    const { email, userId } = await newPerson('viewer')
    // A hash that costs nothing, so that the test takes no minute.
    await people.db.query(
      `update people_user set password_hash = 'scrypt$2$1$1$AA$AA' where user_id = $1`,
      [userId],
    )
    const answers = await Promise.all(
      Array.from({ length: 400 }, (_, n) =>
        logIn(email, { ...WRONG, from: `198.51.${n % 200}.${Math.floor(n / 200)}` }),
      ),
    )
    const full = answers.filter(({ headers }) =>
      String(headers['ratelimit-policy']).includes('"password-hashes"'),
    )
    expect(full.length).toBeGreaterThan(100)
    expect(full[0]).toMatchObject({ status: 429, headers: { 'retry-after': '1' } })
    expect(await ui('POST', '/ui/session', { body: { email, password: 'x' } })).toMatchObject({
      status: 401,
    })
  })

  it('that succeed do not count as failures', async () => {
    const { email } = await newPerson('viewer')
    for (let n = 0; n < 12; n++) expect(await logIn(email)).toMatchObject({ status: 201 })
  })
})
