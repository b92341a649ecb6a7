import { afterAll, describe, expect, it } from 'vitest'
import { adapterOf } from '../adapters.ts'
import { callbackInPlaceBytesMax, createCallbackReader } from './callback-reader.ts'

const reader = createCallbackReader({ adapterOf })
afterAll(() => reader.stop())

/** SendGrid's reports, each with integers that a double does not carry, and names of its own. */
function callbackOf(count: number): Buffer {
  const reports = Array.from({ length: count }, (_, i) => {
    const odd = Array.from({ length: 12 }, (_, k) => `"m${i}_${k}":12345678901234567890`)
    return `{"email":"r${i}@example.com","event":"delivered","timestamp":1700000000,"sg_event_id":"e${i}",${odd.join(',')}}`
  })
  return Buffer.from(`[${reports.join(',')}]`)
}

describe('a long callback', () => {
  it('is read like a short one', async () => {
    const body = callbackOf(2_500)
    expect(body.length).toBeGreaterThan(callbackInPlaceBytesMax)
    const read = await reader.read('tn_a', 'sendgrid', body)
    expect(read?.isEmpty).toBe(false)
    expect(read?.parts).toHaveLength(3)
    expect(read?.parts.flatMap((open) => open())).toEqual(
      adapterOf('sendgrid').callbacks.read(body.toString()),
    )
    // It is the caller's still: it is stored as it came.
    expect(body.length).toBeGreaterThan(callbackInPlaceBytesMax)
  })

  it('is refused when it is not from the provider', async () => {
    const body = Buffer.from(`[${' '.repeat(callbackInPlaceBytesMax)}`)
    expect(await reader.read('tn_a', 'sparkpost', body)).toBeUndefined()
  })

  it('keeps the event loop for a fraction of the time limit', async () => {
    const body = callbackOf(8_000)
    await reader.read('tn_a', 'sendgrid', callbackOf(2_500))
    const before = process.threadCpuUsage()
    const read = await reader.read('tn_a', 'sendgrid', body)
    const { user, system } = process.threadCpuUsage(before)
    expect(read?.parts).toHaveLength(8)
    // In place it takes 280 ms; the bound is 50 ms.
    expect((user + system) / 1000).toBeLessThan(100)
  })
})

it('reads a short callback in place', async () => {
  const read = await reader.read('tn_a', 'sendgrid', callbackOf(2))
  expect(read?.parts.map((open) => open().length)).toEqual([2])
})

it('ignores reports of unknown kinds', async () => {
  const body = Buffer.from('[{"email":"a@example.com","event":"open","timestamp":1}]')
  expect(await reader.read('tn_a', 'sendgrid', body)).toMatchObject({ isEmpty: true })
})
