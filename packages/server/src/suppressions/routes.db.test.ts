import {
  deleteSuppressionAnswer,
  getSuppressionAnswer,
  listSuppressionsAnswer,
  type SuppressionSource,
  subscribeEmailAnswer,
  unsubscribeEmailAnswer,
} from '@postrider/contract'
import { beforeEach, describe, expect, it } from 'vitest'
import { type Key, useOperations } from '../../test/operations.ts'
import { createFileLimits } from './create.ts'
import { findSuppressed } from './index.ts'
import { suppressionRoutes } from './routes.ts'
import { suppressAddress } from './suppress-address.ts'

const api = useOperations({
  routes: (app, deps) => suppressionRoutes(app, { ...deps, ...createFileLimits() }),
  table: 'suppressions_address',
  answers: {
    subscribeEmail: subscribeEmailAnswer,
    unsubscribeEmail: unsubscribeEmailAnswer,
    listSuppressions: listSuppressionsAnswer,
    getSuppression: getSuppressionAnswer,
    deleteSuppression: deleteSuppressionAnswer,
  },
})
const { call } = api

const unsubscribe = (email: string, key: Key = 'a') =>
  call('unsubscribeEmail', { body: { email }, key })
const subscribe = (email: string, key: Key = 'a') =>
  call('subscribeEmail', { body: { email }, key })
const listed = async (query = '', key: Key = 'a') =>
  (await call('listSuppressions', { query, key })).body.suppressions.map(
    ({ email, reason }) => `${email} ${reason}`,
  )
const isSuppressed = async (address: string, tenantId = 'tn_a') =>
  (await findSuppressed(api.db, [{ tenantId, address }]))[0]

describe('unsubscribeEmail', () => {
  it('suppresses an address of the tenant in any spelling', async () => {
    expect(await unsubscribe('Ada@Exämple.COM')).toMatchObject({
      status: 200,
      body: { success: true, message: 'Email Unsubscribed' },
    })
    expect(await isSuppressed('ada@xn--exmple-cua.com')).toBe(true)
    expect(await isSuppressed('ADA@xn--exmple-cua.com')).toBe(true)
    expect(await isSuppressed('bob@xn--exmple-cua.com')).toBe(false)
    expect(await isSuppressed('ada@xn--exmple-cua.com', 'tn_b')).toBe(false)
    expect(await listed()).toEqual(['Ada@Exämple.COM unsubscribed'])
  })

  it('may be repeated, and keeps the first entry', async () => {
    await unsubscribe('ada@example.com')
    const before = (await call('listSuppressions')).body
    expect((await unsubscribe('ADA@example.com')).status).toBe(200)
    expect((await call('listSuppressions')).body).toEqual(before)
  })

  it('answers 400 to an invalid address, with its path', async () => {
    for (const email of ['ada', 'Ada <ada@example.com>', 'ada@localhost', 'a@b.com\u0000'])
      expect(await unsubscribe(email)).toMatchObject({
        status: 400,
        body: { code: 'validation_failed', errors: [{ path: '/email' }] },
      })
    expect(await call('unsubscribeEmail', { body: {} })).toMatchObject({
      status: 400,
      body: { errors: [{ path: '/email' }] },
    })
    const body = { email: 'ada@example.com', reason: 'manual' }
    expect(await call('unsubscribeEmail', { body })).toMatchObject({
      status: 400,
      body: { errors: [{ path: '/reason' }] },
    })
  })

  it('answers 403 to a read-only key', async () => {
    expect((await unsubscribe('ada@example.com', 'reader')).status).toBe(403)
    expect((await unsubscribe('ada@example.com', 'sender')).status).toBe(200)
  })
})

describe('subscribeEmail', () => {
  it('removes the suppression of the tenant in any spelling of the address', async () => {
    await unsubscribe('ada@example.com')
    await unsubscribe('ada@example.com', 'b')
    expect(await subscribe('Ada@Example.COM')).toMatchObject({
      status: 200,
      body: { success: true, message: 'Email Subscribed' },
    })
    expect(await isSuppressed('ada@example.com')).toBe(false)
    expect(await isSuppressed('ada@example.com', 'tn_b')).toBe(true)
  })

  it('succeeds when there is no suppression', async () => {
    expect((await subscribe('ada@example.com')).status).toBe(200)
  })

  it('answers 400 to an invalid address', async () => {
    expect(await subscribe('nobody')).toMatchObject({ status: 400, body: { errors: [{}] } })
  })
})

describe('suppressAddress', () => {
  it('keeps the strongest of several reasons, and the first time', async () => {
    const suppress = (reason: 'bounced' | 'manual' | 'unsubscribed' | 'complained') =>
      suppressAddress(api.db, {
        tenantId: 'tn_a',
        address: 'ada@example.com',
        email: 'ada@example.com',
        reason,
        source: null,
      })
    await suppress('bounced')
    const { reason: _, ...kept } = (await call('listSuppressions')).body.suppressions[0] ?? {}
    await suppress('unsubscribed')
    expect(await listed()).toEqual(['ada@example.com unsubscribed'])
    await suppress('manual')
    await suppress('bounced')
    expect(await listed()).toEqual(['ada@example.com unsubscribed'])
    await suppress('complained')
    await unsubscribe('ada@example.com')
    expect((await call('listSuppressions')).body.suppressions).toEqual([
      { ...kept, reason: 'complained' },
    ])
  })

  it('leaves nothing when its transaction is rolled back', async () => {
    const address = 'ada@example.com'
    const undone = api.db.transaction(async (tx) => {
      const o = { tenantId: 'tn_a', email: address, reason: 'bounced', source: null } as const
      await suppressAddress(tx, { ...o, address })
      throw new Error('taken back')
    })
    await expect(undone).rejects.toThrow('taken back')
    expect(await isSuppressed(address)).toBe(false)
  })
})

describe('listSuppressions', () => {
  beforeEach(async () => {
    for (const email of ['a@example.com', 'b@example.com', 'c@example.com'])
      await unsubscribe(email)
    const o = { tenantId: 'tn_a', reason: 'bounced', source: null } as const
    for (const email of ['d@example.com', 'e@example.com'])
      await suppressAddress(api.db, { ...o, address: email, email })
    await unsubscribe('theirs@example.com', 'b')
  })

  it('answers newest first, page after page', async () => {
    const seen: string[] = []
    let token: string | undefined = ''
    for (let pages = 0; token !== undefined && pages < 9; pages += 1) {
      const query: string = `?pageSize=2${token === '' ? '' : `&pageToken=${token}`}`
      const { body } = await call('listSuppressions', { query })
      seen.push(...body.suppressions.map(({ email }: { email: string }) => email[0] ?? ''))
      token = body.nextPageToken
    }
    expect(seen).toEqual(['e', 'd', 'c', 'b', 'a'])
  })

  it('filters by reason and by address', async () => {
    expect(await listed('?reason=bounced')).toEqual([
      'e@example.com bounced',
      'd@example.com bounced',
    ])
    const { body } = await call('listSuppressions', { query: '?reason=unsubscribed&pageSize=2' })
    const rest = `?reason=unsubscribed&pageSize=2&pageToken=${body.nextPageToken}`
    expect(await listed(rest)).toEqual(['a@example.com unsubscribed'])
    expect(await listed('?email=B%40Example.com')).toEqual(['b@example.com unsubscribed'])
    expect(await listed('?email=b%40example.com&reason=bounced')).toEqual([])
    expect(await listed('?email=theirs%40example.com')).toEqual([])
    expect(await listed('', 'b')).toEqual(['theirs@example.com unsubscribed'])
  })

  it.each([
    ['?reason=lost', '/reason'],
    ['?email=nobody', '/email'],
    ['?pageToken=x', '/pageToken'],
    ['?pageSize=0', '/pageSize'],
    ['?unknown=1', '/unknown'],
  ])('answers 400 to %s', async (query, path) => {
    expect(await call('listSuppressions', { query })).toMatchObject({
      status: 400,
      body: { errors: [{ path }] },
    })
  })

  it('answers 400 to a token of another filter', async () => {
    const { body } = await call('listSuppressions', { query: '?pageSize=1' })
    const query = `?pageSize=1&reason=bounced&pageToken=${body.nextPageToken}`
    expect((await call('listSuppressions', { query })).status).toBe(400)
  })

  it('needs the scope to read', async () => {
    expect((await call('listSuppressions', { key: 'reader' })).status).toBe(200)
    expect((await call('listSuppressions', { key: 'sender' })).status).toBe(403)
  })
})

describe('[contract 7.3] getSuppression', () => {
  const get = (email: string, key: Key = 'a') => call('getSuppression', { params: { email }, key })

  it('answers the entry of an address in any spelling', async () => {
    await unsubscribe('Ada@example.com')
    expect(await get('ada@EXAMPLE.com')).toMatchObject({
      status: 200,
      body: {
        success: true,
        message: 'Suppression',
        suppression: {
          email: 'Ada@example.com',
          reason: 'unsubscribed',
          created_at: expect.stringMatching(/Z$/),
          source: { key_id: 'key_a' },
        },
      },
    })
  })

  it('has the source of the strongest reason', async () => {
    const email = 'ada@example.com'
    const suppress = (reason: 'bounced' | 'unsubscribed', source: SuppressionSource | null) =>
      suppressAddress(api.db, { tenantId: 'tn_a', address: email, email, reason, source })
    const sourceNow = async () => (await get(email)).body.suppression.source
    await suppress('bounced', null)
    expect(await sourceNow()).toBeNull()
    const source = { event: 'MAIL_UNSUBSCRIBED', ref_id: 'a', relay: 'sendgrid' } as const
    await suppress('unsubscribed', source)
    expect(await sourceNow()).toEqual(source)
    await suppress('bounced', { event: 'MAIL_BOUNCE', ref_id: 'b' })
    await unsubscribe(email)
    expect(await sourceNow()).toEqual(source)
  })

  it('answers 404 to an unknown suppression and another tenant, and 403 to a key without the scope', async () => {
    await unsubscribe('ada@example.com', 'b')
    for (const email of ['ada@example.com', 'bob@example.com'])
      expect(await get(email)).toMatchObject({ status: 404, body: { code: 'not_found' } })
    expect((await get('ada@example.com', 'sender')).status).toBe(403)
  })

  it('answers 400 to an invalid address', async () => {
    expect(await get('nobody')).toMatchObject({
      status: 400,
      body: { errors: [{ path: '/email' }] },
    })
  })
})

describe('deleteSuppression', () => {
  it('removes the entry in any spelling of the address', async () => {
    await unsubscribe('o/hare+x@exämple.com')
    expect(
      await call('deleteSuppression', { params: { email: 'O/Hare+x@xn--exmple-cua.com' } }),
    ).toMatchObject({
      status: 200,
      body: { success: true, message: 'Suppression Deleted' },
    })
    expect(await listed()).toEqual([])
  })

  it('answers 404 to an unknown suppression and another tenant', async () => {
    await unsubscribe('ada@example.com', 'b')
    for (const email of ['ada@example.com', 'bob@example.com'])
      expect(await call('deleteSuppression', { params: { email } })).toMatchObject({
        status: 404,
        body: { code: 'not_found' },
      })
    expect(await isSuppressed('ada@example.com', 'tn_b')).toBe(true)
  })

  it('answers 400 to an invalid address', async () => {
    expect(await call('deleteSuppression', { params: { email: 'nobody' } })).toMatchObject({
      status: 400,
      body: { errors: [{ path: '/email' }] },
    })
  })
})

describe('findSuppressed', () => {
  it('answers a thousand addresses of several tenants in the order of the question', async () => {
    for (const email of ['r7@example.com', 'r900@example.com']) await unsubscribe(email)
    await unsubscribe('r7@example.com', 'b')
    const asked = Array.from({ length: 1_000 }, (_, i) => ({
      tenantId: i % 2 === 0 ? 'tn_a' : 'tn_b',
      address: `R${i}@example.com`,
    }))
    const found = await findSuppressed(api.db, asked)
    expect(found).toHaveLength(1_000)
    expect(found.flatMap((is, i) => (is ? [i] : []))).toEqual([7, 900])
    expect(await findSuppressed(api.db, [])).toEqual([])
  })
})
