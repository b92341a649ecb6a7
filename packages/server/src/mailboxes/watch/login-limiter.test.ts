import { setImmediate } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { createLoginLimiter } from './login-limiter.ts'

it('bounds logins for a tenant and to a host, and lets tenants take turns', async () => {
  const limiter = createLoginLimiter()
  const entered: string[] = []
  const leave: (() => void)[] = []
  const enter = (tenantId: string, host: string) =>
    limiter.run({ tenantId, host }, () => {
      entered.push(`${tenantId} ${host}`)
      return new Promise<void>((resolve) => leave.push(resolve))
    })
  const all = [
    ...Array.from({ length: 20 }, () => enter('a', 'one')),
    ...Array.from({ length: 20 }, () => enter('a', 'two')),
    ...Array.from({ length: 20 }, () => enter('a', 'three')),
    enter('b', 'one'),
    enter('b', 'four'),
  ]
  await setImmediate()
  const count = (text: string) => entered.filter((one) => one === text).length
  expect([count('a one'), count('a two'), count('a three')]).toEqual([8, 8, 0])
  expect(entered).toContain('b four')
  expect(entered).not.toContain('b one')
  for (const one of leave.splice(0, 2)) one()
  await setImmediate()
  // Another tenant's turn, before the many of the first.
  expect(entered).toContain('b one')
  while (leave.length > 0) {
    leave.shift()?.()
    await setImmediate()
  }
  await Promise.all(all)
  expect(entered).toHaveLength(62)
})

it('gives the place back when the work fails', async () => {
  const limiter = createLoginLimiter()
  const who = { tenantId: 'a', host: 'one' }
  for (let n = 0; n < 20; n++)
    await expect(limiter.run(who, () => Promise.reject(new Error('failed')))).rejects.toThrow(
      'failed',
    )
  expect(await limiter.run(who, async () => 'in')).toBe('in')
})
