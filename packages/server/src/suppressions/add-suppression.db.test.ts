import {
  addSuppressionAnswer,
  deleteSuppressionAnswer,
  getSuppressionAnswer,
  listSuppressionsAnswer,
  unsubscribeEmailAnswer,
} from '@postrider/contract'
import { describe, expect, it } from 'vitest'
import { type Key, useOperations } from '../../test/operations.ts'
import { silent } from '../../test/sending.ts'
import { createFileLimits } from './create.ts'
import { createExpiryJanitor } from './expiry-janitor.ts'
import { findSuppressed } from './index.ts'
import { suppressionRoutes } from './routes.ts'
import { suppressAddress } from './suppress-address.ts'

const api = useOperations({
  routes: (app, deps) => suppressionRoutes(app, { ...deps, ...createFileLimits() }),
  table: 'suppressions_address',
  answers: {
    addSuppression: addSuppressionAnswer,
    deleteSuppression: deleteSuppressionAnswer,
    getSuppression: getSuppressionAnswer,
    listSuppressions: listSuppressionsAnswer,
    unsubscribeEmail: unsubscribeEmailAnswer,
  },
})
const { call } = api
const ada = 'ada@example.com'
const TOMORROW = new Date(Date.now() + 86_400_000).toISOString()
const NEXT_WEEK = new Date(Date.now() + 7 * 86_400_000).toISOString()

const add = (body: object, key: Key = 'a') =>
  call('addSuppression', { body: { email: ada, ...body }, key })
const added = async (body: object) => (await add(body)).body.suppression
const get = () => call('getSuppression', { params: { email: ada } })
const isSuppressed = async (address = ada) =>
  (await findSuppressed(api.db, [{ tenantId: 'tn_a', address }]))[0]
/** As if so much time had passed. */
const end = (email = ada) =>
  api.db.query(
    `update suppressions_address set expires_at = now() - interval '1 s' where email = $1`,
    [email],
  )

describe('[contract 7.3] addSuppression', () => {
  it('suppresses an address with all that it is given', async () => {
    const note = 'Asked by telephone; “please”'
    const body = { email: 'Ada@Exämple.com', reason: 'complained', note, expires_at: TOMORROW }
    const suppression = {
      email: 'Ada@Exämple.com',
      reason: 'complained',
      source: { key_id: 'key_a' },
      note,
      created_at: expect.stringMatching(/Z$/),
      expires_at: TOMORROW,
    }
    expect(await add(body)).toMatchObject({ status: 201, body: { success: true, suppression } })
    expect(await isSuppressed('ada@xn--exmple-cua.com')).toBe(true)
    const { body: listed } = await call('listSuppressions')
    expect(listed.suppressions).toEqual([suppression])
  })

  it('is manual and for good when nothing else is said', async () => {
    const plain = { reason: 'manual', note: null, expires_at: null }
    expect(await added({})).toMatchObject(plain)
    expect(await added({ reason: null, note: null, expires_at: null })).toMatchObject(plain)
    expect(await added({ note: '' })).toMatchObject(plain)
  })

  it('names the user where a session asks', async () => {
    const { sourceOfCaller } = await import('./source-of-caller.ts')
    expect(sourceOfCaller('user_01JD4M8W6ZQ3V5T7X9Y2A4C6E8')).toEqual({
      user_id: 'user_01JD4M8W6ZQ3V5T7X9Y2A4C6E8',
    })
  })

  it('keeps the stronger of two reasons with its note, and the later of two ends', async () => {
    const first = await added({ reason: 'unsubscribed', note: 'first', expires_at: TOMORROW })
    const weaker = await added({ reason: 'manual', note: 'second', expires_at: NEXT_WEEK })
    expect(weaker).toEqual({ ...first, expires_at: NEXT_WEEK })
    const stronger = await added({ reason: 'complained', note: 'third', expires_at: TOMORROW })
    expect(stronger).toEqual({ ...weaker, reason: 'complained', note: 'third' })
    expect(await added({ reason: 'bounced' })).toEqual({ ...stronger, expires_at: null })
    expect(await added({ reason: 'bounced', expires_at: TOMORROW })).toMatchObject({
      expires_at: null,
    })
  })

  it('says whether it has changed anything', async () => {
    const answer = async (body: object) => (await add(body)).body
    const isAdded = { message: 'Suppression Added', changed: true }
    const stays = { message: 'Suppression Stays As It Is', changed: false }
    expect(await answer({ reason: 'unsubscribed', expires_at: TOMORROW })).toMatchObject(isAdded)
    expect(await answer({ expires_at: TOMORROW })).toMatchObject(stays)
    expect(await answer({ expires_at: NEXT_WEEK })).toMatchObject(isAdded)
    expect(await answer({ reason: 'bounced', expires_at: TOMORROW })).toMatchObject(stays)
    expect(await answer({ reason: 'unsubscribed' })).toMatchObject(isAdded)
    expect(await answer({ reason: 'manual', note: 'By phone' })).toMatchObject(stays)
    expect(await answer({ reason: 'complained' })).toMatchObject(isAdded)
  })

  it('replaces note and end of an equal reason', async () => {
    const first = await added({ note: 'first' })
    const amended = { note: 'second', expires_at: TOMORROW }
    expect(await added(amended)).toEqual({ ...first, ...amended })
    expect(await added({})).toEqual({ ...first, note: null })
  })

  it('is for good once an event gives a reason, however weak', async () => {
    await add({ reason: 'complained', expires_at: TOMORROW })
    const o = { tenantId: 'tn_a', address: ada, email: ada, source: null } as const
    expect(await suppressAddress(api.db, { ...o, reason: 'bounced' })).toBe(false)
    expect((await get()).body.suppression).toMatchObject({
      reason: 'complained',
      expires_at: null,
    })
  })

  it.each([
    [{ email: 'nobody' }, '/email'],
    [{ email: undefined }, '/email'],
    [{ reason: 'lost' }, '/reason'],
    [{ note: 'x'.repeat(501) }, '/note'],
    [{ note: 1 }, '/note'],
    [{ expires_at: 'tomorrow' }, '/expires_at'],
    [{ expires_at: '2026-01-02T03:04:05Z' }, '/expires_at'],
    [{ source: { key_id: 'other' } }, '/source'],
  ])('answers 400 to %j', async (body, path) => {
    expect(await add(body)).toMatchObject({
      status: 400,
      body: { code: 'validation_failed', errors: [{ path }] },
    })
    expect(await isSuppressed()).toBe(false)
  })

  it('needs the scope to send, and concerns no other tenant', async () => {
    expect((await add({}, 'reader')).status).toBe(403)
    expect((await add({}, 'b')).status).toBe(201)
    expect(await isSuppressed()).toBe(false)
    expect((await get()).status).toBe(404)
  })
})

describe('a suppression that has ended', () => {
  it('is none: not when an email is accepted, not when it is asked for or listed', async () => {
    await add({ expires_at: TOMORROW })
    expect(await isSuppressed()).toBe(true)
    await end()
    expect(await isSuppressed()).toBe(false)
    expect((await get()).status).toBe(404)
    expect((await call('deleteSuppression', { params: { email: ada } })).status).toBe(404)
    await add({ expires_at: TOMORROW })
    await end()
    expect((await call('listSuppressions')).body.suppressions).toEqual([])
    const query = `?email=${encodeURIComponent(ada)}`
    expect((await call('listSuppressions', { query })).body.suppressions).toEqual([])
  })

  it('gives way to a new one, however weak', async () => {
    const first = await added({ reason: 'complained', note: 'first', expires_at: TOMORROW })
    await end()
    const o = { tenantId: 'tn_a', address: ada, email: 'ADA@example.com', source: null } as const
    expect(await suppressAddress(api.db, { ...o, reason: 'bounced' })).toBe(true)
    const { suppression } = (await get()).body
    expect(suppression).toMatchObject({
      email: 'ADA@example.com',
      reason: 'bounced',
      note: null,
      expires_at: null,
    })
    expect(suppression.created_at >= first.created_at).toBe(true)
  })

  it('makes a page shorter, and hides nothing behind it', async () => {
    for (const email of ['a@example.com', 'b@example.com', 'c@example.com'])
      await call('addSuppression', { body: { email, expires_at: TOMORROW } })
    await end('b@example.com')
    const page = (await call('listSuppressions', { query: '?pageSize=2' })).body
    expect(page.suppressions).toMatchObject([{ email: 'c@example.com' }])
    const query = `?pageSize=2&pageToken=${page.nextPageToken}`
    const rest = (await call('listSuppressions', { query })).body
    expect(rest.suppressions).toMatchObject([{ email: 'a@example.com' }])
  })

  it('is removed by the janitor, and no other', async () => {
    await add({ expires_at: TOMORROW })
    await call('addSuppression', { body: { email: 'bob@example.com', expires_at: TOMORROW } })
    await call('addSuppression', { body: { email: 'eve@example.com' } })
    await end()
    const janitor = createExpiryJanitor({ db: api.db, log: silent })
    expect(await janitor.runOnce()).toBe(1)
    expect(await janitor.runOnce()).toBe(0)
    await janitor.stop()
    const { rows } = await api.db.query('select email from suppressions_address order by email')
    expect(rows).toEqual([{ email: 'bob@example.com' }, { email: 'eve@example.com' }])
  })
})
