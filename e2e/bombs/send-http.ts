/** HTTP requests as bytes, well formed or not; answered by whatever comes until the connection ends. */
import { createConnection } from 'node:net'

export function latin1(text: string): Buffer {
  return Buffer.from(text, 'latin1')
}

/**
 * Half-closes behind the request, so that no reader waits for more of it, unless it is whole: a server
 * gives up what it is at when its client closes.
 */
export async function sendHttp(
  port: number,
  request: string | Buffer,
  o: { readonly isWhole: boolean } = { isWhole: false },
): Promise<string> {
  const socket = createConnection({ port, host: '127.0.0.1' })
  const parts: Buffer[] = []
  await new Promise<void>((resolve) => {
    socket.on('data', (part) => parts.push(part))
    // A reader that has had enough resets the connection.
    socket.on('error', () => undefined)
    socket.on('close', () => resolve())
    const bytes = typeof request === 'string' ? latin1(request) : request
    if (o.isWhole) socket.write(bytes)
    else socket.end(bytes)
  })
  return Buffer.concat(parts).toString('latin1')
}

export function postRaw(
  port: number,
  path: string,
  text: string,
  headers: Readonly<Record<string, string>>,
): Promise<string> {
  const body = latin1(text)
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const head = `POST ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: ${body.length}\r\n${lines.join('')}\r\n`
  return sendHttp(port, Buffer.concat([latin1(head), body]), { isWhole: true })
}
