import { Writable } from 'node:stream'
import { setImmediate, setTimeout } from 'node:timers/promises'
import { resumeTask, runTask } from '@postrider/runtime/task'
import { expect, it } from 'vitest'
import { createLogger } from '../log.ts'
import { createMetrics } from '../metrics.ts'
import {
  type Block,
  createTurnMeter,
  createWatchdog,
  type TurnClock,
  turnClock,
} from './watchdog.ts'

function meter() {
  const time = { monotonicMs: 0, idleMs: 0, cpuMs: 0 }
  const turns: Block[] = []
  const clock: TurnClock = {
    monotonicMs: () => time.monotonicMs,
    idleMs: () => time.idleMs,
    cpuMs: () => time.cpuMs,
  }
  const work = (ms: number) => {
    time.monotonicMs += ms
    time.cpuMs += ms
  }
  const idle = (ms: number) => {
    time.monotonicMs += ms
    time.idleMs += ms
  }
  return { ...createTurnMeter(clock, (turn) => turns.push(turn)), turns, work, idle, clock }
}

it('measures a turn from its beginning to the next one, less the idle time', () => {
  const { begin, turns, work, idle } = meter()
  begin('sender')
  work(70)
  idle(500)
  begin('dispatcher')
  expect(turns).toEqual([{ task: 'sender', durationMs: 70 }])
})

it('names the task that took most of a turn', () => {
  const { begin, goOn, turns, work, idle } = meter()
  begin('database')
  work(2)
  goOn('sender')
  work(60)
  goOn('dispatcher')
  work(10)
  idle(100)
  begin(undefined)
  expect(turns).toEqual([{ task: 'sender', durationMs: 72 }])
})

it('ignores turns shorter than a millisecond', () => {
  const { begin, turns, work } = meter()
  begin('sender')
  work(0.9)
  begin('sender')
  expect(turns).toEqual([])
})

/** Keeps the event loop for that long, whatever the machine does. */
function block(ms: number): void {
  const endMs = performance.now() + ms
  while (performance.now() < endMs);
}

async function watching(clock: Partial<TurnClock> = {}) {
  const lines: Record<string, unknown>[] = []
  const log = createLogger({
    level: 'warn',
    destination: new Writable({
      write(line, _encoding, done) {
        lines.push(JSON.parse(String(line)))
        done()
      },
    }),
  })
  const metrics = createMetrics()
  const watchdog = createWatchdog({ log, metrics, clock: { ...turnClock, ...clock } })
  await watchdog.start()
  return { lines, watchdog, metrics }
}

it('names the blocking task in the log, the metric and the detail', async () => {
  const { lines, watchdog, metrics } = await watching()
  await runTask('POST /v1/email/send', async () => {
    await setImmediate()
    block(150)
  })
  await setImmediate()
  await watchdog.stop()
  expect(lines).toMatchObject([{ msg: 'event_loop.blocked', task: 'POST /v1/email/send' }])
  expect(lines[0]?.duration_ms).toBeGreaterThanOrEqual(150)
  expect(watchdog.longest().task).toBe('POST /v1/email/send')
  expect(watchdog.detail()).toMatch(/^blocked for \d+ ms within .* by POST \/v1\/email\/send$/)
  const [gauge] = (await metrics.registry.getMetricsAsJSON()).filter(
    ({ name }) => name === 'postrider_event_loop_block_seconds',
  )
  expect(gauge?.values[0]?.value).toBeGreaterThanOrEqual(0.15)
})

it.each([
  { addedMs: 0, told: [] },
  { addedMs: 500, told: [{ msg: 'event_loop.blocked', task: 'sender', cpu_ms: 0 }] },
])(
  'warns of a block from half a second on without a task ($addedMs ms), and has no detail of it',
  async ({ addedMs, told }) => {
    // A clock of the test's own: how long this machine takes says nothing.
    let nowMs = 0
    const { lines, watchdog } = await watching({
      cpuMs: () => 0,
      idleMs: () => 0,
      monotonicMs: () => nowMs,
    })
    await runTask('sender', async () => {
      await setImmediate()
      nowMs += 150 + addedMs
    })
    await setImmediate()
    await watchdog.stop()
    expect(lines).toMatchObject(told)
    expect(lines).toHaveLength(told.length)
    expect(watchdog.longest().durationMs).toBe(150 + addedMs)
    expect(watchdog.detail()).toBeUndefined()
  },
)

it('names the task that continues after waiting for something shared', async () => {
  const { lines, watchdog } = await watching()
  const shared = runTask('database', () => setTimeout(5))
  await runTask('sender', async () => {
    await shared
    resumeTask()
    block(150)
  })
  await setImmediate()
  await watchdog.stop()
  expect(lines).toMatchObject([{ task: 'sender' }])
})

it('may be started and stopped twice', async () => {
  const { watchdog } = await watching()
  await watchdog.start()
  await watchdog.stop()
  await watchdog.stop()
})
