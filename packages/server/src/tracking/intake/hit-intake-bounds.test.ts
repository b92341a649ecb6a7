/** What waits for a database that is slow or away, and how much of it. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Db } from '../../platform/db/index.ts'
import { createFailpoints } from '../../platform/failpoints.ts'
import { newId, newUlid } from '../../platform/ids.ts'
import { createLogger } from '../../platform/log.ts'
import { createFloodGuard } from './flood-guard.ts'
import type { Hit, HitOutcome } from './hit.ts'
import { createHitIntake, type HitIntake } from './hit-intake.ts'

const ANSWER_MS = 600
const WAITING_MAX = 5_000

let recorded: ((outcome: HitOutcome) => void)[]
let appended: number
let probes: number
let isDiskBroken: boolean
let isDiskStuck: boolean
let lines: string[]
let intake: HitIntake

beforeEach(() => {
  vi.useFakeTimers({
    toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'],
  })
  recorded = []
  appended = 0
  probes = 0
  isDiskBroken = false
  isDiskStuck = false
  lines = []
  intake = createHitIntake({
    db: {
      query: () => {
        probes += 1
        return new Promise(() => undefined)
      },
    } as unknown as Db,
    log: createLogger({ level: 'info', destination: { write: (line) => void lines.push(line) } }),
    failpoints: createFailpoints(undefined),
    firstOn: 'database',
    answerMs: ANSWER_MS,
    floods: createFloodGuard(),
    observe: () => undefined,
    spool: {
      append: async () => {
        appended += 1
        if (isDiskBroken) throw new Error('the disk is broken')
      },
      takeOwn: async () => undefined,
      takeLeft: async () => undefined,
      putOff: async () => undefined,
      takePutOff: async () => undefined,
      bytes: 0,
      givenCount: 0,
      oldestMs: 0,
      close: () => (isDiskStuck ? new Promise(() => undefined) : Promise.resolve()),
    },
    recorder: {
      record: () => new Promise((resolve) => recorded.push(resolve)),
      recordAll: async () => [],
      isGone: async () => false,
      knownUrl: () => undefined,
      findUrl: async () => undefined,
    },
  })
})
afterEach(async () => {
  await intake.stop()
  vi.useRealTimers()
})

const newHit = (): Hit => ({
  ...{ tenantId: newId('tn'), refId: newUlid(), n: 0, link: 0, kind: 'open', hitId: newUlid() },
  atMicros: 1n,
  ip: '',
  userAgent: '',
  purpose: '',
})
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms)

describe('a slow database', () => {
  it('is not called away while it records other hits; late hits go to the spool', async () => {
    const late = intake.take(newHit())
    await pass(ANSWER_MS / 2)
    const other = intake.take(newHit())
    recorded[1]?.({ kind: 'recorded' })
    expect(await other).toEqual({ kind: 'recorded' })
    await pass(ANSWER_MS / 2)
    expect(await late).toEqual({ kind: 'spooled' })
    expect(intake.isDatabaseAway).toBe(false)
  })

  it('is called away when it records nothing for the time of an answer', async () => {
    const done = intake.take(newHit())
    recorded[0]?.({ kind: 'recorded' })
    await done
    const late = intake.take(newHit())
    await pass(ANSWER_MS)
    expect(await late).toEqual({ kind: 'spooled' })
    expect(intake.isDatabaseAway).toBe(true)
  })
})

it(`sends hits to the spool at once when ${WAITING_MAX} wait for the database`, async () => {
  const waiting = Array.from({ length: WAITING_MAX }, () => intake.take(newHit()))
  expect(await intake.take(newHit())).toEqual({ kind: 'spooled' })
  expect([recorded.length, appended]).toEqual([WAITING_MAX, 1])
  for (const resolve of recorded) resolve({ kind: 'recorded' })
  await Promise.all(waiting)
  void intake.take(newHit())
  expect(recorded).toHaveLength(WAITING_MAX + 1)
})

it('logs a failing disk in one line, and then in sums', async () => {
  void intake.take(newHit())
  await pass(ANSWER_MS)
  isDiskBroken = true
  const spoolLines = () => lines.filter((line) => line.includes('tracking.spool_failed'))
  for (let i = 0; i < 200; i++) await expect(intake.take(newHit())).rejects.toThrow()
  expect(spoolLines()).toHaveLength(1)
  await pass(10_000)
  await expect(intake.take(newHit())).rejects.toThrow()
  expect(spoolLines()).toHaveLength(2)
  expect(JSON.parse(spoolLines()[1] ?? '')).toMatchObject({ level: 'error', count: 200 })
})

it('delays the end for a bounded time when the disk hangs', async () => {
  isDiskStuck = true
  let hasStopped = false
  const stopped = intake.stop().then(() => {
    hasStopped = true
  })
  await pass(10_000)
  expect(hasStopped).toBe(true)
  await stopped
  expect(lines.filter((line) => line.includes('spool.not_closed'))).toHaveLength(1)
  isDiskStuck = false
})

it('has at most two hanging probes, however long the database is away', async () => {
  void intake.take(newHit())
  await pass(ANSWER_MS)
  expect(intake.isDatabaseAway).toBe(true)
  await pass(60_000)
  expect(probes).toBe(2)
})
