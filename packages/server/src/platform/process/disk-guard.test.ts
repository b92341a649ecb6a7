import pino from 'pino'
import { describe, expect, it } from 'vitest'
import { createDiskGuard, type FreeSpaceMin, noDiskGuard } from './disk-guard.ts'

const KiB = 1024
const unavailable = { code: 'unavailable', status: 503 }

function guardWith(freeMin: FreeSpaceMin) {
  const space = { bavail: 1000, blocks: 2000, bsize: 1 }
  let looks = 0
  const log = pino({ level: 'silent' })
  const readSpace = async () => {
    looks += 1
    return { ...space }
  }
  const guard = createDiskGuard({ dir: '.', freeMin, log, readSpace })
  return { guard, space, looks: () => looks }
}

/** Work that ends when it is told to. */
function openWork() {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  return {
    work: () => promise,
    end: () => resolve('done'),
    fail: () => reject(new Error('rolled back')),
  }
}

const done = async () => 'done'

describe('disk guard', () => {
  it('closes when less than the margin is free, and opens again', async () => {
    const { guard, space } = guardWith({ bytes: 500 })
    await guard.runOnce()
    expect(guard.isOpen()).toBe(true)
    space.bavail = 499
    await guard.runOnce()
    expect(guard.isOpen()).toBe(false)
    await expect(guard.admit(0, done)).rejects.toMatchObject({ ...unavailable, retryAfterS: 30 })
    space.bavail = 500
    await guard.runOnce()
    expect(guard.isOpen()).toBe(true)
    expect(await guard.admit(0, done)).toBe('done')
  })

  it('accepts a share of the disk as the margin', async () => {
    const { guard, space } = guardWith({ percent: 10 })
    space.bavail = 199
    await guard.runOnce()
    expect(guard.isOpen()).toBe(false)
  })

  it('reads the real disk, and may be stopped twice and before its start', async () => {
    const log = pino({ level: 'silent' })
    const guard = createDiskGuard({ dir: '.', freeMin: { bytes: 1 }, log })
    await guard.stop()
    await guard.start()
    await guard.stop()
    await guard.stop()
    expect(guard.isOpen()).toBe(true)
  })
})

describe('space for concurrent work', () => {
  it('is admitted up to a third of what is free above the margin', async () => {
    const { guard, space } = guardWith({ bytes: 100 * KiB })
    space.bavail = 1000 * KiB + 100 * KiB
    await guard.runOnce()
    const first = openWork()
    const admitted = guard.admit(333 * KiB, first.work)
    await expect(guard.admit(200 * KiB, done)).rejects.toMatchObject(unavailable)
    await expect(guard.admit(1 * KiB, done)).rejects.toMatchObject(unavailable)
    first.end()
    expect(await admitted).toBe('done')
    // The next large one looks for itself, and finds what the first has really taken.
    expect(await guard.admit(200 * KiB, done)).toBe('done')
  })

  it('is returned when the work fails', async () => {
    const { guard, space } = guardWith({ bytes: 0 })
    space.bavail = 600 * KiB
    const first = openWork()
    const admitted = guard.admit(200 * KiB, first.work)
    first.fail()
    await expect(admitted).rejects.toThrow('rolled back')
    expect(await guard.admit(200 * KiB, done)).toBe('done')
  })

  it('is judged by a fresh look at the disk for a large email', async () => {
    const { guard, space, looks } = guardWith({ bytes: 500 * KiB })
    space.bavail = 2000 * KiB
    await guard.runOnce()
    space.bavail = 600 * KiB
    await expect(guard.admit(129 * KiB, done)).rejects.toMatchObject(unavailable)
    expect(looks()).toBe(2)
  })

  it('is counted for small emails between two looks', async () => {
    const { guard, space, looks } = guardWith({ bytes: 0 })
    space.bavail = 90 * KiB
    await guard.runOnce()
    for (let sent = 0; sent < 3; sent += 1) expect(await guard.admit(10 * KiB, done)).toBe('done')
    await expect(guard.admit(10 * KiB, done)).rejects.toMatchObject(unavailable)
    expect(looks()).toBe(1)
    await guard.runOnce()
    expect(await guard.admit(10 * KiB, done)).toBe('done')
  })

  it('stays counted for work that ended during a look', async () => {
    const answer = Promise.withResolvers<{ bavail: number; blocks: number; bsize: number }>()
    const log = pino({ level: 'silent' })
    const readSpace = () => answer.promise
    const guard = createDiskGuard({ dir: '.', freeMin: { bytes: 0 }, log, readSpace })
    const look = guard.runOnce()
    await guard.admit(20 * KiB, done)
    answer.resolve({ bavail: 60 * KiB, blocks: 1, bsize: 1 })
    await look
    await expect(guard.admit(1 * KiB, done)).rejects.toMatchObject(unavailable)
  })

  it('is judged by the last look when the disk cannot be read', async () => {
    const log = pino({ level: 'silent' })
    let isBroken = false
    const readSpace = async () => {
      if (isBroken) throw new Error('EIO')
      return { bavail: 1000 * KiB, blocks: 1, bsize: 1 }
    }
    const guard = createDiskGuard({ dir: '.', freeMin: { bytes: 0 }, log, readSpace })
    await guard.runOnce()
    isBroken = true
    expect(await guard.admit(200 * KiB, done)).toBe('done')
    await expect(guard.admit(200 * KiB, done)).rejects.toMatchObject(unavailable)
  })

  it('is not limited when the database is elsewhere', async () => {
    expect(noDiskGuard.isOpen()).toBe(true)
    expect(await noDiskGuard.admit(Number.MAX_SAFE_INTEGER, done)).toBe('done')
  })
})
