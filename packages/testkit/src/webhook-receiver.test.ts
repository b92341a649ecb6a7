import { readFileSync } from 'node:fs'
import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { connect } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import {
  createWebhookReceiver,
  type WebhookReceiver,
  type WebhookReceiverOptions,
} from './webhook-receiver.ts'

const certificate = (name: string): string =>
  readFileSync(new URL(`../certs/${name}`, import.meta.url), 'utf8')

const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

async function receive(o: WebhookReceiverOptions = {}): Promise<WebhookReceiver> {
  const receiver = await createWebhookReceiver(o)
  closers.push(() => receiver.close())
  return receiver
}

interface Reply {
  readonly status: number
  readonly body: string
}

function post(receiver: WebhookReceiver, path: string, body: string): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const make = receiver.origin.startsWith('https') ? httpsRequest : httpRequest
    const outgoing = make(
      `${receiver.origin}${path}`,
      {
        method: 'POST',
        headers: { 'X-Secret': 'a b', 'content-type': 'application/json' },
        ca: certificate('ca.pem'),
        agent: false,
      },
      (response) => {
        let text = ''
        response.on('data', (chunk: Buffer) => {
          text += chunk.toString()
        })
        response.on('end', () => resolve({ status: response.statusCode ?? 0, body: text }))
        response.on('error', reject)
      },
    )
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}

/** Sends a request by hand and answers what came back by then. */
function postRaw(receiver: WebhookReceiver, isThere: (text: string) => boolean): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(receiver.port, receiver.host)
    closers.push(() => socket.destroy())
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      if (isThere(text)) resolve(text)
    })
    socket.on('error', reject)
    socket.on('end', () => reject(new Error(`ended after ${text}`)))
    socket.write('POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n[]')
  })
}

describe('webhook receiver', () => {
  it('answers 200, and keeps the request as received', async () => {
    const receiver = await receive()
    await expect(post(receiver, '/hook?a=b', '[{"é":1}]')).resolves.toEqual({
      status: 200,
      body: '',
    })
    const [request] = await receiver.waitForRequests(1)
    expect(request).toMatchObject({
      request: 1,
      method: 'POST',
      path: '/hook?a=b',
      json: [{ é: 1 }],
    })
    expect(request?.body).toEqual(Buffer.from('[{"é":1}]'))
    expect(request?.rawHeaders).toContainEqual(['X-Secret', 'a b'])
    expect(request?.header('x-secret')).toBe('a b')
    expect(request?.answer).toEqual({ status: 200 })
    await receiver.waitUntil((all) => all[0]?.answerFlushed === true)
  })

  it('speaks TLS', async () => {
    const receiver = await receive({
      tls: { key: certificate('localhost.key'), cert: certificate('localhost.pem') },
    })
    await expect(post(receiver, '/', '[]')).resolves.toMatchObject({ status: 200 })
  })

  it('answers from a queue, and then 200 again', async () => {
    const receiver = await receive({
      script: [503, { status: 302, headers: { location: 'http://127.0.0.1:1/' }, body: 'there' }],
    })
    expect((await post(receiver, '/', '[]')).status).toBe(503)
    expect(await post(receiver, '/', '[]')).toEqual({ status: 302, body: 'there' })
    expect((await post(receiver, '/', '[]')).status).toBe(200)
  })

  it('answers by a function of the request', async () => {
    const receiver = await receive({ script: ({ path }) => (path === '/gone' ? 410 : undefined) })
    expect((await post(receiver, '/gone', '[]')).status).toBe(410)
    expect((await post(receiver, '/', '[]')).status).toBe(200)
  })

  it('finds a request by its content', async () => {
    const receiver = await receive()
    const found = receiver.waitFor(({ path }) => path === '/second')
    await post(receiver, '/first', '1')
    await post(receiver, '/second', '2')
    expect((await found).body.toString()).toBe('2')
  })

  it('cuts the connection with and without an answer', async () => {
    for (const ending of ['fin', 'rst'] as const) {
      const receiver = await receive({ script: () => ({ ending }) })
      await expect(post(receiver, '/', '[]')).rejects.toThrow(/ECONNRESET|socket hang up/)
      expect(receiver.requests).toHaveLength(1)
    }
    const receiver = await receive({ script: [{ status: 200, ending: 'rst' }] })
    await expect(post(receiver, '/', '[]')).resolves.toMatchObject({ status: 200 })
  })

  it('drips a body, delays, and holds an answer back', async () => {
    let letGo = (): void => undefined
    const after = new Promise<void>((resolve) => {
      letGo = resolve
    })
    const receiver = await receive({
      script: [
        { status: 200, body: 'slow', dripMs: 1, delayMs: 1 },
        { status: 201, after },
      ],
    })
    expect((await post(receiver, '/', '[]')).body).toBe('slow')
    const held = post(receiver, '/', '[]')
    await receiver.waitForRequests(2)
    letGo()
    expect((await held).status).toBe(201)
  })

  it('sends headers, 1xx answers and bodies without end', async () => {
    const receiver = await receive({
      script: [{ endless: 'continue' }, { endless: 'headers' }, { status: 200, endless: 'body' }],
    })
    await postRaw(receiver, (text) => text.includes('HTTP/1.1 102 Processing\r\n\r\n'.repeat(3)))
    await postRaw(receiver, (text) =>
      text.includes(`HTTP/1.1 200 OK\r\n${'X-More: and more\r\n'.repeat(3)}`),
    )
    await postRaw(receiver, (text) => text.length > 1_000_000)
  })

  it('does not count a request that was cut off', async () => {
    const receiver = await receive()
    const socket = connect(receiver.port, receiver.host)
    const closed = new Promise((resolve) => socket.once('close', resolve))
    socket.write('POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 20\r\n\r\n[', () =>
      socket.destroy(),
    )
    await closed
    await post(receiver, '/whole', '[]')
    expect(receiver.requests.map((request) => request.path)).toEqual(['/whole'])
    expect(receiver.connections).toBe(2)
  })
})
