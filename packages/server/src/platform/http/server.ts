/**
 * Listens with an application, and stops gracefully: no new connections, requests under way are
 * answered, idle connections are closed; what is still open after the grace is cut.
 */
import type { AddressInfo, Socket } from 'node:net'
import type { Service } from '@postrider/runtime/service'
import type { FastifyInstance } from 'fastify'

export interface HttpServer extends Service {
  /** With the port that was really taken. */
  address(): { readonly host: string; readonly port: number }
}

export function createHttpServer(
  app: FastifyInstance,
  o: { readonly host: string; readonly port: number; readonly graceMs?: number },
): HttpServer {
  let isClosing = false
  const sockets = new Set<Socket>()
  app.server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  app.addHook('onSend', (_request, reply, payload, done) => {
    if (isClosing) reply.header('connection', 'close')
    done(null, payload)
  })
  return {
    name: 'http',
    async start() {
      await app.listen({ host: o.host, port: o.port })
    },
    async stop() {
      isClosing = true
      const cut = setTimeout(() => app.server.closeAllConnections(), o.graceMs ?? 10_000)
      try {
        const closed = app.close()
        // Node counts a connection that has said nothing yet as busy with its first request.
        for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy()
        await closed
      } finally {
        clearTimeout(cut)
      }
    },
    address() {
      const { address, port } = app.server.address() as AddressInfo
      return { host: address, port }
    },
  }
}
