import { describe, expect, it, onTestFinished, vi } from 'vitest'
import {
  createWebhookHandler,
  type WebhookContext,
  type WebhookHandlerOptions,
} from './create-webhook-handler.ts'
import type { ReceivedEvent } from './event-types.ts'
import { exampleEvent, exampleRequest } from './examples.ts'
import { WebhookError } from './webhook-error.ts'

const header = 'X-Webhook-Secret'
const secrets = ['secret-1']
const headers = { [header]: 'secret-1' }
const events = [exampleEvent('SMTP_ERROR'), exampleEvent('MAIL_DELIVERED')]

type Options = { readonly [Name in keyof WebhookHandlerOptions]?: unknown }

/** A handler that notes what it is given, and what it answers to a request. */
async function receive(request: Request, options: Options = {}) {
  const seen: ReceivedEvent[] = []
  const errors: unknown[] = []
  const handler = createWebhookHandler({
    header,
    secrets,
    onEvent: (event: ReceivedEvent) => void seen.push(event),
    onError: (error: unknown) => void errors.push(error),
    ...options,
  } as WebhookHandlerOptions)
  const response = await handler(request)
  const text = await response.text()
  expect(text).not.toMatch(/secret-1|at .*:\d+:\d+/)
  return { response, answer: JSON.parse(text) as object, seen, errors }
}

interface PostOptions {
  readonly type?: string
  readonly headers?: Record<string, string>
}

function post(body: RequestInit['body'], { type = 'application/json', ...more }: PostOptions = {}) {
  return new Request('https://hooks.example.com/', {
    method: 'POST',
    headers: { 'content-type': type, ...headers, ...more.headers },
    body,
    duplex: 'half',
  } as RequestInit)
}

/** A body of so many chunks, made only as they are asked for. */
function chunked(count: number, bytes = 1_000) {
  const state = { pulled: 0, isCancelled: false }
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        state.pulled += 1
        if (state.pulled > count) controller.close()
        else controller.enqueue(new Uint8Array(bytes).fill(0x20))
      },
      cancel() {
        state.isCancelled = true
      },
    },
    { highWaterMark: 0 },
  )
  return { body, state }
}

function gate() {
  let open: () => void = () => undefined
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open }
}

describe('a delivery', () => {
  it('[6.2.6] is acknowledged when each event has been handled, in order', async () => {
    const order: string[] = []
    const first = gate()
    const running = receive(exampleRequest(events, { headers }), {
      onEvent: async ({ event }: ReceivedEvent) => {
        order.push(`begin ${event}`)
        if (order.length === 1) await first.opened
        order.push(`end ${event}`)
      },
    })
    let isAnswered = false
    void running.then(() => {
      isAnswered = true
    })
    await vi.waitFor(() => expect(order).toHaveLength(1))
    await new Promise((resolve) => setImmediate(resolve))
    expect([order, isAnswered]).toStrictEqual([['begin SMTP_ERROR'], false])
    first.open()
    const { response, answer, errors } = await running
    expect(response.status).toBe(200)
    expect(answer).toStrictEqual({ success: true, message: 'Handled', events: 2 })
    expect(order.slice(1)).toStrictEqual([
      'end SMTP_ERROR',
      'begin MAIL_DELIVERED',
      'end MAIL_DELIVERED',
    ])
    expect(errors).toStrictEqual([])
  })

  it('is passed as a whole to onEvents', async () => {
    const batches: (readonly ReceivedEvent[])[] = []
    const { response } = await receive(exampleRequest(events, { headers }), {
      onEvent: undefined,
      onEvents: (batch: readonly ReceivedEvent[]) => void batches.push(batch),
    })
    expect(response.status).toBe(200)
    expect(batches).toStrictEqual([events])
  })

  it.each(['DOMAIN_VERIFICATION', 'IMAP_ERROR', 'INCOMING_EMAIL'] as const)(
    'a delivery of a single %s is handled like any other',
    async (name) => {
      const event = exampleEvent(name)
      const { response, seen } = await receive(exampleRequest(event, { headers }))
      expect(response.status).toBe(200)
      expect(seen).toStrictEqual([event])
    },
  )

  it('a delivery of an unknown event is handled and acknowledged', async () => {
    const event = { event: 'MAIL_NEW', details: {} }
    const { response, seen } = await receive(post(JSON.stringify([event])))
    expect(response.status).toBe(200)
    expect(seen).toStrictEqual([event])
  })

  it('[5.3] passes its trace when it is valid', async () => {
    const traceOf = async (traceparent: string) => {
      const seen: WebhookContext[] = []
      await receive(exampleRequest(events, { headers, traceparent }), {
        onEvent: (_: ReceivedEvent, context: WebhookContext) => void seen.push(context),
      })
      return seen.map((context) => context.traceparent)
    }
    const trace = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
    expect(await traceOf(trace)).toStrictEqual([trace, trace])
    expect(await traceOf('not a trace')).toStrictEqual([undefined, undefined])
  })

  it('needs no secret when none is configured', async () => {
    const seen: string[] = []
    const handler = createWebhookHandler({ onEvent: ({ event }) => void seen.push(event) })
    expect((await handler(exampleRequest(events))).status).toBe(200)
    expect(seen).toStrictEqual(['SMTP_ERROR', 'MAIL_DELIVERED'])
  })
})

describe('a request of another sender', () => {
  it.each(['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS'])(
    'is refused with 405: %s',
    async (method) => {
      const request = new Request('https://hooks.example.com/', { method, headers })
      const { response, seen } = await receive(request)
      expect(response.status).toBe(405)
      expect(response.headers.get('allow')).toBe('POST')
      expect(seen).toStrictEqual([])
    },
  )

  it.each<[string, Record<string, string>]>([
    ['another secret', { [header]: 'secret-2' }],
    ['an empty secret', { [header]: '' }],
  ])('[7] is refused with 401 before its body is read: %s', async (_, wrong) => {
    const { body, state } = chunked(3)
    const { response, errors } = await receive(post(body, { headers: wrong }))
    expect(response.status).toBe(401)
    expect(response.headers.has('www-authenticate')).toBe(true)
    expect(state.pulled).toBe(0)
    expect(errors).toMatchObject([{ code: 'unauthorized' }])
    expect(String(errors[0])).toContain(`${header} is none of the secrets`)
    expect(String(errors[0])).not.toMatch(/secret-\d/)
  })

  it('is refused with 401 without the header', async () => {
    const { response, errors } = await receive(exampleRequest(events))
    expect(response.status).toBe(401)
    expect(String(errors[0])).toContain(`${header} is missing`)
  })

  it('is reported once a minute, with the number of such requests', async () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    onTestFinished(() => void vi.useRealTimers())
    const told: string[] = []
    const handler = createWebhookHandler({
      ...{ header, secrets, onEvent: () => undefined },
      onError: (error) => void told.push(String(error)),
    })
    const knock = async () => expect((await handler(exampleRequest(events))).status).toBe(401)
    await knock()
    for (let i = 0; i < 3; i += 1) await knock()
    expect(told).toHaveLength(1)
    vi.advanceTimersByTime(60_000)
    await knock()
    await knock()
    expect(told).toHaveLength(2)
    expect(told[1]).toContain('(4 such requests since the last report)')
  })

  it.each(['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp', ''])(
    'is refused with 415: type %j',
    async (type) => {
      const { response, seen } = await receive(post(JSON.stringify(events), { type }))
      expect(response.status).toBe(415)
      expect(seen).toStrictEqual([])
    },
  )

  it.each(['application/json; charset=utf-8', 'Application/JSON', 'application/cloudevents+json'])(
    'is not refused for a JSON type: %s',
    async (type) => {
      const { response } = await receive(post(JSON.stringify(events), { type }))
      expect(response.status).toBe(200)
    },
  )
})

describe('two configured secrets', () => {
  it.each(['old', 'new'])('accept the %s one', async (secret) => {
    const request = exampleRequest(events, { headers: { [header]: secret } })
    const { response } = await receive(request, { secrets: ['new', 'old'] })
    expect(response.status).toBe(200)
  })
})

describe('a body that is too large', () => {
  it('is refused with 413 unread when it announces its size', async () => {
    const { body, state } = chunked(3)
    const request = post(body, { headers: { 'content-length': '3000' } })
    const { response, errors } = await receive(request, { maxBytes: 2_999 })
    expect(response.status).toBe(413)
    expect(state.pulled).toBe(0)
    expect(errors).toMatchObject([{ name: 'WebhookError', code: 'too_large' }])
  })

  it('is refused with 413 at its limit, and the rest is not read', async () => {
    const { body, state } = chunked(1_000_000)
    const { response } = await receive(post(body), { maxBytes: 2_500 })
    expect(response.status).toBe(413)
    expect(state).toStrictEqual({ pulled: 3, isCancelled: true })
  })

  it('does not keep its single chunks in memory', async () => {
    const octets = new TextEncoder().encode(`${' '.repeat(40_000)}${JSON.stringify(events)}`)
    const chunk = new Uint8Array(1)
    let at = 0
    const body = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          // The same one again: what has been read of it is no longer there.
          chunk[0] = octets[at] ?? 0
          at += 1
          if (at > octets.length) controller.close()
          else controller.enqueue(chunk)
        },
      },
      { highWaterMark: 0 },
    )
    const { response, seen } = await receive(post(body))
    expect(response.status).toBe(200)
    expect(seen).toStrictEqual(events)
  })

  it('is accepted up to the last byte of the limit', async () => {
    const text = JSON.stringify(events)
    const { response } = await receive(post(text), { maxBytes: text.length })
    expect(response.status).toBe(200)
    const { response: refused } = await receive(post(text), { maxBytes: text.length - 1 })
    expect(refused.status).toBe(413)
  })
})

describe('malformed events', () => {
  it('are refused with 422 and their position, so that the service isolates them', async () => {
    const { ref_id: _, ...details } = exampleEvent('MAIL_DELIVERED').details
    const body = JSON.stringify([...events, { ...events[1], details }])
    const { response, answer, seen, errors } = await receive(post(body))
    expect(response.status).toBe(422)
    expect(answer).toMatchObject({
      success: false,
      message: 'Not a webhook of Postrider: /2/details/ref_id is missing',
    })
    expect(seen).toStrictEqual([])
    expect(errors).toMatchObject([{ code: 'not_an_event', path: '/2/details/ref_id' }])
  })
})

describe('a fault of the receiver', () => {
  it.each<[string, RequestInit['body']]>([
    ['an empty body', null],
    ['half a body', JSON.stringify(events).slice(0, 100)],
    ['a body that was written anew', '[object Object]'],
  ])('is answered with 500, so that no event is parked: %s', async (_, body) => {
    const { response, errors } = await receive(post(body))
    expect(response.status).toBe(500)
    expect(errors).toMatchObject([{ code: 'not_json' }])
  })

  it('is answered with 500 when the body has been read before', async () => {
    const request = exampleRequest(events, { headers })
    await request.text()
    const { response, errors } = await receive(request)
    expect(response.status).toBe(500)
    expect(errors).toMatchObject([{ code: 'interrupted' }])
  })

  it('is answered with 500 when the body breaks off', async () => {
    const cause = new Error('secret-1 in a message')
    const body = new ReadableStream({ pull: (controller) => controller.error(cause) })
    const { response, errors } = await receive(post(body))
    expect(response.status).toBe(500)
    expect(errors).toMatchObject([{ code: 'interrupted', cause }])
  })

  it.each<[string, unknown]>([
    ['an error', new Error('secret-1 at /srv/app.ts:1:1')],
    ['an error of this library', new WebhookError('not_an_event', 'secret-1', { path: '/0' })],
    ['what is no error', 'secret-1'],
    ['nothing', undefined],
  ])(
    'is answered with 500 when onEvent throws %s, and the rest is not started',
    async (_, thrown) => {
      const seen: string[] = []
      const { response, answer, errors } = await receive(exampleRequest(events, { headers }), {
        onEvent: ({ event }: ReceivedEvent) => {
          seen.push(event)
          throw thrown
        },
      })
      expect(response.status).toBe(500)
      expect(answer).toStrictEqual({ success: false, message: 'The events could not be handled' })
      expect(seen).toStrictEqual(['SMTP_ERROR'])
      expect(errors).toStrictEqual([thrown])
    },
  )

  it('is answered with 500 when onEvent or onEvents rejects', async () => {
    const reject = () => Promise.reject(new Error('no'))
    const each = await receive(exampleRequest(events, { headers }), { onEvent: reject })
    const all = await receive(exampleRequest(events, { headers }), {
      onEvent: undefined,
      onEvents: reject,
    })
    expect([each.response.status, all.response.status]).toStrictEqual([500, 500])
  })

  const iterables: [string, (promises: Promise<void>[]) => unknown][] = [
    ['an array', (promises) => promises],
    ['a set', (promises) => new Set(promises)],
    ['a promise of an array', async (promises) => promises],
  ]

  it.each(iterables)(
    'is answered with 500 when one of many promises rejects: %s',
    async (_, give) => {
      const finished: string[] = []
      const error = new Error('no')
      const later = async (name: string) => {
        await new Promise((resolve) => setImmediate(resolve))
        finished.push(name)
      }
      const handle = () => give([later('first'), Promise.reject(error), later('last')])
      const each = await receive(exampleRequest(events, { headers }), { onEvent: handle })
      expect([each.response.status, each.errors]).toStrictEqual([500, [error]])
      const all = await receive(exampleRequest(events, { headers }), {
        onEvent: undefined,
        onEvents: handle,
      })
      expect([all.response.status, all.errors]).toStrictEqual([500, [error]])
      expect(finished).toStrictEqual(['first', 'last', 'first', 'last'])
    },
  )

  it.each(iterables)(
    'is not answered before all of many promises are done: %s',
    async (_, give) => {
      let isDone = false
      const later = async () => {
        await new Promise((resolve) => setImmediate(resolve))
        isDone = true
      }
      const handle = () => give([Promise.resolve(), later()])
      const { response } = await receive(exampleRequest(events.slice(0, 1), { headers }), {
        onEvent: undefined,
        onEvents: handle,
      })
      expect([response.status, isDone]).toStrictEqual([200, true])
    },
  )

  it('is printed on the console without onError', async () => {
    const log = vi.spyOn(console, 'error').mockImplementation(() => undefined)
    const error = new Error('seen')
    const handler = createWebhookHandler({ onEvent: () => Promise.reject(error) })
    expect((await handler(exampleRequest(events))).status).toBe(500)
    expect(log.mock.calls).toStrictEqual([[error]])
    log.mockRestore()
  })

  it.each<[string, () => unknown]>([
    [
      'throws',
      () => {
        throw new Error('second')
      },
    ],
    ['rejects', () => Promise.reject(new Error('second'))],
  ])('is answered when onError %s', async (_, onError) => {
    const log = vi.spyOn(console, 'error').mockImplementation(() => undefined)
    const { response } = await receive(post(''), { onError })
    expect(response.status).toBe(500)
    expect(log.mock.calls).toMatchObject([[{ message: 'second' }]])
    log.mockRestore()
  })

  it('is answered when onError never ends', async () => {
    const { response } = await receive(post(''), { onError: () => new Promise(() => undefined) })
    expect(response.status).toBe(500)
  })
})

describe('the time-out', () => {
  it('answers 503, aborts the signal, and starts no further event', async () => {
    const seen: string[] = []
    const aborted = gate()
    const slow = gate()
    const { response, errors } = await receive(exampleRequest(events, { headers }), {
      timeoutMs: 20,
      onEvent: ({ event }: ReceivedEvent, { signal }: WebhookContext) => {
        seen.push(event)
        signal.addEventListener('abort', aborted.open)
        return slow.opened
      },
    })
    await aborted.opened
    expect(response.status).toBe(503)
    expect(errors).toMatchObject([{ code: 'timeout' }])
    slow.open()
    await new Promise((resolve) => setImmediate(resolve))
    expect(seen).toStrictEqual(['SMTP_ERROR'])
  })

  it('ends a body that does not arrive', async () => {
    let isCancelled = false
    const body = new ReadableStream({
      cancel: () => {
        isCancelled = true
      },
    })
    const { response } = await receive(post(body), { timeoutMs: 20 })
    expect(response.status).toBe(503)
    expect(isCancelled).toBe(true)
  })

  it('handles no event of a body that is not complete', async () => {
    const whole = new TextEncoder().encode(JSON.stringify(events))
    const body = new ReadableStream({ start: (controller) => controller.enqueue(whole) })
    const batches: unknown[] = []
    const { response } = await receive(post(body), {
      timeoutMs: 20,
      onEvent: undefined,
      onEvents: (batch: unknown) => void batches.push(batch),
    })
    expect(response.status).toBe(503)
    await new Promise((resolve) => setImmediate(resolve))
    expect(batches).toStrictEqual([])
  })

  it('leaves no timer and no listener behind', async () => {
    vi.useFakeTimers()
    try {
      const { signal } = new AbortController()
      const added = vi.spyOn(AbortSignal.prototype, 'addEventListener')
      const removed = vi.spyOn(AbortSignal.prototype, 'removeEventListener')
      const request = new Request(exampleRequest(events, { headers }), { signal })
      const ofRequest = (calls: unknown[]) => calls.filter((on) => on === request.signal).length
      const before = ofRequest(added.mock.contexts)
      await receive(request)
      await receive(post(''))
      expect(vi.getTimerCount()).toBe(0)
      expect(ofRequest(added.mock.contexts) - before).toBe(1)
      expect(ofRequest(removed.mock.contexts)).toBe(1)
    } finally {
      vi.restoreAllMocks()
      vi.useRealTimers()
    }
  })
})

describe('a sender that hangs up', () => {
  it('stops the reading, the handling and the waiting', async () => {
    const controller = new AbortController()
    const seen: string[] = []
    const request = new Request(exampleRequest(events, { headers }), { signal: controller.signal })
    const { response, errors } = await receive(request, {
      onEvent: ({ event }: ReceivedEvent, { signal }: WebhookContext) => {
        seen.push(event)
        controller.abort()
        expect(signal.aborted).toBe(true)
      },
    })
    expect(response.status).toBe(500)
    expect(errors).toMatchObject([{ code: 'interrupted' }])
    expect(seen).toStrictEqual(['SMTP_ERROR'])
  })

  it('a sender that hangs up before the beginning has nothing handled', async () => {
    const request = new Request(exampleRequest(events, { headers }), {
      signal: AbortSignal.abort(),
    })
    const { response, seen } = await receive(request)
    expect(response.status).toBe(500)
    expect(seen).toStrictEqual([])
  })
})

describe('createWebhookHandler', () => {
  const onEvent = () => undefined
  it.each<[string, unknown]>([
    ['a header without secrets', { onEvent, header }],
    ['secrets without a header', { onEvent, secrets }],
    ['no secrets', { onEvent, header, secrets: [] }],
    ['a secret that is not set', { onEvent, header, secrets: [undefined] }],
    ['an empty secret', { onEvent, header, secrets: [''] }],
    ['nobody to handle events', { header, secrets }],
    ['two to handle events', { onEvent, onEvents: onEvent }],
    ['a limit of nothing', { onEvent, maxBytes: 0 }],
    ['a limit that is no number', { onEvent, maxBytes: '1' }],
    ['no time', { onEvent, timeoutMs: 0 }],
    ['more time than timers have', { onEvent, timeoutMs: 2 ** 31 }],
    ['a time that is no number', { onEvent, timeoutMs: Number.NaN }],
  ])('throws at once for %s', (_, options) => {
    expect(() => createWebhookHandler(options as WebhookHandlerOptions)).toThrow(TypeError)
  })

  it('has types that require one way to handle events', () => {
    createWebhookHandler({ onEvents: async (events) => void events.length })
    const store = async () => undefined
    // @ts-expect-error promises that nobody waits for
    createWebhookHandler({ onEvents: (events) => events.map(store) })
    // @ts-expect-error likewise
    createWebhookHandler({ onEvent: () => [store()] })
    // @ts-expect-error neither
    expect(() => createWebhookHandler({ header, secrets })).toThrow()
    // @ts-expect-error both
    expect(() => createWebhookHandler({ onEvent, onEvents: onEvent })).toThrow()
  })
})
