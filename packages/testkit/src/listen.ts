/** The listening side of the scripted servers. */
import { createServer, type Server, type Socket } from 'node:net'

/** Resolves with the port: a free one for 0. */
export function listen(server: Server, port = 0, host = '127.0.0.1'): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      const address = server.address()
      resolve(typeof address === 'object' && address !== null ? address.port : port)
    })
  })
}

export interface MailListener {
  readonly port: number
  /** Those that were refused among them. */
  readonly connections: number
  readonly openConnections: number
  close(): Promise<void>
}

export interface MailListenerOptions {
  readonly port: number | undefined
  readonly host: string
  /** At a time; those beyond are told the refusal and closed. */
  readonly connectionsMax: number | undefined
  readonly refusal: string
  /** Connections are counted from 1. */
  readonly serve: (socket: Socket, connection: number) => void
  readonly onClosed: () => void
}

/** Of a server that speaks first. A client may close its half. */
export async function createMailListener(o: MailListenerOptions): Promise<MailListener> {
  const sockets = new Set<Socket>()
  let connections = 0

  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket)
    socket.once('close', () => {
      sockets.delete(socket)
      o.onClosed()
    })
    socket.setNoDelay(true)
    connections += 1
    if (o.connectionsMax !== undefined && sockets.size > o.connectionsMax) {
      socket.on('error', () => socket.destroy())
      socket.end(`${o.refusal}\r\n`)
      return
    }
    o.serve(socket, connections)
  })
  const port = await listen(server, o.port, o.host)

  return {
    port,
    get connections() {
      return connections
    },
    get openConnections() {
      return sockets.size
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}
