import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createClock } from '../../../platform/clock.ts'
import { type Egress, EgressError } from '../../../platform/egress/index.ts'
import { createLogger } from '../../../platform/log.ts'
import { createKeyRing } from '../../../platform/secrets/index.ts'
import { sealHeaders } from '../../subscriptions/custom-headers.ts'
import { makeRequest } from './make-request.ts'
import { createTargetCache } from './target-cache.ts'

const key = { tenantId: 'tn_a', webhookId: 'wh_1' }
const keyRing = createKeyRing(`k1:${randomBytes(32).toString('base64')}`)
const headersSealed = sealHeaders(keyRing, key, [['X-Secret', 'canary-value']])

/** What is recorded of a request that this answers, or throws. */
async function recordOf(answer: string | EgressError) {
  const egress = {
    request: async () => {
      if (typeof answer !== 'string') throw answer
      return { status: 500, headers: {}, body: answer, timings: { totalMs: 1 } }
    },
  } as unknown as Egress
  const made = await makeRequest(
    {
      clock: createClock(),
      egress,
      keyRing,
      targets: createTargetCache(),
      log: createLogger({ level: 'silent' }),
      allowHttp: false,
      timeoutMs: 1_000,
    },
    {
      key,
      target: { url: 'https://hooks.example.test/', headersSealed },
      deliveryId: 'dlv_1',
      traceparent: '',
      body: '[]',
      signal: new AbortController().signal,
    },
  )
  if (typeof made !== 'object') throw new Error('nothing was recorded')
  return JSON.parse(made.record) as { response: string | null; error: string | null }
}

describe('the record of a request', () => {
  it('is without header values', async () => {
    expect((await recordOf('not canary-value!')).response).toBe('not ***!')
    const { error } = await recordOf(new EgressError('connect', 'by canary-value!'))
    expect(error).toBe('connect: by ***!')
  })

  it('has at most 500 characters of an error', async () => {
    const { error } = await recordOf(new EgressError('connect', 'x'.repeat(600)))
    expect(error).toBe('connect: '.padEnd(500, 'x'))
  })

  it('has no control characters but tabs and line ends', async () => {
    const text = 'a\0b\u0001c\u001bd\u007fe\t\r\n\u0085\ud800f'
    const shown = 'a\ufffdb\ufffdc\ufffdd\ufffde\t\r\n\u0085\ufffdf'
    expect((await recordOf(text)).response).toBe(shown)
    const { error } = await recordOf(new EgressError('connect', text))
    expect(error).toBe(`connect: ${shown}`)
  })

  it('has at most 4 KiB of an answer, in whole characters', async () => {
    expect((await recordOf('\0'.repeat(4_096))).response).toBe('\ufffd'.repeat(1_365))
    expect((await recordOf(`x${'\u{1f600}'.repeat(2_000)}`)).response).toBe(
      `x${'\u{1f600}'.repeat(1_023)}`,
    )
    expect((await recordOf('x'.repeat(4_096))).response).toBe('x'.repeat(4_096))
  })
})
