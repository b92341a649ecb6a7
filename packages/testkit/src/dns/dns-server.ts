/**
 * A name server on loopback, by UDP and TCP (RFC 1035 §4): answers from records that tests set, or
 * as a script says, well or badly; and keeps what it was asked.
 *
 * An answer that is too long for UDP is truncated, as by any server, and had whole by TCP.
 */
import { createSocket } from 'node:dgram'
import { createServer, type Socket } from 'node:net'
import { createSignal } from '../signal.ts'
import { type DnsQuestionType, type DnsReply, readQuery, uint16, writeReply } from './dns-wire.ts'
import { createDnsZones, type DnsZones } from './dns-zones.ts'

export interface DnsQuestion {
  readonly name: string
  readonly type: DnsQuestionType
  readonly transport: 'udp' | 'tcp'
  /** Of the asker. */
  readonly port: number
}

export interface DnsAnswer extends DnsReply {
  /** The answer names another question's id: such is to be ignored (RFC 5452 §9.1). */
  readonly hasWrongId?: boolean
  /** In place of a message: what is no DNS at all, or made of the query. */
  readonly raw?: Buffer | ((query: Buffer) => Buffer)
  /** Holds the answer back until this settles: a promise of the test. */
  readonly after?: Promise<unknown>
}

/** Undefined: by the records. */
export type DnsScript = (question: DnsQuestion) => DnsAnswer | 'silence' | undefined

export interface DnsServer extends Omit<DnsZones, 'find'> {
  /** As `Resolver.setServers` takes it. */
  readonly address: string
  readonly questions: readonly DnsQuestion[]
  /** How often a name has been asked for, of one type or any. */
  count(name: string, type?: DnsQuestionType): number
  setScript(script: DnsScript | undefined): void
  /** Once the questions so far satisfy the condition. */
  waitFor(isMet: (questions: readonly DnsQuestion[]) => boolean, timeoutMs?: number): Promise<void>
  close(): Promise<void>
}

export async function createDnsServer(
  o: {
    readonly script?: DnsScript
    /** A free one when left out. */
    readonly port?: number
  } = {},
): Promise<DnsServer> {
  const { find, ...zones } = createDnsZones()
  const questions: DnsQuestion[] = []
  const changed = createSignal()
  const sockets = new Set<Socket>()
  let script = o.script

  const respond = async (
    query: Buffer,
    transport: 'udp' | 'tcp',
    port: number,
  ): Promise<Buffer | undefined> => {
    const { name, type, udpBytesMax } = readQuery(query)
    const question = { name, type, transport, port }
    questions.push(question)
    changed.notify()
    const said = script?.(question) ?? find(name, type)
    if (said === 'silence') return undefined
    return write(query, said, transport === 'udp' ? udpBytesMax : 0xffff)
  }

  const tcp = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => sockets.delete(socket))
    let received = Buffer.alloc(0)
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk])
      while (received.length >= 2 && received.length >= 2 + received.readUInt16BE(0)) {
        const query = received.subarray(2, 2 + received.readUInt16BE(0))
        received = received.subarray(2 + query.length)
        respond(query, 'tcp', socket.remotePort ?? 0).then(
          (answer) => {
            if (answer !== undefined && socket.writable)
              socket.write(Buffer.concat([uint16(answer.length), answer]))
          },
          () => socket.destroy(),
        )
      }
    })
  })
  const udp = createSocket('udp4', (query, from) => {
    respond(query, 'udp', from.port).then(
      (answer) => {
        if (answer !== undefined && !isClosed) udp.send(answer, from.port, from.address)
      },
      // What is no query is not answered.
      () => undefined,
    )
  })
  let isClosed = false
  const port = await listenOnBoth(tcp, udp, o.port ?? 0)

  return {
    ...zones,
    address: `127.0.0.1:${port}`,
    questions,
    count: (name, type) =>
      questions.filter((one) => one.name === name && (type === undefined || one.type === type))
        .length,
    setScript(next) {
      script = next
    },
    waitFor: (isMet, timeoutMs) =>
      changed.until(() => isMet(questions), {
        timeoutMs,
        describe: () => `condition not met by ${JSON.stringify(questions)}`,
      }),
    async close() {
      if (isClosed) return
      isClosed = true
      changed.close('the name server was closed')
      for (const socket of sockets) socket.destroy()
      await Promise.all([
        new Promise<void>((resolve) => udp.close(() => resolve())),
        new Promise<void>((resolve) => tcp.close(() => resolve())),
      ])
    },
  }
}

async function write(query: Buffer, answer: DnsAnswer, bytesMax: number): Promise<Buffer> {
  if (answer.after !== undefined) await answer.after
  if (answer.raw !== undefined)
    return typeof answer.raw === 'function' ? answer.raw(query) : answer.raw
  const whole = writeReply(query, answer)
  const message =
    whole.length > bytesMax
      ? writeReply(query, { ...answer, records: [], isTruncated: true })
      : whole
  if (answer.hasWrongId === true) message.writeUInt16BE(message.readUInt16BE(0) ^ 0xffff, 0)
  return message
}

/** On one port, as resolvers expect. The one that TCP was given may be taken for UDP: then another. */
async function listenOnBoth(
  tcp: ReturnType<typeof createServer>,
  udp: ReturnType<typeof createSocket>,
  wanted: number,
): Promise<number> {
  for (let tries = 1; ; tries += 1) {
    await new Promise<void>((resolve, reject) => {
      tcp.once('error', reject)
      tcp.listen(wanted, '127.0.0.1', () => {
        tcp.off('error', reject)
        resolve()
      })
    })
    const bound = tcp.address()
    const port = typeof bound === 'object' && bound !== null ? bound.port : 0
    const problem = await new Promise<Error | undefined>((resolve) => {
      udp.once('error', resolve)
      udp.bind(port, '127.0.0.1', () => {
        udp.off('error', resolve)
        resolve(undefined)
      })
    })
    if (problem === undefined) return port
    await new Promise<void>((resolve) => tcp.close(() => resolve()))
    if (tries === 10 || wanted !== 0) throw problem
  }
}
