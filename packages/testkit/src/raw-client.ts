/**
 * A client that writes text and waits for text, over SMTP, IMAP or whatever is made of lines: bytes
 * leave exactly as they are given, well or badly, and what came back can be read as it came.
 */
import { connect as connectTcp, type Socket } from 'node:net'
import { type ConnectionOptions, connect as connectTls } from 'node:tls'
import { createSignal } from './signal.ts'

export interface RawClient {
  readonly socket: Socket
  send(bytes: string | Buffer): void
  /** One byte every so many milliseconds, until they are sent or the peer has had enough. */
  drip(bytes: string | Buffer, everyMs: number): Promise<void>
  /** Resolves with all that came up to now, once there is a match, and forgets it. */
  see(pattern: RegExp, timeoutMs?: number): Promise<string>
  /** Sends a line and resolves with the SMTP reply to it, of one line or several. */
  ask(line: string): Promise<string>
  /** Came, and was not yet seen. */
  unread(): string
  /** How the peer ended it. */
  end(): Promise<'fin' | 'reset'>
  /** TLS on the same connection, once the peer has agreed. */
  startTls(o?: ConnectionOptions): Promise<RawClient>
  close(): void
}

const SHOWN = 2_000
const REPLY = /^(?:\d{3}-.*\r\n)*\d{3} .*\r\n$/

/** @param from the address that it comes from, of 127.0.0.0/8 */
export function createRawClient(
  port: number,
  host = '127.0.0.1',
  from: string | undefined = undefined,
): RawClient {
  return toRawClient(
    connectTcp({
      port,
      host,
      noDelay: true,
      ...(from === undefined ? {} : { localAddress: from }),
    }),
  )
}

export function toRawClient(socket: Socket): RawClient {
  const changed = createSignal()
  let received = ''
  let ended: 'fin' | 'reset' | undefined
  const onEnd = (how: 'fin' | 'reset'): void => {
    ended ??= how
    changed.notify()
  }
  socket.on('data', (chunk) => {
    received += chunk.toString('latin1')
    changed.notify()
  })
  socket.on('error', () => onEnd('reset'))
  socket.on('end', () => onEnd('fin'))
  socket.on('close', () => onEnd('reset'))

  const see = async (pattern: RegExp, timeoutMs?: number): Promise<string> => {
    const describe = (): string =>
      `no ${pattern} (${ended ?? 'open'}) in ${received.slice(0, SHOWN)}`
    const isOver = () => pattern.test(received) || ended !== undefined
    await changed.until(isOver, { describe, timeoutMs })
    if (!pattern.test(received)) throw new Error(describe())
    const seen = received
    received = ''
    return seen
  }
  const self: RawClient = {
    socket,
    send: (bytes) => void socket.write(bytes),
    async drip(bytes, everyMs) {
      const all = Buffer.from(bytes)
      await new Promise<void>((resolve) => {
        let at = 0
        const timer = setInterval(() => {
          if (at < all.length && ended === undefined) socket.write(all.subarray(at, ++at))
          else {
            clearInterval(timer)
            resolve()
          }
        }, everyMs)
      })
    },
    see,
    ask(line) {
      self.send(`${line}\r\n`)
      return see(REPLY)
    },
    unread: () => received,
    async end() {
      await changed.until(() => ended !== undefined, {
        describe: () => `open after ${received.slice(0, SHOWN)}`,
      })
      return ended ?? 'reset'
    },
    async startTls(o = { rejectUnauthorized: false }) {
      socket.removeAllListeners('data')
      const secure = connectTls({ ...o, socket })
      await new Promise<void>((resolve, reject) => {
        secure.once('secureConnect', resolve)
        secure.once('error', reject)
      })
      return toRawClient(secure)
    },
    close: () => void socket.destroy(),
  }
  return self
}
