/** `/callbacks/{kind}/{token}` (docs/reference/domains.md#callbacks), by what it answers. */
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { bodyOf, createSigner, providers, useFeedback } from '../../test/feedback.ts'
import { createClock } from '../platform/clock.ts'
import { DatabaseUnavailableError } from '../platform/db/index.ts'
import { ApiError } from '../platform/errors.ts'
import { noDiskGuard } from '../platform/process/disk-guard.ts'
import { newSecret } from '../platform/values/base62.ts'
import { createFeedbackInbox } from './intake/inbox.ts'
import { callbackBytesMax } from './routes.ts'

const world = useFeedback()

const stored = async () => {
  const { rows } = await world.db.query<{ tenant_id: string; kind: string; body: Buffer }>(
    'select tenant_id, kind, body from feedback_inbox order by inbox_id',
  )
  return rows
}
const countsOf = async (metrics = world.metrics) => {
  const text = await metrics.registry.metrics()
  const lines = text.matchAll(/^postrider_callbacks_total\{relay="(.*)",result="(.*)"\} (\d+)$/gm)
  const counts = [...lines].map(([, relay, result, n]) => [`${relay} ${result}`, Number(n)])
  return Object.fromEntries(counts.filter(([, n]) => n !== 0))
}

describe('callback: 200', () => {
  it.each(providers)('[5] is answered once the body is stored byte for byte: %s', async (kind) => {
    const account = await world.account(kind)
    const mail = await world.send({ tenantId: account.tenantId })
    // With what a parser would not keep.
    const body = `\r\n${JSON.stringify(bodyOf(kind, [{ type: 'delivered', mail }]), null, 3)} `
    const answer = await world.post(account, body)
    expect([answer.statusCode, answer.json()]).toEqual([
      200,
      { success: true, message: 'Callback stored' },
    ])
    const rows = await stored()
    expect(rows.map((row) => ({ ...row, body: row.body.toString() }))).toEqual([
      { tenant_id: account.tenantId, kind, body },
    ])
    expect(await countsOf()).toEqual({ [`${kind} stored`]: 1 })
  })

  it.each([
    ['sparkpost', '[{"msys":{}}]'],
    ['sparkpost', '[]'],
    ['sendgrid', '[]'],
    ['sendgrid', '[{"event":"open","sg_event_id":"1"}]'],
    ['sparkpost', '[{"msys":{"track_event":{"type":"click","event_id":"1"}}}]'],
    ['sparkpost', '[{"msys":{"new_event":{"type":"of_the_future","event_id":"1"}}}]'],
  ] as const)(
    'is answered to a ping and to reports without consequences: %s %s',
    async (kind, body) => {
      const account = await world.account(kind)
      expect((await world.post(account, body)).statusCode).toBe(200)
      expect(await stored()).toEqual([])
      expect(await countsOf()).toEqual({ [`${kind} empty`]: 1 })
    },
  )

  it.each([['text/plain'], ['application/x-www-form-urlencoded'], ['application/json; a=b'], ['']])(
    'is answered for every content type: %s',
    async (type) => {
      const account = await world.account('sendgrid')
      const mail = await world.send({ tenantId: account.tenantId })
      const body = JSON.stringify(bodyOf('sendgrid', [{ type: 'delivered', mail }]))
      const answer = await world.post(account, body, { 'content-type': type })
      expect(answer.statusCode).toBe(200)
      expect(await stored()).toHaveLength(1)
    },
  )

  it('is answered to a request with the secret, in the header or as Basic credentials', async () => {
    const account = await world.account('sparkpost', { callbackSecret: 's3cret' })
    const basic = `Basic ${Buffer.from('anyone:s3cret').toString('base64')}`
    for (const headers of [{ 'x-callback-secret': 's3cret' }, { authorization: basic }])
      expect((await world.post(account, '[]', headers)).statusCode).toBe(200)
  })

  it('is answered to a valid signature over the bytes as sent', async () => {
    const { verificationKey, sign } = createSigner()
    const account = await world.account('sendgrid', { verificationKey })
    const mail = await world.send({ tenantId: account.tenantId })
    const body = `${JSON.stringify(bodyOf('sendgrid', [{ type: 'delivered', mail }]))}\r\n`
    expect((await world.post(account, body, sign(body))).statusCode).toBe(200)
    expect(await stored()).toHaveLength(1)
  })

  it('is answered to up to 4 MiB', async () => {
    const account = await world.account('sendgrid')
    const mail = await world.send({ tenantId: account.tenantId })
    const body = JSON.stringify(bodyOf('sendgrid', [{ type: 'delivered', mail }]))
    const answer = await world.post(account, body.padEnd(callbackBytesMax))
    expect(answer.statusCode).toBe(200)
    await world.feedback.worker.runOnce()
    expect(await world.statuses(mail)).toEqual(['delivered'])
  })
})

describe('callback: 400', () => {
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
  it.each([
    ['no JSON', 'not json'],
    ['a body that was cut off', '[{"msys":{"message_event":{"type":"deli'],
    ['nothing', ''],
    ['an object', '{"msys":{}}'],
    ['a number', '17'],
    ['null', 'null'],
    ['other things', '[1,"two",null]'],
    ['nesting without end', deep],
    ['nesting within', `[{"msys":{"message_event":{"type":"delivery","x":${deep}}}}]`],
    ['octets that are not UTF-8', Buffer.from('[{"event":"\xff","msys":{}}]', 'latin1')],
  ])('is answered to %s, and nothing is stored', async (_, body) => {
    for (const kind of providers) {
      const account = await world.account(kind)
      const answer = await world.post(account, body)
      expect([kind, answer.statusCode]).toEqual([kind, 400])
      expect(answer.json()).toMatchObject({ success: false, code: 'invalid_json' })
      expect(await stored()).toEqual([])
    }
    expect(await countsOf()).toEqual({ 'sparkpost unreadable': 1, 'sendgrid unreadable': 1 })
  })

  it('is answered to a callback of another provider', async () => {
    const account = await world.account('sparkpost')
    const mail = await world.send({ tenantId: account.tenantId })
    const body = bodyOf('sendgrid', [{ type: 'delivered', mail }])
    expect((await world.post(account, body)).statusCode).toBe(400)
    expect(await stored()).toEqual([])
  })
})

describe('callback: 401', () => {
  it.each([
    ['without the secret', {}],
    ['with another one', { 'x-callback-secret': 's3cre' }],
    ['with it in another case', { 'x-callback-secret': 'S3CRET' }],
    ['with other credentials', { authorization: `Basic ${btoa('s3cret:other')}` }],
  ])('is answered to a callback %s', async (_, headers) => {
    const account = await world.account('sparkpost', { callbackSecret: 's3cret' })
    const mail = await world.send({ tenantId: account.tenantId })
    const body = bodyOf('sparkpost', [{ type: 'bounced', mail }])
    const answer = await world.post(account, body, headers)
    expect([answer.statusCode, answer.json().code]).toEqual([401, 'unauthorized'])
    expect(await stored()).toEqual([])
    expect(await countsOf()).toEqual({ 'sparkpost unauthentic': 1 })
  })

  it('is answered to a missing, foreign, altered or old signature', async () => {
    const { verificationKey, sign } = createSigner()
    const account = await world.account('sendgrid', { verificationKey })
    const mail = await world.send({ tenantId: account.tenantId })
    const body = JSON.stringify(bodyOf('sendgrid', [{ type: 'bounced', mail }]))
    const forged = [
      [body, {}],
      [body, createSigner().sign(body)],
      [`${body} `, sign(body)],
      [body, sign(body, Date.now() - 2 * 86_400_000)],
      [body, { ...sign(body), 'x-twilio-email-event-webhook-timestamp': '1' }],
    ] as const
    for (const [sent, headers] of forged)
      expect((await world.post(account, sent, headers)).statusCode).toBe(401)
    expect(await stored()).toEqual([])
  })

  it('is answered before the body is parsed', async () => {
    const account = await world.account('sparkpost', { callbackSecret: 's3cret' })
    expect((await world.post(account, 'not json')).statusCode).toBe(401)
  })
})

describe('callback: 404', () => {
  it('is answered in the same words to every unknown address', async () => {
    const account = await world.account('sparkpost')
    const [, , , token = ''] = account.url.split('/')
    const unknown = [
      `/callbacks/sparkpost/${newSecret()}`,
      `/callbacks/sendgrid/${token}`,
      `/callbacks/simulator/${token}`,
      `/callbacks/mailgun/${token}`,
      `/callbacks/__proto__/${token}`,
      `/callbacks/sparkpost/${token}x`,
      `/callbacks/sparkpost/${token.slice(1)}`,
      `/callbacks/sparkpost/${encodeURIComponent("' or 1=1")}`,
      `/callbacks/sparkpost/${'x'.repeat(900)}`,
    ]
    const answers = await Promise.all(unknown.map((url) => world.post({ url }, '[]')))
    for (const [i, answer] of answers.entries()) {
      const { request_id: _, ...body } = answer.json()
      expect([unknown[i], answer.statusCode, body]).toEqual([
        unknown[i],
        404,
        { success: false, code: 'not_found', message: 'Not Found' },
      ])
    }
    expect(await countsOf()).toEqual({ 'none unknown': unknown.length })
  })

  it('is answered before the body is read', async () => {
    const url = `/callbacks/sparkpost/${newSecret()}`
    const large = Buffer.alloc(callbackBytesMax + 1, ' ')
    expect((await world.post({ url }, large)).statusCode).toBe(404)
    const encoded = await world.post({ url }, '[]', { 'content-encoding': 'gzip' })
    expect(encoded.statusCode).toBe(404)
  })

  it('is answered within two seconds of the deletion of the account', async () => {
    let nowMs = 0
    const account = await world.account('sparkpost')
    const another = await world.another({ monotonicMs: () => nowMs })
    const post = async () => {
      const request = { method: 'POST', url: account.url, payload: '[]' } as const
      return (await another.app.inject(request)).statusCode
    }
    expect(await post()).toBe(200)
    const { rows } = await world.db.query<{ tenant_id: string }>(
      'delete from relays_account where tenant_id = $1 returning *',
      [account.tenantId],
    )
    nowMs = 2_000
    expect(await post()).toBe(404)
    const columns = Object.keys(rows[0] ?? {})
    await world.db.query(
      `insert into relays_account (${columns.join()}) values (${columns.map((__, i) => `$${i + 1}`).join()})`,
      Object.values(rows[0] ?? {}),
    )
    nowMs = 4_000
    expect(await post()).toBe(200)
  })
})

describe('callback: 405', () => {
  it('is answered to every method but POST', async () => {
    const { url } = await world.account('sparkpost')
    for (const method of ['GET', 'PUT', 'DELETE'] as const) {
      const answer = await world.app.inject({ method, url })
      expect([answer.statusCode, answer.headers.allow]).toEqual([405, 'POST'])
    }
  })
})

describe('callback: 413', () => {
  it('is answered to more than 4 MiB, announced or not', async () => {
    const account = await world.account('sparkpost')
    const large = `[${' '.repeat(callbackBytesMax)}]`
    expect((await world.post(account, large)).statusCode).toBe(413)
    expect(await stored()).toEqual([])
  })
})

describe('callback: 415', () => {
  it.each(['gzip', 'deflate', 'br', 'zstd', 'GZIP', 'identity, gzip'])(
    'is answered to a body in %s',
    async (encoding) => {
      const account = await world.account('sparkpost')
      const answer = await world.post(account, gzipSync('[]'), { 'content-encoding': encoding })
      expect([answer.statusCode, answer.json().code]).toEqual([415, 'unsupported_media_type'])
      expect(await stored()).toEqual([])
    },
  )
})

describe('callback: 503', () => {
  const retryAfter = /^[1-9]\d?$/
  const delivered = async () => {
    const account = await world.account('sparkpost')
    const mail = await world.send({ tenantId: account.tenantId })
    const payload = bodyOf('sparkpost', [{ type: 'delivered', mail }])
    return { mail, request: { method: 'POST', url: account.url, payload } as const }
  }

  it('is answered when the commit is late; a late commit is applied once', async () => {
    const { mail, request } = await delivered()
    const inbox = createFeedbackInbox({ db: world.db, clock: createClock() })
    const mayStore = Promise.withResolvers<void>()
    const slow = await world.another({
      answerMs: 50,
      inbox: {
        ...inbox,
        store: async (callback) => {
          await mayStore.promise
          await inbox.store(callback)
        },
      },
    })
    const answer = await slow.app.inject(request)
    expect([answer.statusCode, answer.json().code]).toEqual([503, 'unavailable'])
    expect(answer.headers['retry-after']).toMatch(retryAfter)
    mayStore.resolve()
    // The provider comes again.
    expect((await world.app.inject(request)).statusCode).toBe(200)
    while ((await stored()).length < 2) await world.db.query('select 1')
    await world.feedback.worker.runOnce()
    expect(await world.events(mail)).toHaveLength(1)
    expect(await countsOf(slow.metrics)).toEqual({ 'sparkpost unavailable': 1 })
  })

  it('is answered while the database is away', async () => {
    const { request } = await delivered()
    const away = async () => {
      throw new DatabaseUnavailableError('away')
    }
    const without = await world.another({ db: { ...world.db, query: away, transaction: away } })
    const answer = await without.app.inject(request)
    expect(answer.statusCode).toBe(503)
    expect(answer.headers['retry-after']).toMatch(retryAfter)
    expect(await countsOf(without.metrics)).toEqual({ 'none unavailable': 1 })
  })

  it('is answered while the disk is nearly full', async () => {
    const { request } = await delivered()
    const disk = {
      ...noDiskGuard,
      admit: async () => {
        throw new ApiError('unavailable', { retryAfterS: 30 })
      },
    }
    const answer = await (await world.another({ disk })).app.inject(request)
    expect([answer.statusCode, answer.headers['retry-after']]).toEqual([503, '30'])
  })

  it('is answered to a tenant with too many waiting bytes, and to no other', async () => {
    const { request } = await delivered()
    const others = await delivered()
    const narrow = await world.another({ waitingBytesMax: 100 })
    expect((await narrow.app.inject(request)).statusCode).toBe(200)
    await narrow.feedback.gauge.runOnce()
    expect((await narrow.app.inject(request)).statusCode).toBe(503)
    expect((await narrow.app.inject(others.request)).statusCode).toBe(200)
    await narrow.feedback.worker.runOnce()
    await narrow.feedback.gauge.runOnce()
    expect((await narrow.app.inject(request)).statusCode).toBe(200)
  })
})
