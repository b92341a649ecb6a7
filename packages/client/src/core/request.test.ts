import { getEventListeners } from 'node:events'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  cut,
  drop,
  hang,
  ok,
  refusal,
  reply,
  type Step,
  stall,
  startScriptedServer,
} from '../../test/scripted-server.ts'
import { PostriderError } from './errors.ts'
import type { RequestOptions } from './options.ts'
import { type Call, createSend, type SendDeps, waitUnlessAborted } from './request.ts'

const get: Call = { method: 'GET', path: '/v1/webhook' }
const plainPost: Call = { method: 'POST', path: '/v1/smtp', body: { name: 'x' } }
const keyedPost: Call = { ...plainPost, path: '/v1/email/send', honoursIdempotencyKey: true }
const key = { idempotencyKey: 'k1' }

/** A server with this script and a `send` to it that notes its waits instead of waiting. */
async function scripted(steps: Step[], change: Partial<SendDeps> = {}) {
  const server = await startScriptedServer(...steps)
  const waits: number[] = []
  const send = createSend({
    apiKey: 'pr_secret',
    basePath: server.url,
    timeoutMs: 20_000,
    retriesMax: 3,
    idleTimeoutMs: 20_000,
    retryAfterMsMax: 60_000,
    userAgent: 'postrider-client/test',
    fetch: globalThis.fetch,
    random: () => 1,
    nowMs: () => performance.now(),
    wait: async (ms) => {
      waits.push(ms)
    },
    ...change,
  })
  return { server, send, waits }
}

async function failureOf(promise: Promise<unknown>): Promise<PostriderError> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (!(error instanceof PostriderError)) throw new Error('no PostriderError', { cause: error })
  return error
}

describe('a request', () => {
  it('[5.1] carries the API key, and JSON with its type', async () => {
    const { server, send } = await scripted([ok])
    await expect(send(plainPost)).resolves.toStrictEqual({ success: true, message: 'done' })
    expect(server.requests).toMatchObject([
      {
        method: 'POST',
        path: '/v1/smtp',
        body: '{"name":"x"}',
        headers: {
          authorization: 'Bearer pr_secret',
          accept: 'application/json',
          'content-type': 'application/json',
          'user-agent': 'postrider-client/test',
        },
      },
    ])
    expect(server.requests[0]?.headers).not.toHaveProperty('idempotency-key')
  })

  it('carries the headers of the caller, which cannot replace its own', async () => {
    const { server, send } = await scripted([ok])
    await send(get, { headers: { traceparent: '00-1-1-00' } })
    expect(server.requests[0]?.headers.traceparent).toBe('00-1-1-00')
    for (const name of ['Authorization', 'content-type', 'ACCEPT', 'Idempotency-Key']) {
      const error = await failureOf(send(get, { headers: { [name]: 'x' } }))
      expect(error.code, name).toBe('invalid_argument')
    }
    expect(server.requests).toHaveLength(1)
  })

  it.each<[string, Call, RequestOptions]>([
    ['a header with a line break', get, { headers: { a: 'b\r\nc: d' } }],
    ['an empty idempotency key', keyedPost, { idempotencyKey: '' }],
    ['an idempotency key of 256 characters', keyedPost, { idempotencyKey: 'k'.repeat(256) }],
    ['a time-out of nothing', get, { timeout: 0 }],
    ['a time-out that is no number', get, { timeout: Number.NaN }],
    ['a misspelt option', get, { maxRetrys: 1 } as RequestOptions],
    ['retries that are no count', get, { maxRetries: 0.5 }],
    ['an endless idle time-out', get, { idleTimeout: Number.POSITIVE_INFINITY }],
    ['a Retry-After of less than nothing', get, { maxRetryAfter: -1 }],
    ['a payload that JSON cannot hold', { ...plainPost, body: { id: 1n } }, {}],
    ['no payload', { ...plainPost, body: undefined }, {}],
    ['a payload that is null', { ...plainPost, body: null }, {}],
    ['no input', { method: 'PUT', path: '/a/{id}', input: undefined } as unknown as Call, {}],
    ['an id that leaves its route', { ...get, path: '/a/{id}', parameters: { id: '..' } }, {}],
  ])('is never sent with %s', async (_, call, options) => {
    const { server, send, waits } = await scripted([])
    expect(await failureOf(send(call, options))).toMatchObject({
      status: 0,
      code: 'invalid_argument',
    })
    expect(server.requests).toHaveLength(0)
    expect(waits).toStrictEqual([])
  })
})

describe('a refusal', () => {
  it('becomes an error with everything that the service said', async () => {
    const { send } = await scripted([
      reply(
        400,
        {
          success: false,
          message: 'Validation Failed',
          code: 'validation_failed',
          request_id: 'req_9',
          errors: [{ path: '/to/0/email', message: 'must be an address' }],
        },
        { 'retry-after': '3' },
      ),
    ])
    const error = await failureOf(send(keyedPost, key))
    expect(error).toBeInstanceOf(Error)
    expect(error).toMatchObject({
      name: 'PostriderError',
      status: 400,
      code: 'validation_failed',
      message: 'Validation Failed: /to/0/email must be an address',
      requestId: 'req_9',
      retryAfter: 3,
      errors: [{ path: '/to/0/email', message: 'must be an address' }],
    })
  })

  it('keeps a code that is newer than this library', async () => {
    const { send } = await scripted([refusal(418, 'brand_new')])
    expect((await failureOf(send(get))).code).toBe('brand_new')
  })
})

describe('an answer of something else than the service', () => {
  it.each<[string, number, Step]>([
    ['HTML with status 404', 404, reply(404, '<h1>nginx</h1>', { 'content-type': 'text/html' })],
    ['another JSON with status 400', 400, reply(400, { error: 'x' })],
    ['a JSON list with status 400', 400, reply(400, [])],
    ['an empty body with status 501', 501, reply(501, '')],
    ['HTML with status 200', 200, reply(200, '<h1>Log in to the hotel</h1>')],
    ['a failure with status 200', 200, reply(200, { success: false, message: 'm', code: 'c' })],
    ['a success with status 400', 400, reply(400, { success: true, message: 'm' })],
    ['a redirect', 302, reply(302, '', { location: '/elsewhere' })],
  ])('is an error with its status: %s', async (_, status, step) => {
    const { server, send } = await scripted([step])
    const error = await failureOf(send(get))
    expect(error).toMatchObject({ status, code: 'unexpected_response' })
    expect(server.requests).toHaveLength(1)
  })

  it('is quoted with its beginning', async () => {
    const page = `<h1>Bad Gateway</h1>${' '.repeat(5_000)}`
    const { send } = await scripted([reply(502, page)], { retriesMax: 0 })
    const error = await failureOf(send(get))
    expect(error.body).toBe(page.slice(0, 4_096))
    expect(error.message).not.toContain('Bad Gateway')
  })

  it('has the request id of its headers, and is retried by its status', async () => {
    const html = reply(502, '<h1>Bad Gateway</h1>', { 'x-request-id': 'req_7' })
    const { send, waits } = await scripted([html, html, html, html])
    const error = await failureOf(send(get))
    expect(error).toMatchObject({ status: 502, code: 'unexpected_response', requestId: 'req_7' })
    expect(waits).toHaveLength(3)
  })
})

describe('retries', () => {
  it('continue until an attempt succeeds, with waits that double', async () => {
    const steps = [drop, refusal(503, 'unavailable'), cut, ok]
    const { server, send, waits } = await scripted(steps)
    await expect(send(get)).resolves.toMatchObject({ success: true })
    expect(server.requests).toHaveLength(4)
    expect(waits).toStrictEqual([500, 1_000, 2_000])
  })

  it('send the same request under one idempotency key', async () => {
    const steps = [drop, refusal(409, 'idempotency_in_progress', { 'retry-after': '1' }), ok]
    const { server, send, waits } = await scripted(steps)
    await send(keyedPost, key)
    expect(server.requests.map(({ headers }) => headers['idempotency-key'])).toStrictEqual([
      'k1',
      'k1',
      'k1',
    ])
    expect(new Set(server.requests.map(({ body }) => body)).size).toBe(1)
    expect(waits).toStrictEqual([500, 1_000])
  })

  it.each<[string, Call, RequestOptions]>([
    ['a POST', plainPost, {}],
    ['a POST where the service does not honour the key', plainPost, key],
    ['a POST that could have a key, but has none', keyedPost, {}],
  ])('never happen to %s', async (_, call, options) => {
    const { server, send } = await scripted([drop])
    expect((await failureOf(send(call, options))).code).toBe('connection_error')
    expect(server.requests).toHaveLength(1)
  })

  it.each<Call>([
    get,
    { method: 'PUT', path: '/v1/webhook/update', body: { event: 'EMAIL_EVENT' } },
    { method: 'DELETE', path: '/v1/webhook/delete', body: { event: 'EMAIL_EVENT' } },
  ])('are safe for $method', async (call) => {
    const { server, send } = await scripted([drop, ok])
    await send(call)
    expect(server.requests).toHaveLength(2)
    expect(server.requests[1]).toMatchObject({
      method: call.method,
      body: server.requests[0]?.body,
    })
  })

  it('follow a creation that was refused before any work', async () => {
    const steps = [refusal(429, 'rate_limited', { 'retry-after': '2' }), refusal(503, 'x'), ok]
    const { server, send, waits } = await scripted(steps)
    await expect(send(plainPost)).resolves.toMatchObject({ success: true })
    expect(server.requests).toHaveLength(3)
    expect(waits).toStrictEqual([2_000, 1_000])
  })

  it('follow a 500 to an idempotent request', async () => {
    const { server, send } = await scripted([refusal(500, 'internal_error'), ok, ok])
    await send(keyedPost, key)
    expect(server.requests).toHaveLength(2)
    await send(get)
    expect(server.requests).toHaveLength(3)
  })

  it('obey the number and the longest Retry-After of the call', async () => {
    const unavailable = refusal(503, 'unavailable', { 'retry-after': '2' })
    const { server, send, waits } = await scripted([unavailable, unavailable, unavailable, ok])
    await failureOf(send(get, { maxRetries: 0 }))
    await failureOf(send(get, { maxRetryAfter: 1_999 }))
    expect(waits).toStrictEqual([])
    await send(get, { maxRetries: 1 })
    expect(waits).toStrictEqual([2_000])
    expect(server.requests).toHaveLength(4)
  })

  it('end with the last error when they are used up', async () => {
    const steps = [drop, drop, drop, refusal(503, 'unavailable', { 'retry-after': '2' })]
    const { send, waits } = await scripted(steps)
    expect(await failureOf(send(get))).toMatchObject({
      status: 503,
      code: 'unavailable',
      retryAfter: 2,
    })
    expect(waits).toHaveLength(3)
  })

  it('wait as long as the service asks, but at most a minute', async () => {
    const steps = [
      refusal(429, 'rate_limited', { 'retry-after': '5' }),
      refusal(429, 'rate_limited', { 'retry-after': '3600' }),
    ]
    const { send, waits } = await scripted(steps)
    expect(await failureOf(send(get))).toMatchObject({ status: 429, retryAfter: 3600 })
    expect(waits).toStrictEqual([5_000])
  })
})

describe('the total time of an operation', () => {
  it('covers its attempts and a minute, and begins no further wait', async () => {
    let nowMs = 0
    const unavailable = refusal(503, 'unavailable')
    const { server, send } = await scripted([unavailable, unavailable, ok], {
      timeoutMs: 10_000,
      nowMs: () => nowMs,
      wait: async () => {
        nowMs += 4 * 10_000 + 60_000 - 900
      },
    })
    expect((await failureOf(send(get))).status).toBe(503)
    expect(server.requests).toHaveLength(2)
  })
})

describe('a service that cannot be reached', () => {
  it('causes a connection error that names the cause, not the key', async () => {
    const { server, send } = await scripted([], { retriesMax: 0 })
    await server.close()
    const error = await failureOf(send(get))
    expect(error).toMatchObject({ status: 0, code: 'connection_error' })
    expect(error.message).toContain('ECONNREFUSED')
    expect(error.cause).toBeInstanceOf(Error)
    expect(JSON.stringify(error) + error.message + error.stack).not.toContain('pr_secret')
  })
})

describe('the time-out', () => {
  it.each([
    ['without an answer', hang],
    ['in the middle of the answer', stall],
  ])('ends an attempt %s, and starts anew for the next', async (_, step) => {
    const { server, send, waits } = await scripted([step, ok, ok, ok], { timeoutMs: 300 })
    await expect(send(get)).resolves.toMatchObject({ success: true })
    expect(server.requests.length).toBeGreaterThan(1)
    expect(waits[0]).toBe(500)
  })

  it('is an error of its own when no attempt is left', async () => {
    const { send } = await scripted([hang, hang], { timeoutMs: 50, retriesMax: 1 })
    expect(await failureOf(send(get))).toMatchObject({ status: 0, code: 'timeout' })
  })

  it('can be set for one operation', async () => {
    const { send } = await scripted([hang], { retriesMax: 0 })
    const error = await failureOf(send(get, { timeout: 30 }))
    expect(error.message).toContain('30 ms')
  })

  it('the time-out ends a fetch that ignores its signal', async () => {
    const deaf: typeof fetch = () => new Promise(() => undefined)
    const { send } = await scripted([], { fetch: deaf, timeoutMs: 30, retriesMax: 0 })
    expect((await failureOf(send(get))).code).toBe('timeout')
  })
})

describe('the signal', () => {
  it('prevents the request when it is aborted before', async () => {
    const { server, send } = await scripted([ok])
    const error = await failureOf(send(get, { signal: AbortSignal.abort('why') }))
    expect(error).toMatchObject({ status: 0, code: 'aborted', cause: 'why' })
    expect(server.requests).toHaveLength(0)
  })

  it.each([
    ['the answer', hang],
    ['the rest of the answer', stall],
  ])('ends a wait for %s', async (_, step) => {
    const { server, send } = await scripted([step])
    const controller = new AbortController()
    const failure = failureOf(send(get, { signal: controller.signal }))
    await server.received(1)
    controller.abort()
    expect((await failure).code).toBe('aborted')
    expect(server.requests).toHaveLength(1)
  })

  it('ends a wait for the next attempt', async () => {
    const controller = new AbortController()
    const { server, send } = await scripted(
      [refusal(503, 'unavailable', { 'retry-after': '59' })],
      {
        wait: (ms, signal) => {
          const waiting = waitUnlessAborted(ms, signal)
          controller.abort()
          return waiting
        },
      },
    )
    expect((await failureOf(send(get, { signal: controller.signal }))).code).toBe('aborted')
    expect(server.requests).toHaveLength(1)
  })

  it('has no listener afterwards', async () => {
    const { send } = await scripted([drop, ok, hang], {
      wait: (_, signal) => waitUnlessAborted(1, signal),
    })
    const { signal } = new AbortController()
    await send(get, { signal })
    await failureOf(send(plainPost, { signal, timeout: 20 }))
    expect(getEventListeners(signal, 'abort')).toStrictEqual([])
  })
})

describe('withResponse', () => {
  it('returns the answer of one request with its response and request id', async () => {
    const { server, send } = await scripted([
      reply(201, { success: true, message: 'm' }, { 'x-request-id': 'req_5', ratelimit: 'r=1' }),
    ])
    const pending = send(plainPost)
    const { data, response, requestId } = await pending.withResponse()
    expect(data).toStrictEqual({ success: true, message: 'm' })
    expect([response.status, response.headers.get('ratelimit'), requestId]).toStrictEqual([
      ...[201, 'r=1', 'req_5'],
    ])
    expect(await pending).toBe(data)
    expect(server.requests).toHaveLength(1)
  })

  it('rejects like the promise, and leaves no rejection unhandled', async () => {
    const unhandled: unknown[] = []
    const note = (reason: unknown) => void unhandled.push(reason)
    process.on('unhandledRejection', note)
    onTestFinished(() => void process.off('unhandledRejection', note))
    const { send } = await scripted([refusal(403, 'forbidden'), refusal(403, 'forbidden')])
    expect(await failureOf(send(get).withResponse())).toMatchObject({ code: 'forbidden' })
    expect(await failureOf(send(get))).toMatchObject({ code: 'forbidden' })
    await new Promise((resolve) => setImmediate(resolve))
    expect(unhandled).toStrictEqual([])
  })
})

describe('an answer that never ends', () => {
  it('is cut off long before it fills the memory, and not requested again', async () => {
    const chunk = Buffer.alloc(1024 * 1024, ' ')
    let written = 0
    const flood: Step = (response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      const write = () => {
        if (response.destroyed || written >= 256) return
        written++
        response.write(chunk, write)
      }
      write()
    }
    const { server, send } = await scripted([flood, ok])
    const error = await send(get, undefined).catch((e: unknown) => e)
    expect(error).toBeInstanceOf(PostriderError)
    expect(error).toMatchObject({ status: 200, code: 'unexpected_response' })
    expect(server.requests).toHaveLength(1)
    expect(written).toBeLessThan(200)
  })
})
