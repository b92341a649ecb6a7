import { getEventListeners, once } from 'node:events'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import {
  drop,
  hang,
  refusal,
  reply,
  type Step,
  startScriptedServer,
} from '../../test/scripted-server.ts'
import type { RequestOptions } from './options.ts'
import { createOpen, type SendDeps } from './request.ts'

const call = { method: 'GET', path: '/v1/email/logs/export' } as const

async function scripted(steps: Step[], change: Partial<SendDeps> = {}) {
  const server = await startScriptedServer(...steps)
  const open = createOpen({
    ...{ apiKey: 'k', basePath: server.url, userAgent: undefined, fetch: globalThis.fetch },
    ...{ timeoutMs: 20_000, idleTimeoutMs: 20_000, retriesMax: 3, retryAfterMsMax: 60_000 },
    ...{ random: () => 1, nowMs: () => performance.now(), wait: async () => undefined },
    ...change,
  })
  return { server, open: (options?: RequestOptions) => open(call, options) }
}

const pieces =
  (...texts: string[]): Step =>
  (response) => {
    response.writeHead(200, { 'content-type': 'text/csv', 'x-request-id': 'req_1' })
    for (const text of texts) response.write(text)
    response.end()
  }

/** The beginning, then nothing more, or the end of the connection. */
const beginning =
  (text: string, then: 'silence' | 'cut'): Step =>
  (response) => {
    response.writeHead(200)
    if (text === '') response.flushHeaders()
    response.write(text, () => {
      if (then === 'cut') response.destroy()
    })
    if (text === '' && then === 'cut') response.destroy()
  }

/** A stream in memory, fed by hand, and the signal that its request was given. */
function fed() {
  const state: { signal?: AbortSignal | null | undefined; isCancelled: boolean } = {
    isCancelled: false,
  }
  let feed: (text: string) => void = () => undefined
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      feed = (text) => controller.enqueue(new TextEncoder().encode(text))
    },
    cancel() {
      state.isCancelled = true
    },
  })
  const fetch: typeof globalThis.fetch = async (_, init) => {
    state.signal = init?.signal
    return new Response(body)
  }
  return { fetch, state, feed: (text: string) => feed(text) }
}

async function textOf(stream: ReadableStream<Uint8Array>): Promise<string> {
  return new Response(stream).text()
}

describe('the first byte of a stream', () => {
  it.each<[string, Step]>([
    ['a connection that broke', drop],
    ['a refusal', refusal(503, 'unavailable')],
    ['a fault', refusal(500, 'internal_error')],
    ['an answer that broke before its first byte', beginning('', 'cut')],
  ])('is requested again after %s', async (_, step) => {
    const { server, open } = await scripted([step, pieces('a,b\n', 'c,d\n')])
    const { data, response, requestId } = await open().withResponse()
    expect([response.status, requestId]).toStrictEqual([200, 'req_1'])
    expect(await textOf(data)).toBe('a,b\nc,d\n')
    expect(server.requests.map(({ headers }) => headers.accept)).toStrictEqual(['*/*', '*/*'])
  })

  it.each<[string, Step]>([
    ['no answer', hang],
    ['an answer without its first byte', beginning('', 'silence')],
  ])('is awaited for the time of an attempt: %s', async (_, step) => {
    const { open } = await scripted([step], { retriesMax: 0, timeoutMs: 50 })
    await expect(open()).rejects.toMatchObject({ code: 'timeout' })
  })

  it('may be missing in an empty stream', async () => {
    const { open } = await scripted([pieces()])
    expect(await textOf(await open())).toBe('')
  })

  it('must belong to an answer of the right kind', async () => {
    const accepted = reply(202, { success: true, message: 'm' })
    const { open } = await scripted([accepted])
    await expect(open()).rejects.toMatchObject({ status: 202, code: 'unexpected_response' })
  })
})

describe('a stream that has begun', () => {
  it('fails when it is cut, and is not requested again', async () => {
    const { server, open } = await scripted([beginning('a,b\n', 'cut'), pieces('x')])
    const reader = (await open()).getReader()
    expect((await reader.read()).value).toHaveLength(4)
    await expect(reader.read()).rejects.toMatchObject({ code: 'connection_error' })
    expect(server.requests).toHaveLength(1)
  })

  it('fails when its reader waits too long', async () => {
    const { open } = await scripted([beginning('a,b\n', 'silence')])
    const reader = (await open({ idleTimeout: 30 })).getReader()
    await reader.read()
    await expect(reader.read()).rejects.toMatchObject({ status: 0, code: 'timeout' })
  })

  it('does not time out while nobody reads', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const { fetch, feed } = fed()
    const { open } = await scripted([], { fetch, idleTimeoutMs: 1_000 })
    feed('a')
    const reader = (await open()).getReader()
    await reader.read()
    vi.advanceTimersByTime(60_000)
    const next = reader.read()
    feed('b')
    expect((await next).value).toStrictEqual(new TextEncoder().encode('b'))
    const late = expect(reader.read()).rejects.toMatchObject({ code: 'timeout' })
    await vi.advanceTimersByTimeAsync(1_000)
    await late
  })

  it.each(['is being read', 'is not being read'])(
    'ends with the signal while it %s',
    async (how) => {
      const { fetch, feed, state } = fed()
      const { open } = await scripted([], { fetch })
      feed('a')
      const controller = new AbortController()
      const reader = (await open({ signal: controller.signal })).getReader()
      await reader.read()
      const pending = how === 'is being read' ? reader.read() : undefined
      controller.abort('enough')
      await expect(pending ?? reader.read()).rejects.toMatchObject({
        code: 'aborted',
        cause: 'enough',
      })
      expect(state.signal?.aborted).toBe(true)
    },
  )

  it('is closed when it is cancelled', async () => {
    let closed: Promise<unknown> = Promise.resolve()
    const endless: Step = (response, request) => {
      closed = once(response, 'close')
      beginning('a', 'silence')(response, request)
    }
    const { open } = await scripted([endless])
    await (await open()).cancel()
    await closed
  })

  it.each<[string, Step, (stream: ReadableStream<Uint8Array>) => Promise<unknown>]>([
    ['its end', pieces('a', 'b'), textOf],
    ['its failure', beginning('a', 'cut'), (stream) => textOf(stream).catch(() => undefined)],
    ['its reader going away', pieces('a', 'b'), (stream) => stream.cancel()],
  ])('leaves no listener after %s', async (_, step, read) => {
    const { open } = await scripted([drop, step])
    const { signal } = new AbortController()
    await read(await open({ signal }))
    expect(getEventListeners(signal, 'abort')).toStrictEqual([])
  })
})
