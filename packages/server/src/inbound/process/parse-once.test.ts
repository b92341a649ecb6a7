import { unreadMessage } from '@postrider/mail'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { StoredMessage } from '../messages/message-store.ts'
import { createParseOnce } from './parse-once.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const MIB = 1024 * 1024

function messageOf(rawId: string, o: Partial<StoredMessage> & { readonly bytes?: number } = {}) {
  const raw = Buffer.alloc(o.bytes ?? 10)
  return { tenantId: 'tn_a', rawId, source: 'smtp', ...o, raw } as StoredMessage & {
    readonly raw: Buffer
  }
}

function counting(refuse = 0) {
  let refusals = refuse
  const seen: string[] = []
  const parseOnce = createParseOnce({
    async parse(tenantId) {
      seen.push(tenantId)
      if (refusals-- > 0) throw new Error('too much of one tenant waits')
      return unreadMessage('a')
    },
  })
  return { seen, parseOnce }
}

describe('a message that goes to several routes', () => {
  it('is parsed once, for concurrent and for later routes', async () => {
    const { seen, parseOnce } = counting()
    await Promise.all([parseOnce(messageOf('in_1')), parseOnce(messageOf('in_1'))])
    await parseOnce(messageOf('in_1'))
    expect(seen).toHaveLength(1)
  })

  it('is parsed for each tenant, and again after a while', async () => {
    const { seen, parseOnce } = counting()
    await parseOnce(messageOf('in_1'))
    await parseOnce(messageOf('in_1', { tenantId: 'tn_b' }))
    expect(seen).toEqual(['tn_a', 'tn_b'])
    vi.advanceTimersByTime(10_000)
    await parseOnce(messageOf('in_1'))
    expect(seen).toHaveLength(3)
    vi.advanceTimersByTime(10_000)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('is parsed again after a refusal', async () => {
    const { seen, parseOnce } = counting(1)
    await expect(parseOnce(messageOf('in_1'))).rejects.toThrow('too much')
    await parseOnce(messageOf('in_1'))
    expect(seen).toHaveLength(2)
  })
})

describe('the cache of parsed messages', () => {
  it('is bounded in bytes, and evicts the oldest', async () => {
    const { seen, parseOnce } = counting()
    for (const id of ['in_1', 'in_2', 'in_3', 'in_3', 'in_2', 'in_1'])
      await parseOnce(messageOf(id, { bytes: 15 * MIB }))
    expect(seen).toHaveLength(4)
    await parseOnce(messageOf('in_4', { bytes: 33 * MIB }))
    await parseOnce(messageOf('in_4', { bytes: 33 * MIB }))
    expect(seen).toHaveLength(6)
  })

  it('holds at most 256 messages', async () => {
    const { seen, parseOnce } = counting()
    for (let i = 0; i <= 256; i++) await parseOnce(messageOf(`in_${i}`))
    await parseOnce(messageOf('in_1'))
    expect(seen).toHaveLength(257)
    await parseOnce(messageOf('in_0'))
    expect(seen).toHaveLength(258)
  })

  it('does not hold messages of mailboxes, which are read once anyway', async () => {
    const { parseOnce } = counting()
    await parseOnce(messageOf('in_1', { source: 'imap' }))
    expect(vi.getTimerCount()).toBe(0)
  })
})
