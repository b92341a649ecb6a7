/**
 * Answers what never becomes a request: malformed HTTP, headers without end, requests that do not
 * arrive in time, CONNECT. The same error shape and `X-Request-Id` as everywhere
 * (docs/reference/errors.md#shape), written straight to the socket, which is then closed.
 */
import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { type ErrorCode, errorCatalogue } from '@postrider/contract'
import { ApiError } from '../../errors.ts'
import { newUlid } from '../../ids.ts'
import { errorBodyOf, rawErrorAnswer } from '../error-answer.ts'
import type { Refusal } from './connection-limits.ts'

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

/** Answers what a limit of connections refuses, and closes the connection. */
export function answerRefused({ code, message }: Refusal, to: Socket | ServerResponse): void {
  const requestId = newUlid()
  const [name, value] = ['Retry-After', '1']
  if ('writeHead' in to) {
    const body = JSON.stringify(errorBodyOf(new ApiError(code, { message }), requestId))
    to.writeHead(errorCatalogue[code].status, {
      'x-request-id': requestId,
      'content-type': 'application/json; charset=utf-8',
      [name]: value,
      connection: 'close',
    }).end(body)
    return
  }
  to.on('error', () => to.destroy())
  to.write(rawErrorAnswer(code, requestId, `${name}: ${value}\r\n`, message))
  to.destroySoon()
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
