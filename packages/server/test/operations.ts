/** Operations of one capability behind the real HTTP application, on a database of the test file's own. */
import { type ErrorBody, type OperationId, operations } from '@postrider/contract'
import type { FastifyInstance } from 'fastify'
import type { Static, TSchema } from 'typebox'
import { Check } from 'typebox/value'
import { afterAll, beforeAll, beforeEach, expect } from 'vitest'
import { type Clock, createClock } from '../src/platform/clock.ts'
import type { Db } from '../src/platform/db/index.ts'
import { createHttpApp } from '../src/platform/http/app.ts'
import type { Logger } from '../src/platform/log.ts'
import { createMetrics } from '../src/platform/metrics.ts'
import { createTestDatabase, type TestDatabase } from './database.ts'
import { emptyTables } from './empty-tables.ts'
import { silent } from './sending.ts'

/** A tenant, another one, and keys of the first that read alone, and that do all but read. */
const KEYS = {
  a: { tenantId: 'tn_a', keyId: 'key_a', scopes: [] },
  b: { tenantId: 'tn_b', keyId: 'key_b', scopes: [] },
  reader: { tenantId: 'tn_a', keyId: 'key_r', scopes: ['read'] },
  sender: { tenantId: 'tn_a', keyId: 'key_s', scopes: ['send', 'mailers', 'webhooks'] },
} as const
export type Key = keyof typeof KEYS | 'nobody'

export interface CallOptions {
  readonly key?: Key
  readonly body?: unknown
  /** In place of it: a file. */
  readonly csv?: string | Buffer
  /** With its question mark. */
  readonly query?: string
  readonly params?: Readonly<Record<string, string>>
}

type Answers = Readonly<Partial<Record<OperationId, TSchema | undefined>>>

/** Of an operation without a schema: the text. A test looks at the status before it reads the one or the other. */
type BodyOf<Schema> = (Schema extends TSchema ? Static<Schema> : string) &
  Omit<ErrorBody, 'success'>

export interface Operations<Of extends Answers> {
  readonly db: Db
  /** What succeeds is held against the contract. */
  call<Id extends keyof Of & OperationId>(
    id: Id,
    o?: CallOptions,
  ): Promise<{ status: number; body: BodyOf<Of[Id]> }>
}

export interface OperationDeps {
  readonly db: Db
  readonly clock: Clock
  readonly log: Logger
}

/** `table` is emptied before each test. */
export function useOperations<const Of extends Answers>(o: {
  readonly routes: (app: FastifyInstance, deps: OperationDeps) => void
  readonly table: string
  /** Of those that answer JSON. */
  readonly answers: Of
}): Operations<Of> {
  let database: TestDatabase
  let app: FastifyInstance
  beforeAll(async () => {
    database = await createTestDatabase()
    app = createHttpApp({
      log: silent,
      metrics: createMetrics(),
      authenticateKey: (key) => KEYS[key as keyof typeof KEYS],
    })
    o.routes(app, { db: database.db, clock: createClock(), log: silent })
    await app.ready()
  })
  afterAll(async () => {
    await app.close()
    await database.close()
  })
  beforeEach(async () => {
    await emptyTables(database.db, o.table)
  })
  return {
    get db() {
      return database.db
    },
    async call(id, { key = 'a', body, csv, query = '', params = {} } = {}) {
      const { method, path, status } = operations[id]
      const url = path.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(params[name] ?? ''))
      const response = await app.inject({
        method,
        url: url + query,
        headers: {
          authorization: `Bearer ${key}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(csv === undefined ? {} : { 'content-type': 'text/csv' }),
        },
        ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
        ...(csv === undefined ? {} : { payload: csv }),
      })
      const isJson = String(response.headers['content-type']).startsWith('application/json')
      const answer = isJson ? response.json() : response.payload
      const schema: TSchema | undefined = o.answers[id]
      if (response.statusCode === status && schema !== undefined)
        expect([id, Check(schema, answer)]).toEqual([id, true])
      return { status: response.statusCode, body: answer }
    },
  }
}
