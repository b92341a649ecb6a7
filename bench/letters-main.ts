/**
 * Those who send mail here: connections that write envelope and message in one piece each, look at the
 * answers' codes, and come again after so many messages. Every message has an id of its own, as mail
 * has; also at a steady rate, with the time of each.
 */
import { connect, type Socket } from 'node:net'
import { serveParent } from './worker.ts'

export interface LettersOrder {
  readonly port: number
  /** In turns. */
  readonly to: readonly string[]
  readonly connections: number
  /** On loopback: the senders of tenants have addresses of their own. */
  readonly localAddress?: string
  /** Of the ids, which no other order has. */
  readonly prefix: string
  /** Of the text, apart from the header; or the name of a bomb. */
  readonly bytes: number | BombName
}

export interface SteadyLetters extends LettersOrder {
  readonly perSecond: number
  readonly durationMs: number
}

/** When a message was written, in milliseconds since the epoch. */
export type SentAt = Readonly<Record<string, number>>

/** Nearly 25 MB, which is as much as is taken. */
export type BombName = 'parts' | 'nested' | 'attachment' | 'words' | 'html'

const PER_CONNECTION = 100
const BOMB_BYTES = 24_000_000
const line = 'Your order has left our warehouse and will be with you in two days.\r\n'
let isEnough = false

interface Conversation {
  readonly socket: Socket
  /** So many replies, the last of which has this code. */
  expect(replies: number, code: number): Promise<void>
}

async function open({ port, localAddress }: LettersOrder): Promise<Conversation> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true, localAddress })
  let received = ''
  let look = (): void => undefined
  let failure: Error | undefined
  const fail = (error: Error): void => {
    failure ??= error
    look()
  }
  socket.on('data', (chunk) => {
    received += chunk.toString('latin1')
    look()
  })
  socket.on('error', fail)
  socket.on('close', () => fail(new Error(`closed after ${received}`)))
  const conversation: Conversation = {
    socket,
    expect: (replies, code) =>
      new Promise((resolve, reject) => {
        look = () => {
          const codes = [...received.matchAll(/^(\d{3}) .*\r\n/gm)]
          if (codes.length < replies) {
            if (failure !== undefined) reject(failure)
            return
          }
          look = () => undefined
          const last = codes[replies - 1]?.[1]
          if (Number(last) === code) resolve()
          else reject(new Error(`not ${code}: ${received}`))
          received = ''
        }
        look()
      }),
  }
  await conversation.expect(1, 220)
  socket.write('EHLO bench.test\r\n')
  await conversation.expect(1, 250)
  return conversation
}

interface Sender {
  send(id: string): Promise<void>
  close(): void
}

function createSender(o: LettersOrder): Sender {
  const rest = typeof o.bytes === 'number' ? plainOf(o.bytes) : bombOf(o.bytes)
  let conversation: Conversation | undefined
  let used = 0
  let next = Math.floor(Math.random() * o.to.length)
  const send = async (id: string): Promise<void> => {
    const to = o.to[next++ % o.to.length] ?? ''
    if (conversation === undefined || used === PER_CONNECTION) {
      conversation?.socket.destroy()
      conversation = await open(o)
      used = 0
    }
    used += 1
    conversation.socket.write(`MAIL FROM:<shop@sender.test>\r\nRCPT TO:<${to}>\r\nDATA\r\n`)
    await conversation.expect(3, 354)
    const head = `Message-ID: <${id}@sender.test>\r\nSubject: ${id}\r\nFrom: Shop <shop@sender.test>\r\nTo: ${to}\r\nDate: Fri, 20 Nov 2026 10:00:00 +0000\r\nMIME-Version: 1.0\r\n`
    conversation.socket.cork()
    conversation.socket.write(head)
    conversation.socket.write(rest)
    conversation.socket.uncork()
    await conversation.expect(1, 250)
  }
  return { send, close: () => void conversation?.socket.destroy() }
}

async function send(o: LettersOrder & { readonly count: number }): Promise<{ elapsedMs: number }> {
  let next = 0
  const startedAt = performance.now()
  const work = async (): Promise<void> => {
    const one = createSender(o)
    for (let n = next++; n < o.count; n = next++) await one.send(`${o.prefix}-${n}`)
    one.close()
  }
  await Promise.all(Array.from({ length: o.connections }, work))
  return { elapsedMs: performance.now() - startedAt }
}

/** Each is due at its time, by the next connection in turn; one that is late is late from then on. */
async function steady(o: SteadyLetters): Promise<SentAt> {
  const sentAt: Record<string, number> = {}
  const senders = Array.from({ length: o.connections }, () => createSender(o))
  const busy = senders.map(() => Promise.resolve())
  const total = Math.round((o.durationMs / 1000) * o.perSecond)
  const startedAt = performance.now()
  for (let n = 0; n < total; n += 1) {
    const dueInMs = (n / o.perSecond) * 1000 - (performance.now() - startedAt)
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, dueInMs)))
    const id = `${o.prefix}-${n}`
    const turn = n % o.connections
    sentAt[id] = performance.timeOrigin + performance.now()
    busy[turn] = busy[turn]?.then(() => senders[turn]?.send(id)) ?? Promise.resolve()
  }
  await Promise.all(busy)
  for (const sender of senders) sender.close()
  return sentAt
}

/** One after the other on each connection until it is enough; answers how many were taken. */
async function keepSending(o: LettersOrder): Promise<number> {
  isEnough = false
  let sent = 0
  const work = async (): Promise<void> => {
    const one = createSender(o)
    while (!isEnough) await one.send(`${o.prefix}-${sent++}`)
    one.close()
  }
  await Promise.all(Array.from({ length: o.connections }, work))
  return sent
}

function plainOf(bytes: number): Buffer {
  const text = line.repeat(Math.ceil(bytes / line.length))
  return Buffer.from(`Content-Type: text/plain; charset=utf-8\r\n\r\n${text}.\r\n`)
}

function bombOf(name: BombName): Buffer {
  const filled = (piece: string): string => piece.repeat(Math.floor(BOMB_BYTES / piece.length))
  const mixed = 'Content-Type: multipart/mixed; boundary=b\r\n\r\n'
  const base64 = `${'QUJD'.repeat(19)}\r\n`
  const bodies: Readonly<Record<BombName, () => string>> = {
    parts: () => `${mixed}${filled('--b\r\nContent-Type: text/plain\r\n\r\na\r\n')}--b--\r\n`,
    nested: () => {
      const levels = Array.from(
        { length: 200_000 },
        (_, i) => `Content-Type: multipart/mixed; boundary=n${i}\r\n\r\n--n${i}\r\n`,
      )
      return levels.join('')
    },
    attachment: () =>
      `${mixed}--b\r\nContent-Type: application/octet-stream; name=a.bin\r\nContent-Transfer-Encoding: base64\r\n\r\n${filled(base64)}--b--\r\n`,
    words: () => `X-Words:${filled(' =?utf-8?B?w6TDtsO8?=\r\n')}\r\ntext\r\n`,
    html: () => `Content-Type: text/html\r\n\r\n${filled('<div><table><tr><td>a\r\n')}`,
  }
  return Buffer.from(`${bodies[name]()}.\r\n`)
}

serveParent({
  send,
  steady,
  keepSending,
  enough() {
    isEnough = true
  },
})
