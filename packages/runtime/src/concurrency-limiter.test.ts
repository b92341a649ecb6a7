import { expect, it } from 'vitest'
import { type ConcurrencyLimiter, createConcurrencyLimiter } from './concurrency-limiter.ts'

const limiterOf = (
  o: { atOnce?: number; perCaller?: number; waiting?: number; waitingMax?: number } = {},
) =>
  createConcurrencyLimiter({
    name: 'reads',
    atOnceMax: o.atOnce ?? 2,
    atOncePerCallerMax: o.perCaller ?? 1,
    waitingPerCallerMax: o.waiting ?? 2,
    ...(o.waitingMax !== undefined && { waitingMax: o.waitingMax }),
  })

/** Work that runs until it is told to end, and says when it began. */
function through(limiter: ConcurrencyLimiter) {
  const begun: string[] = []
  const enter = (caller: string, name = caller) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const done = limiter.run(caller, () => {
      begun.push(name)
      return promise
    })
    const ended = done.then(
      () => 'done',
      (error: unknown) => error,
    )
    return { end: resolve, fail: reject, ended }
  }
  return { begun, enter }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

it('bounds the concurrent work of one caller, and runs others beside it', async () => {
  const { begun, enter } = through(limiterOf())
  const first = enter('a', 'a1')
  const second = enter('a', 'a2')
  const other = enter('b')
  await turn()
  expect(begun).toEqual(['a1', 'b'])
  first.end()
  expect(await first.ended).toBe('done')
  await turn()
  expect(begun).toEqual(['a1', 'b', 'a2'])
  second.end()
  other.end()
})

it('bounds all concurrent work, and serves callers in turn', async () => {
  const { begun, enter } = through(limiterOf({ atOnce: 1, perCaller: 1 }))
  const works = ['a1', 'a2', 'a3', 'b1'].map((name) => enter(name.slice(0, 1), name))
  await turn()
  expect(begun).toEqual(['a1'])
  for (const at of [0, 1, 3, 2]) {
    works[at]?.end()
    await works[at]?.ended
    await turn()
  }
  expect(begun).toEqual(['a1', 'a2', 'b1', 'a3'])
})

it('gives the place of failed work to the next caller', async () => {
  const { begun, enter } = through(limiterOf())
  const first = enter('a', 'a1')
  const second = enter('a', 'a2')
  const failure = new Error('failed')
  first.fail(failure)
  expect(await first.ended).toBe(failure)
  await turn()
  expect(begun).toEqual(['a1', 'a2'])
  second.end()
})

it('[contract 2] refuses a caller with too many waiting, and no other', async () => {
  const { enter } = through(limiterOf())
  const held = [enter('a'), enter('a'), enter('a')]
  expect(await enter('a').ended).toMatchObject({
    by: 'reads',
    full: { quota: 1, retryAfterS: 1 },
  })
  const other = enter('b')
  for (const one of [...held, other]) {
    one.end()
    expect(await one.ended).toBe('done')
  }
  const later = enter('a')
  later.end()
  expect(await later.ended).toBe('done')
})

it('refuses further callers where too many wait in all', async () => {
  const { enter } = through(limiterOf({ atOnce: 1, waitingMax: 3 }))
  const held = ['a', 'b', 'c', 'd'].map((caller) => enter(caller))
  expect(await enter('e').ended).toMatchObject({ by: 'reads', full: { retryAfterS: 1 } })
  held[0]?.end()
  await held[0]?.ended
  const next = enter('e')
  for (const one of [...held, next]) one.end()
  expect(await next.ended).toBe('done')
})
