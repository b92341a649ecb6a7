import { expect, it } from 'vitest'
import { createLogger } from '../log.ts'
import { createPeriodicTask, type InPieces } from './periodic-task.ts'

function rounds(round: (inPieces: InPieces) => Promise<number>) {
  const log = createLogger({ level: 'silent' })
  return createPeriodicTask({
    ...{ name: 'test', log, intervalMs: 60_000, piece: 10, piecesMax: 5, round },
    failed: 'test.failed',
  })
}

it.each([
  [[10, 10, 3, 10], 23, 3],
  [[0], 0, 1],
  [[10, 10, 10, 10, 10, 10], 50, 5],
])('a round of %j does %i in %i pieces', async (counts, done, pieces) => {
  let steps = 0
  const one = rounds((inPieces) => inPieces(async () => counts[steps++] ?? 0))
  expect(await one.runOnce()).toBe(done)
  expect(steps).toBe(pieces)
})

it('starts no further piece once it is stopped', async () => {
  let steps = 0
  const one = rounds((inPieces) =>
    inPieces(async () => {
      steps += 1
      await one.stop()
      return 10
    }),
  )
  expect(await one.runOnce()).toBe(10)
  expect(steps).toBe(1)
})
