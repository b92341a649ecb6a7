import { describe, expect, it } from 'vitest'
import { createMailerQueue, type LeasedRecipient } from '../mailer-queue.ts'
import { createLargeBudget } from './large-email-budget.ts'

const MB = 1024 * 1024

/** Begins rows of so many MiB, as long as they fit. */
function world() {
  const waiting = new Set<LeasedRecipient>()
  const budget = createLargeBudget({ isWaiting: (row) => waiting.has(row) })
  const rowOf = (tenantId: string, mb: number, mailerId = 'smtp_1'): LeasedRecipient => {
    const row = {
      loaded: { claim: { tenantId, mailerId, contentBytes: mb * MB } } as LeasedRecipient['loaded'],
      queue: createMailerQueue({ tenantId, mailerId, bucket: 0 }),
      validUntilMs: 0,
    }
    waiting.add(row)
    return row
  }
  const begin = (row: LeasedRecipient) => {
    if (!budget.hasRoomFor(row)) return undefined
    waiting.delete(row)
    return budget.begin(row)
  }
  /** Gives up when it does not fit. */
  const take = (tenantId: string, mb: number) => {
    const row = rowOf(tenantId, mb)
    const use = begin(row)
    waiting.delete(row)
    return use
  }
  return { rowOf, begin, waiting, take }
}

describe('large emails under way', () => {
  it('have 100 MiB in all and 50 MiB for one tenant; small emails do not count', () => {
    const { take } = world()
    expect(take('a', 30)).toBeDefined()
    expect(take('a', 21)).toBeUndefined()
    expect(take('a', 20)).toBeDefined()
    expect(take('b', 50)).toBeDefined()
    expect(take('c', 1)).toBeUndefined()
    expect(take('c', 0.1)).toBeDefined()
  })

  it('count twice with a relay provider: once as text and once as bytes', () => {
    const { begin, rowOf } = world()
    expect(begin(rowOf('a', 15, 'domain_1'))).toBeDefined()
    expect(begin(rowOf('a', 11, 'domain_1'))).toBeUndefined()
    expect(begin(rowOf('b', 10, 'domain_2'))).toBeDefined()
  })

  it('may have any size when no other large email is under way', () => {
    const { take } = world()
    const use = take('a', 200)
    expect(use).toBeDefined()
    expect(take('b', 1)).toBeUndefined()
    use?.end()
    use?.end()
    expect(take('b', 1)).toBeDefined()
  })

  it('leave the main budget when they are slow; one tenant has 1/8 of the 300 MiB for slow ones', () => {
    const { take } = world()
    const slow = take('a', 30)
    slow?.slow()
    expect(take('a', 8)).toBeUndefined()
    const other = take('a', 7)
    expect(other).toBeDefined()
    other?.slow()
    expect(take('a', 1)).toBeUndefined()
    expect(take('b', 50)).toBeDefined()
    expect(take('c', 50)).toBeDefined()
    slow?.end()
    slow?.slow()
    expect(take('d', 1)).toBeUndefined()
  })

  it('stay in the main budget while 300 MiB are slow, and leave it when some of those end', () => {
    const { take } = world()
    const slow = Array.from({ length: 6 }, (_, i) => {
      const use = take(`slow${i}`, 50)
      use?.slow()
      return use
    })
    const stuck = [take('c', 50), take('d', 50)]
    for (const use of stuck) use?.slow()
    expect(take('e', 1)).toBeUndefined()
    slow[0]?.end()
    expect(take('e', 50)).toBeDefined()
    expect(take('f', 1)).toBeUndefined()
    stuck[0]?.end()
    expect(take('f', 50)).toBeDefined()
    expect(take('g', 1)).toBeUndefined()
  })

  it('are not overtaken by smaller ones while they wait', () => {
    const { rowOf, begin, take } = world()
    const first = take('a', 40)
    const second = take('b', 30)
    const big = rowOf('c', 50)
    expect(begin(big)).toBeUndefined()
    expect(take('d', 1)).toBeUndefined()
    second?.end()
    expect(take('d', 1)).toBeUndefined()
    expect(begin(big)).toBeDefined()
    expect(take('d', 1)).toBeDefined()
    first?.end()
  })

  it('are overtaken when they have given up, or cannot begin before slow ones end', () => {
    const { rowOf, begin, take, waiting } = world()
    const uses = [take('a', 40), take('b', 40)]
    const big = rowOf('c', 50)
    expect(begin(big)).toBeUndefined()
    waiting.delete(big)
    expect(take('d', 1)).toBeDefined()
    for (const use of uses) use?.slow()
    // 300 MiB are slow: from here on nothing moves.
    for (let i = 0; i < 4; i++) take(`s${i}`, 50)?.slow()
    take('s4', 20)?.slow()
    for (const tenant of ['x', 'y']) take(tenant, 40)?.slow()
    expect(begin(rowOf('c', 50))).toBeUndefined()
    expect(take('e', 1)).toBeDefined()
  })
})
