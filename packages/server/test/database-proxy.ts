/**
 * Stands between a client and the test's database server, and fails as lines and servers do: it
 * cuts the line, or it freezes and says nothing any more.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import net, { type NetConnectOpts } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface DatabaseProxy {
  readonly url: string
  /** What comes from now on, new connections too, is passed on by `thaw` alone. */
  freeze(): void
  thaw(): void
  close(): Promise<void>
}

export async function startDatabaseProxy(
  url: string,
  /** `isCut`: whether the line is cut before this chunk is passed on. */
  o: { readonly isCut?: (chunk: Buffer) => boolean } = {},
): Promise<DatabaseProxy> {
  const { hostname, port, searchParams } = new URL(url.replace('@/', '@host/'))
  const socketDir = searchParams.get('host')
  const target: NetConnectOpts =
    socketDir === null
      ? { host: hostname, port: Number(port || 5432) }
      : { path: `${socketDir}/.s.PGSQL.${searchParams.get('port') ?? '5432'}` }
  const dir = mkdtempSync(join(tmpdir(), 'postrider-proxy-'))
  const sockets = new Set<net.Socket>()
  let isFrozen = false

  const server = net.createServer((client) => {
    const upstream = net.connect(target)
    const pair = [client, upstream] as const
    const cut = () => {
      for (const socket of pair) socket.destroy()
    }
    for (const socket of pair) {
      sockets.add(socket)
      socket.on('error', cut).on('close', () => {
        sockets.delete(socket)
        cut()
      })
    }
    upstream.on('data', (chunk) => client.write(chunk))
    client.on('data', (chunk) => {
      if (o.isCut?.(chunk)) client.destroy()
      else upstream.write(chunk)
    })
    if (isFrozen) for (const socket of pair) socket.pause()
  })
  await new Promise<void>((resolve) => server.listen(join(dir, '.s.PGSQL.5432'), resolve))
  const proxied = new URL(url.replace('@/', '@host/'))
  proxied.searchParams.delete('port')
  proxied.searchParams.set('host', dir)
  proxied.port = ''
  return {
    url: proxied.href,
    freeze() {
      isFrozen = true
      for (const socket of sockets) socket.pause()
    },
    thaw() {
      isFrozen = false
      for (const socket of sockets) socket.resume()
    },
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
      rmSync(dir, { recursive: true })
    },
  }
}
