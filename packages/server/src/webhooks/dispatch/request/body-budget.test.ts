import { expect, it } from 'vitest'
import { createBodyBudget } from './body-budget.ts'

const MIB = 1024 * 1024
const stream = (tenantId: string, webhookId = `wh_${tenantId}`) => ({ tenantId, webhookId })

it('gives a tenant a quarter of the budget, or one request', () => {
  const budget = createBodyBudget(8 * MIB)
  const [one, two] = [stream('tn_a', 'wh_1'), stream('tn_a', 'wh_2')]
  const leave = budget.take(one, 3 * MIB)
  expect(leave).toBeDefined()
  expect(budget.take(two, MIB)).toBeUndefined()
  expect(budget.isCrowdedOut(two)).toBe(true)
  expect(budget.isCrowdedOut(one)).toBe(false)
  expect(budget.take(stream('tn_b'), MIB)).toBeDefined()
  leave?.()
  expect(budget.isCrowdedOut(two)).toBe(false)
  expect(budget.take(two, MIB)).toBeDefined()
  expect(budget.take(one, MIB)).toBeDefined()
  expect(budget.take(one, MIB)).toBeUndefined()
})

it('bounds all bodies to the budget, and lets a larger one have it alone', () => {
  const budget = createBodyBudget(4 * MIB)
  const small = budget.take(stream('tn_a'), MIB)
  expect(budget.take(stream('tn_b'), 9 * MIB)).toBeUndefined()
  small?.()
  const large = budget.take(stream('tn_b'), 9 * MIB)
  expect(large).toBeDefined()
  expect(budget.take(stream('tn_c'), MIB)).toBeUndefined()
  large?.()
  expect(budget.take(stream('tn_c'), MIB)).toBeDefined()
})

it('does not count small requests', () => {
  const budget = createBodyBudget(MIB)
  expect(budget.take(stream('tn_a'), MIB)).toBeDefined()
  for (let i = 0; i < 1_000; i++) expect(budget.take(stream('tn_a'), 1_000)).toBeDefined()
})
