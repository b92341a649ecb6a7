/**
 * Answers what never becomes a request: malformed HTTP, headers without end, requests that do not
 * arrive in time, CONNECT. The same error shape and `X-Request-Id` as everywhere (contract §2),
 * written straight to the socket, which is then closed.
 */
import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { ErrorCode } from '@postrider/contract'
import { newUlid } from '../ids.ts'
import { rawErrorAnswer } from './error-answer.ts'

export type OnBroken = (code: ErrorCode, requestId: string) => void

const CODES: Readonly<Record<string, ErrorCode>> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'payload_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
}

/** Every code that one is answered with. */
export const brokenCodes: readonly ErrorCode[] = [
  ...Object.values(CODES),
  'bad_request',
  'method_not_allowed',
]

export function createClientErrorHandler(
  onBroken: OnBroken,
): (error: Error, socket: Socket) => void {
  return (error, socket) => {
    const reason: unknown = 'code' in error ? error.code : undefined
    if (reason === 'ECONNRESET' || !socket.writable || isAnswering(socket)) {
      socket.destroy()
      return
    }
    const code = (typeof reason === 'string' ? CODES[reason] : undefined) ?? 'bad_request'
    answerAndClose(socket, code, onBroken)
  }
}

/** What the framework leaves to the bare server. */
export function handleUnroutable(server: Server, onBroken: OnBroken): void {
  server.on('connect', (_request, socket: Socket) =>
    answerAndClose(
      socket,
      'method_not_allowed',
      onBroken,
      'Allow: GET, HEAD, POST, PUT, DELETE\r\n',
    ),
  )
  // An expectation other than `100-continue` may be ignored (RFC 9110 §10.1.1).
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))
}

/** A response under way on this socket must not get another one's bytes between its own. */
function isAnswering(socket: Socket & { readonly _httpMessage?: ServerResponse }): boolean {
  return socket._httpMessage?.headersSent === true
}

function answerAndClose(socket: Socket, code: ErrorCode, onBroken: OnBroken, headers = ''): void {
  const requestId = newUlid()
  onBroken(code, requestId)
  socket.write(rawErrorAnswer(code, requestId, headers))
  socket.destroySoon()
}
