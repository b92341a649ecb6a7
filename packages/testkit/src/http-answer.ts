/**
 * What a scripted HTTP server answers instead of being well-behaved, and the giving of it: slowly, in
 * part, without an end, or not at all.
 */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

export interface HttpAnswer {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
  /** Holds the answer back until this settles: a promise of the test. */
  readonly after?: Promise<unknown>
  readonly delayMs?: number
  /** One byte of the body every so many milliseconds. */
  readonly dripMs?: number
  /** `headers`: the header block never ends; `body`: nor does the body; `continue`: 1xx for ever. */
  readonly endless?: 'headers' | 'body' | 'continue'
  /** Cuts the connection after the answer, or instead of it when there is no status. */
  readonly ending?: 'keep' | 'fin' | 'rst' | 'hang'
}

/** Timers that it starts are put into the set, which the server clears when it closes. */
export async function giveAnswer(
  answer: HttpAnswer,
  socket: Socket,
  response: ServerResponse,
  timers: Set<NodeJS.Timeout>,
): Promise<void> {
  if (answer.after !== undefined) await answer.after
  if (answer.delayMs !== undefined) {
    await new Promise<void>((resolve) => timers.add(setTimeout(resolve, answer.delayMs)))
  }
  if (answer.endless === 'continue')
    return repeat(socket, 'HTTP/1.1 102 Processing\r\n\r\n', timers)
  if (answer.endless === 'headers') {
    socket.write(`HTTP/1.1 ${answer.status ?? 200} OK\r\n`)
    return repeat(socket, 'X-More: and more\r\n', timers)
  }
  if (answer.status !== undefined) {
    response.writeHead(answer.status, answer.headers)
    const body = Buffer.from(answer.body ?? '')
    if (answer.endless === 'body') return pour(response)
    if (answer.dripMs !== undefined) await drip(response, body, answer.dripMs, timers)
    else if (body.length > 0) response.write(body)
    // A hang after a status leaves the answer unfinished.
    if (answer.ending === 'hang') return
    await new Promise<void>((resolve) => response.end(() => resolve()))
  }
  if (answer.ending === 'fin') socket.end()
  if (answer.ending === 'rst') socket.resetAndDestroy()
}

function repeat(socket: Socket, text: string, timers: Set<NodeJS.Timeout>): void {
  const timer = setInterval(() => {
    if (socket.writable) socket.write(text)
    else clearInterval(timer)
  }, 20)
  timers.add(timer)
}

function pour(response: ServerResponse): void {
  const block = Buffer.alloc(65_536, 'x')
  const more = (): void => {
    while (!response.destroyed && response.write(block));
    if (!response.destroyed) response.once('drain', more)
  }
  more()
}

function drip(
  response: ServerResponse,
  body: Buffer,
  everyMs: number,
  timers: Set<NodeJS.Timeout>,
): Promise<void> {
  return new Promise((resolve) => {
    let at = 0
    const timer = setInterval(() => {
      response.write(body.subarray(at, at + 1))
      at += 1
      if (at < body.length && !response.destroyed) return
      clearInterval(timer)
      resolve()
    }, everyMs)
    timers.add(timer)
  })
}
