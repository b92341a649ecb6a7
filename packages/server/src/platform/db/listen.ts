/**
 * LISTEN on a connection of its own, which is made anew whenever it is lost.
 *
 * A server that freezes, or a line that is cut without a word, looks like silence: so the server is
 * asked for an answer from time to time, and a connection on which none comes is given up.
 * What was said while nobody listened is lost; `onListening` says when that may have been so.
 */

import type { Service } from '@postrider/runtime/service'
import { pause } from '@postrider/runtime/timeout'
import pg from 'pg'
import type { Logger } from '../log.ts'
import { wireOf } from './connection.ts'
import { createPrimaries } from './primaries.ts'

export interface ListenTiming {
  /** How long the server has for an answer. */
  readonly answerMs: number
  /** Between two questions whether it is still there. */
  readonly checkMs: number
  readonly retryMsMin: number
  readonly retryMsMax: number
}

export interface ListenerOptions {
  readonly url: string
  readonly applicationName: string
  readonly channels: readonly string[]
  readonly log: Logger
  readonly onNotification: (channel: string, payload: string) => void
  /** It listens, for the first time or again. */
  readonly onListening: () => void
  readonly timing?: Partial<ListenTiming>
}

const TIMING: ListenTiming = {
  answerMs: 5_000,
  checkMs: 10_000,
  retryMsMin: 100,
  retryMsMax: 10_000,
}

export function createListener(o: ListenerOptions): Service {
  const timing = { ...TIMING, ...o.timing }
  const primaries = createPrimaries({ url: o.url })
  let stopped = new AbortController()
  let running: Promise<void> | undefined

  async function run(signal: AbortSignal): Promise<void> {
    let failures = 0
    while (!signal.aborted) {
      try {
        await listen(signal, () => {
          failures = 0
          o.log.info({ channels: o.channels }, 'notifications.listening')
          o.onListening()
        })
      } catch (error) {
        if (signal.aborted) return
        o.log.warn({ err: error }, 'notifications.lost')
      }
      const waitMs = Math.min(timing.retryMsMin * 2 ** failures, timing.retryMsMax)
      failures += 1
      await pause(waitMs * (0.5 + Math.random() / 2), signal)
    }
  }

  /** Ends with an error when the connection is lost, or cannot be had. */
  async function listen(signal: AbortSignal, onListening: () => void): Promise<void> {
    const client = new primaries.Client({
      connectionString: primaries.url,
      application_name: o.applicationName,
      connectionTimeoutMillis: timing.answerMs,
      query_timeout: timing.answerMs,
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
    })
    const lost = new AbortController()
    client.on('error', (error) => lost.abort(error))
    client.on('end', () => lost.abort(new Error('The connection has ended')))
    client.on('notification', ({ channel, payload }) => o.onNotification(channel, payload ?? ''))
    // Not ended in the ordinary way, for which a frozen server would be waited.
    const cut = () => wireOf(client).stream.destroy()
    signal.addEventListener('abort', cut, { once: true })
    const isOver = AbortSignal.any([signal, lost.signal])
    try {
      await client.connect()
      for (const channel of o.channels) await client.query(`listen ${pg.escapeIdentifier(channel)}`)
      onListening()
      while (!isOver.aborted) {
        await pause(timing.checkMs, isOver)
        if (!isOver.aborted) await client.query('select 1')
      }
      if (!signal.aborted) throw lost.signal.reason
    } finally {
      signal.removeEventListener('abort', cut)
      cut()
    }
  }

  return {
    name: 'notifications listener',
    async start() {
      if (running !== undefined && !stopped.signal.aborted) return
      await running
      stopped = new AbortController()
      running = run(stopped.signal)
    },
    async stop() {
      stopped.abort()
      await running
    },
  }
}
