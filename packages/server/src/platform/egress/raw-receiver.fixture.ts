/** A receiver of bare connections on loopback, with an egress that may reach it and trusts its authority. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { AddressInfo, Server, Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { createEgress, type Egress } from './egress.ts'
import { EgressError } from './egress-error.ts'
import type { HttpAnswer } from './send-request.ts'

const certs = new URL('../../../../testkit/certs/', import.meta.url)

export function pem(name: string): Buffer {
  return readFileSync(new URL(name, certs))
}

export interface RawReceiver {
  /** Below TLS, where there is any, in the order in which they came. */
  readonly sockets: readonly Socket[]
  readonly egress: Egress
  /** One POST of `[]`; a failure is an answer. */
  send(timeoutMs?: number): Promise<HttpAnswer | EgressError>
  close(): Promise<void>
}

export async function listenRaw(server: Server, scheme: 'http' | 'https'): Promise<RawReceiver> {
  const sockets: Socket[] = []
  server.on('connection', (socket: Socket) => {
    sockets.push(socket)
    socket.on('error', () => socket.destroy())
  })
  server.on('tlsClientError', () => undefined)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const egress = createEgress({
    allowNetworks: ['127.0.0.0/8'],
    tlsCaFile: fileURLToPath(new URL('ca.pem', certs)),
  })
  const { port } = server.address() as AddressInfo
  const o = { poolKey: 'a', url: `${scheme}://127.0.0.1:${port}/`, method: 'POST' } as const
  return {
    sockets,
    egress,
    async send(timeoutMs = 5_000) {
      try {
        return await egress.request({ ...o, headers: {}, body: '[]', timeoutMs })
      } catch (error) {
        if (error instanceof EgressError) return error
        throw error
      }
    },
    async close() {
      await egress.close()
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}
