import pino from 'pino'
import { describe, expect, it } from 'vitest'
import { createDiskGuard, type FreeSpaceMin } from './disk-guard.ts'

function guardWith(freeMin: FreeSpaceMin) {
  const space = { bavail: 1000, blocks: 2000, bsize: 1 }
  const log = pino({ level: 'silent' })
  const guard = createDiskGuard({ dir: '.', freeMin, log, readSpace: async () => space })
  return { guard, space }
}

describe('disk guard', () => {
  it('closes the intake when less than the margin is free, and opens it again', async () => {
    const { guard, space } = guardWith({ bytes: 500 })
    await guard.runOnce()
    expect(guard.isOpen()).toBe(true)
    space.bavail = 499
    await guard.runOnce()
    expect(guard.isOpen()).toBe(false)
    space.bavail = 500
    await guard.runOnce()
    expect(guard.isOpen()).toBe(true)
  })

  it('takes a share of the disk as the margin', async () => {
    const { guard, space } = guardWith({ percent: 10 })
    space.bavail = 199
    await guard.runOnce()
    expect(guard.isOpen()).toBe(false)
  })

  it('reads the real disk, and may be stopped twice and before it is started', async () => {
    const log = pino({ level: 'silent' })
    const guard = createDiskGuard({ dir: '.', freeMin: { bytes: 1 }, log })
    await guard.stop()
    await guard.start()
    await guard.stop()
    await guard.stop()
    expect(guard.isOpen()).toBe(true)
  })
})
