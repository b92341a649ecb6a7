/** Serves a folder on loopback as a host of static files does. */
import { once } from 'node:events'
import { createReadStream, existsSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join } from 'node:path'

export interface SiteServer {
  readonly origin: string
  close(): Promise<void>
}

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.wasm': 'application/wasm',
  '.woff2': 'font/woff2',
}

export async function serveSite(folder: string): Promise<SiteServer> {
  const server = createServer(({ url = '/' }, response) => {
    const { pathname } = new URL(url, 'http://site.test')
    const path = join(folder, decodeURIComponent(pathname))
    const file = path.endsWith('/') ? `${path}index.html` : path
    const isThere = existsSync(file) && statSync(file).isFile()
    const sent = isThere ? file : join(folder, '404.html')
    const type = TYPES[extname(sent)] ?? 'application/octet-stream'
    response.writeHead(isThere ? 200 : 404, { 'content-type': type })
    createReadStream(sent).pipe(response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
