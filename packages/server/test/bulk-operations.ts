/**
 * What tests of operations on many emails share: the real HTTP application with their routes, callers, and a mail
 * server that refuses until it is told to accept.
 */
import {
  type ConcurrencyLimiter,
  createConcurrencyLimiter,
} from '@postrider/runtime/concurrency-limiter'
import type { FastifyInstance } from 'fastify'
import type { TSchema } from 'typebox'
import { Check } from 'typebox/value'
import { beforeEach, expect } from 'vitest'
import type { Db } from '../src/platform/db/index.ts'
import { createHttpApp } from '../src/platform/http/app.ts'
import type { Logger } from '../src/platform/log.ts'
import { createMetrics } from '../src/platform/metrics.ts'
import { noDiskGuard } from '../src/platform/process/disk-guard.ts'
import {
  createQueueWakeups,
  type QueueWakeups,
  type WokenQueue,
} from '../src/sending/queue/queue-wakeups.ts'
import { eventsOf, inShort, recipientsOf, type SendingWorld } from './sender.ts'
import { addMailer, silent } from './sending.ts'

const KEYS = {
  a: { tenantId: 'tn_a', keyId: 'key_a', scopes: [] },
  b: { tenantId: 'tn_b', keyId: 'key_b', scopes: [] },
  reader: { tenantId: 'tn_a', keyId: 'key_r', scopes: ['read', 'content'] },
  sender: { tenantId: 'tn_a', keyId: 'key_s', scopes: ['send'] },
} as const

/** What the routes of each such operation need. */
export interface BulkParts {
  readonly db: Db
  readonly log: Logger
  readonly wakeups: QueueWakeups
  readonly disk: typeof noDiskGuard
  readonly limiter: ConcurrencyLimiter
}

export interface BulkCallOptions {
  readonly key?: keyof typeof KEYS | 'nobody'
  readonly on?: FastifyInstance
}

/** @param mount adds the routes, with what a test wants to have otherwise */
export function useBulkOperations<Deps>(
  world: SendingWorld,
  mount: (app: FastifyInstance, parts: BulkParts, change: Partial<Deps>) => void,
) {
  const woken: WokenQueue[] = []
  beforeEach(() => {
    woken.length = 0
  })

  function serve(change: Partial<Deps> = {}): FastifyInstance {
    const app = createHttpApp({
      log: silent,
      metrics: createMetrics(),
      authenticateKey: (key) => KEYS[key as keyof typeof KEYS],
    })
    const wakeups = createQueueWakeups()
    wakeups.onWake((queues) => woken.push(...queues))
    const limiter = createConcurrencyLimiter({
      name: 'bulk',
      atOnceMax: 4,
      atOncePerCallerMax: 4,
      waitingPerCallerMax: 4,
    })
    mount(app, { db: world.db, log: silent, wakeups, disk: noDiskGuard, limiter }, change)
    return app
  }

  return {
    /** Mailer queues that were woken in this test. */
    woken,
    serve,
    /** `shape`: of the answer 202. */
    async call(
      operation: { readonly path: string; readonly shape: TSchema },
      payload: unknown,
      { key = 'a', on = serve() }: BulkCallOptions = {},
    ) {
      const response = await on.inject({
        method: 'POST',
        url: operation.path,
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        payload: JSON.stringify(payload),
      })
      const body = response.json()
      if (response.statusCode === 202) expect(Check(operation.shape, body)).toBe(true)
      return { status: response.statusCode, body }
    },
    /** A mail server that answers recipients with `reply` for as long as there is one. */
    async serveMail(reply: string) {
      const script: { reply: string | undefined } = { reply }
      const server = await world.serve((now) =>
        now.phase === 'rcpt' ? script.reply || undefined : undefined,
      )
      const { mailerId } = await addMailer(world.db, { port: server.port })
      return { server, script, mailerId }
    },
    statuses: async (refId: string) =>
      (await recipientsOf(world.db, refId)).map(({ status }) => status),
    shorts: async (refId?: string) => (await eventsOf(world.db, refId)).map(inShort),
  }
}
