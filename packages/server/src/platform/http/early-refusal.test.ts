/** A key that floods beyond a quota is refused before its body is read, and only after a pause (ADR 25). */
import { subscribeEmailAnswer, subscribeEmailBody } from '@postrider/contract'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { ApiError } from '../errors.ts'
import { createLogger } from '../log.ts'
import { createMetrics } from '../metrics.ts'
import { createHttpApp, type HttpApp } from './app.ts'
import { addOperation } from './operation.ts'

let app: HttpApp
let events: string[]
let refusal: ApiError | undefined
beforeEach(() => {
  events = []
  app = createHttpApp({
    log: createLogger({ level: 'silent' }),
    metrics: createMetrics(),
    authenticateKey: () => ({ tenantId: 'tn_a', keyId: 'key_a', scopes: [] }),
  })
  addOperation(app, 'subscribeEmail', {
    ...{ summary: 'Refuses early', tag: 'Suppressions', scopes: ['send'] },
    ...{ body: subscribeEmailBody, answer: subscribeEmailAnswer },
    refuseEarly() {
      events.push('asked')
      return refusal
    },
    async handle() {
      events.push('handled')
      return { message: 'Done' }
    },
  })
})
afterEach(async () => {
  vi.useRealTimers()
  await app.close()
})

async function post(body: string) {
  const answer = await app.inject({
    ...{ method: 'POST', url: '/v1/email/subscribe', payload: body },
    headers: { authorization: 'Bearer k', 'content-type': 'application/json' },
  })
  events.push(String(answer.statusCode))
}

/** All that needs no timer has happened. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve))
}

it('answers a refused call only when a timer has run, and never reads its body', async () => {
  await app.ready()
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  refusal = new ApiError('quota_exceeded', { retryAfterS: 1 })
  const answered = post('this is no JSON')
  await settle()
  expect(events).toEqual(['asked'])
  expect(vi.getTimerCount()).toBeGreaterThan(0)
  await vi.advanceTimersToNextTimerAsync()
  await answered
  expect(events).toEqual(['asked', '429'])
})

it('lets any other call go on without a timer', async () => {
  await app.ready()
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  refusal = undefined
  await post(JSON.stringify({ email: 'ada@example.com' }))
  expect(events).toEqual(['asked', 'handled', '200'])
})
