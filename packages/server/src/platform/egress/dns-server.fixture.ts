/**
 * A name server for tests, on loopback by UDP and TCP (RFC 1035 §4): answers as it is told, or not
 * at all.
 */
import { createSocket } from 'node:dgram'
import { createServer, type Socket } from 'node:net'

const TYPES = { A: 1, CNAME: 5, AAAA: 28 } as const
type RecordType = keyof typeof TYPES

export interface DnsQuestion {
  readonly name: string
  readonly type: 'A' | 'AAAA'
  readonly transport: 'udp' | 'tcp'
}

export interface DnsAnswer {
  /** 0 where absent; 2 SERVFAIL, 3 NXDOMAIN, 5 REFUSED. */
  readonly rcode?: number
  readonly isTruncated?: boolean
  readonly records?: readonly { name?: string; type: RecordType; value: string }[]
}

export interface DnsServer {
  /** As Resolver.setServers takes it. */
  readonly address: string
  readonly questions: readonly (DnsQuestion & { readonly port: number })[]
  /** When the questions so far satisfy the condition. */
  waitFor(condition: () => boolean): Promise<void>
  close(): Promise<void>
}

/** `answer` gives undefined for silence. */
export async function createDnsServer(
  answer: (question: DnsQuestion) => DnsAnswer | undefined,
): Promise<DnsServer> {
  const questions: (DnsQuestion & { port: number })[] = []
  const sockets = new Set<Socket>()
  let waiting: { condition: () => boolean; resolve: () => void }[] = []

  const respond = (
    query: Buffer,
    from: { readonly transport: 'udp' | 'tcp'; readonly port: number },
  ): Buffer | undefined => {
    const question = { ...readQuestion(query), ...from }
    questions.push(question)
    const isDue = ({ condition }: { condition: () => boolean }) => condition()
    for (const waiter of waiting.filter(isDue)) waiter.resolve()
    waiting = waiting.filter((waiter) => !isDue(waiter))
    const given = answer(question)
    return given === undefined ? undefined : writeAnswer(query, question.name, given)
  }

  const tcp = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => sockets.delete(socket))
    let received = Buffer.alloc(0)
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk])
      while (received.length >= 2 && received.length >= 2 + received.readUInt16BE(0)) {
        const end = 2 + received.readUInt16BE(0)
        const response = respond(received.subarray(2, end), {
          transport: 'tcp',
          port: socket.remotePort ?? 0,
        })
        received = received.subarray(end)
        if (response !== undefined) socket.write(Buffer.concat([uint16(response.length), response]))
      }
    })
  })
  await new Promise<void>((resolve) => tcp.listen(0, '127.0.0.1', resolve))
  const bound = tcp.address()
  const port = typeof bound === 'object' && bound !== null ? bound.port : 0

  const udp = createSocket('udp4', (query, { address, port: from }) => {
    const response = respond(query, { transport: 'udp', port: from })
    if (response !== undefined) udp.send(response, from, address)
  })
  await new Promise<void>((resolve, reject) => {
    udp.once('error', reject)
    udp.bind(port, '127.0.0.1', resolve)
  })

  return {
    address: `127.0.0.1:${port}`,
    questions,
    waitFor: (condition) =>
      new Promise((resolve) => {
        if (condition()) resolve()
        else waiting.push({ condition, resolve })
      }),
    async close() {
      for (const socket of sockets) socket.destroy()
      await Promise.all([
        new Promise<void>((resolve) => udp.close(() => resolve())),
        new Promise<void>((resolve) => tcp.close(() => resolve())),
      ])
    },
  }
}

function readQuestion(query: Buffer): { readonly name: string; readonly type: 'A' | 'AAAA' } {
  const labels: string[] = []
  let at = 12
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  const type = query.readUInt16BE(at + 1) === TYPES.AAAA ? 'AAAA' : 'A'
  return { name: labels.join('.').toLowerCase(), type }
}

function writeAnswer(query: Buffer, asked: string, answer: DnsAnswer): Buffer {
  const { rcode = 0, isTruncated = false, records = [] } = answer
  const question = query.subarray(12, 12 + writeName(asked).length + 4)
  const flags = 0x8180 | (isTruncated ? 0x0200 : 0) | rcode
  return Buffer.concat([
    query.subarray(0, 2),
    ...[flags, 1, records.length, 0, 0].map(uint16),
    question,
    ...records.flatMap(({ name = asked, type, value }) => {
      const data = type === 'CNAME' ? writeName(value) : writeAddress(value)
      const ttl = [uint16(0), uint16(60)]
      return [writeName(name), uint16(TYPES[type]), uint16(1), ...ttl, uint16(data.length), data]
    }),
  ])
}

function writeName(name: string): Buffer {
  const labels = name.split('.').map((label) => Buffer.from(`${label}`, 'latin1'))
  return Buffer.concat([
    ...labels.flatMap((label) => [Buffer.from([label.length]), label]),
    Buffer.alloc(1),
  ])
}

/** IPv6 in full, without `::`. */
function writeAddress(text: string): Buffer {
  if (!text.includes(':')) return Buffer.from(text.split('.').map(Number))
  return Buffer.concat(text.split(':').map((word) => uint16(Number.parseInt(word, 16))))
}

function uint16(value: number): Buffer {
  return Buffer.from([value >> 8, value & 0xff])
}
