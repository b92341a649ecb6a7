/**
 * A real HTTP server on loopback that plays one step of a script for each request and records
 * what it was sent. It closes itself, with every connection, when the test is over.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

export interface ReceivedRequest {
  readonly method: string
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

export type Step = (response: ServerResponse, request: IncomingMessage) => void

export function reply(status: number, body: unknown, headers: Record<string, string> = {}): Step {
  return (response) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text)
  }
}

export function refusal(status: number, code: string, headers: Record<string, string> = {}): Step {
  const body = { success: false, message: `refused: ${code}`, code, request_id: 'req_1' }
  return reply(status, body, headers)
}

export const ok = reply(200, { success: true, message: 'done' })

/** Takes the request and never answers. */
export const hang: Step = () => undefined

/** Answers the headers and the first byte, then nothing more. */
export const stall: Step = (response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' })
  response.write('{')
}

/** Closes the connection without an answer. */
export const drop: Step = (_, request) => {
  request.socket.destroy()
}

/** Closes the connection in the middle of the answer. */
export const cut: Step = (response, request) => {
  response.writeHead(200, { 'content-length': '100' })
  response.write('{"success":', () => request.socket.destroy())
}

export async function startScriptedServer(...steps: Step[]) {
  const requests: ReceivedRequest[] = []
  const waiting: (() => void)[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      requests.push({
        method: request.method ?? '',
        path: request.url ?? '',
        headers: request.headers,
        body: Buffer.concat(chunks).toString(),
      })
      const step = steps[requests.length - 1] ?? reply(599, 'the script has no further step')
      step(response, request)
      for (const wake of waiting.splice(0)) wake()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  onTestFinished(close)
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    close,
    /** Resolves when `count` requests have been answered, or left unanswered, by their step. */
    async received(count: number): Promise<void> {
      while (requests.length < count) await new Promise<void>((resolve) => waiting.push(resolve))
    },
  }
}
