/**
 * Hostile input of every kind through the real doors of a running service. No turn of its event loop may
 * take long, by the CPU time of its main thread, and it goes on to serve.
 */
import { casesOf } from '@postrider/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Blocked, describeBlocked, driveDoors, TURN_CPU_MS_MAX } from './drive-doors.ts'
import { openService } from './open-service.ts'

const SEED = 15
/** Of each kind, for each door; the soak run takes all of them. */
const BOMBS = casesOf(10, 30)

let service: Awaited<ReturnType<typeof openService>>
beforeAll(async () => {
  service = await openService()
})
afterAll(() => service.close())

it('[Q2] no input of any kind blocks the event loop of a running service', async () => {
  const all: Blocked[] = []
  const onBlocked = (one: Blocked) => {
    all.push(one)
    process.stdout.write(`longest turn of the event loop: ${describeBlocked(one)}\n`)
  }
  await driveDoors(service.deps, { seed: SEED, count: BOMBS, onBlocked })
  expect(all.filter(({ longestMs }) => longestMs > TURN_CPU_MS_MAX)).toEqual([])
  expect(all.filter(({ unread }) => unread.length > 0)).toEqual([])
}, 300_000)
