/** The API of some operations: keys of two tenants and of scopes, and answers held against the contract. */
import { PassThrough } from 'node:stream'
import { type OperationId, operations } from '@postrider/contract'
import type { FastifyInstance } from 'fastify'
import type { TSchema } from 'typebox'
import { Check } from 'typebox/value'
import { expect } from 'vitest'
import { createHttpApp } from '../src/platform/http/app.ts'
import { createLogger, type Logger } from '../src/platform/log.ts'
import { createMetrics } from '../src/platform/metrics.ts'

const KEYS = {
  a: { tenantId: 'tn_a', scopes: [] },
  b: { tenantId: 'tn_b', scopes: [] },
  mailers: { tenantId: 'tn_a', scopes: ['mailers'] },
  reader: { tenantId: 'tn_a', scopes: ['read'] },
  sender: { tenantId: 'tn_a', scopes: ['send', 'webhooks'] },
} as const
export type Key = keyof typeof KEYS | 'nobody'

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  // biome-ignore lint/suspicious/noExplicitAny: what a test reads is what it checks
  readonly body: any
}

export interface CallOptions {
  readonly key?: Key
  readonly domain?: string
  readonly username?: string
  readonly body?: object
  readonly query?: string
  readonly traceparent?: string
}

export interface TestApi<Id extends OperationId> {
  readonly log: Logger
  /** What was logged and answered. */
  readonly seen: string[]
  createApp(): FastifyInstance
  /** What succeeds is held against the contract. */
  call(app: FastifyInstance, id: Id, o?: CallOptions): Promise<Answer>
}

export function createTestApi<Id extends OperationId>(
  answers: Readonly<Record<Id, TSchema>>,
): TestApi<Id> {
  const seen: string[] = []
  const destination = new PassThrough()
  destination.on('data', (line: Buffer) => seen.push(line.toString()))
  const log = createLogger({ level: 'trace', destination })
  return {
    log,
    seen,
    createApp: () =>
      createHttpApp({
        log,
        metrics: createMetrics(),
        authenticateKey: (key) => {
          const found = KEYS[key as keyof typeof KEYS]
          return found === undefined ? undefined : { ...found, keyId: `key_${key}` }
        },
      }),
    async call(app, id, o = {}) {
      const { key = 'a', domain = '', username = '', body, query = '', traceparent } = o
      const { method, path, status } = operations[id]
      const response = await app.inject({
        method,
        url:
          path
            .replace('{domain}', encodeURIComponent(domain))
            .replace('{username}', encodeURIComponent(username)) + query,
        headers: {
          authorization: `Bearer ${key}`,
          ...(traceparent === undefined ? {} : { traceparent }),
        },
        ...(body === undefined ? {} : { payload: body }),
      })
      const answer = response.json()
      seen.push(response.payload, JSON.stringify(response.headers))
      if (response.statusCode === status)
        expect([id, Check(answers[id], answer)]).toEqual([id, true])
      return { status: response.statusCode, headers: response.headers, body: answer }
    },
  }
}
