import type { Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { testReceivers } from '../../../test/webhook-api.ts'
import type { Egress } from '../../platform/egress/index.ts'
import { checkReceiver, parseReceiverUrl } from './check-receiver.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

it('has one time limit for lookup and connection together', async () => {
  const timeouts: (number | undefined)[] = []
  const egress: Egress = {
    async check(_host, timeoutMs) {
      timeouts.push(timeoutMs)
      vi.advanceTimersByTime(3_000)
    },
    async connect({ timeoutMs }) {
      timeouts.push(timeoutMs)
      return new PassThrough() as unknown as Socket
    },
    resolve: () => Promise.reject(new Error('it is connected')),
    request: () => Promise.reject(new Error('nothing is sent')),
    isOwnNetwork: () => false,
    tlsForRequests: () => ({}),
    stats: { pools: 0 },
    close: async () => undefined,
  }
  const rules = testReceivers(egress, { connectTimeoutMs: 5_000 })
  await checkReceiver(rules, 'tn_a', parseReceiverUrl('https://hooks.example.test/'))
  expect(timeouts).toEqual([5_000, 2_000])
})
