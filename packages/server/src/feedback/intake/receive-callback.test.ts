/** The answer to a callback has its deadline, whatever takes long: nothing that was read is lost to it. */
import { describe, expect, it } from 'vitest'
import { createFailpoints } from '../../platform/failpoints.ts'
import { noDiskGuard } from '../../platform/process/disk-guard.ts'
import { adapterOf, type CallbackReader } from '../../relays/index.ts'
import { createCallbackIntake } from './receive-callback.ts'

const MIB = 1024 * 1024
const account = { tenantId: 'tn_a', kind: 'sendgrid', secrets: {} } as const
type Read = Awaited<ReturnType<CallbackReader['read']>>
const readable = { isEmpty: false, parts: [] }

/** With a reader whose answers are given by the test, in their order. */
function startIntake(o: { readonly answerMs: number }) {
  const reading: PromiseWithResolvers<Read>[] = []
  const stored = Promise.withResolvers<string | Buffer>()
  const results: string[] = []
  const reader: Pick<CallbackReader, 'read'> = {
    read() {
      const one = Promise.withResolvers<Read>()
      reading.push(one)
      return one.promise
    },
  }
  const intake = createCallbackIntake({
    ...o,
    accounts: { find: async () => account },
    adapterOf,
    reader,
    inbox: { store: async ({ body }) => stored.resolve(body) },
    disk: noDiskGuard,
    clock: { now: () => new Date() },
    failpoints: createFailpoints(undefined),
    isFull: () => false,
    observe: (_kind, result) => results.push(result),
  })
  return { take: (body: Buffer) => intake.take(account, {}, body), reading, stored, results }
}

describe('[contract 3.4] a callback that takes long to check', () => {
  it('is answered 503 in time, and stored when it is checked after all', async () => {
    const { take, reading, stored, results } = startIntake({ answerMs: 20 })
    const body = Buffer.from('[{}]')
    await expect(take(body)).rejects.toMatchObject({
      code: 'unavailable',
      retryAfterS: expect.any(Number),
    })
    expect(results).toEqual(['unavailable'])
    reading[0]?.resolve(readable)
    expect(await stored.promise).toBe(body)
  })

  it('is answered as usual when it is checked in time', async () => {
    const { take, reading, results } = startIntake({ answerMs: 30_000 })
    const taken = [take(Buffer.from('1')), take(Buffer.from('2')), take(Buffer.from('3'))]
    reading[0]?.resolve(readable)
    reading[1]?.resolve({ ...readable, isEmpty: true })
    reading[2]?.resolve(undefined)
    expect((await Promise.allSettled(taken)).map(({ status }) => status)).toEqual([
      'fulfilled',
      'fulfilled',
      'rejected',
    ])
    expect(results.sort()).toEqual(['empty', 'stored', 'unreadable'])
  })

  it('counts its bytes until then: at most 32 MiB of one tenant wait', async () => {
    const { take, reading } = startIntake({ answerMs: 30_000 })
    const waiting = Array.from({ length: 8 }, () => take(Buffer.alloc(4 * MIB, ' ')))
    await expect(take(Buffer.from('1'))).rejects.toMatchObject({ code: 'unavailable' })
    expect(reading).toHaveLength(8)
    for (const one of reading) one.resolve(undefined)
    await Promise.allSettled(waiting)
    const next = take(Buffer.from('1'))
    expect(reading).toHaveLength(9)
    reading[8]?.resolve(readable)
    await next
  })
})
