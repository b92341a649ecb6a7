import { setImmediate } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { judgeParser } from './judge-parser.ts'
import type { Parser } from './parser.ts'

/** Uses the processor for so long. */
function burn(ms: number): void {
  const before = process.threadCpuUsage()
  for (;;) {
    const { user, system } = process.threadCpuUsage(before)
    if (user + system >= ms * 1_000) return
  }
}

const bomb = { make: (bytes: number) => 'x'.repeat(bytes) }
const problemOf = async (run: Parser['run'], thread: Parser['thread'] = 'main') => {
  const parser = { name: 'one', kinds: [], bytesMax: 400, thread, run }
  return (await judgeParser(parser, bomb)).problem
}

it('finds input that takes too long, and cost that grows faster than the input', async () => {
  expect(await problemOf(() => burn(300))).toMatch(/^takes 3\d\d ms of CPU$/)
  expect(await problemOf((text) => burn(45 * (text.length / 400) ** 3))).toMatch(
    /^takes \d+\.\d times as long for four times the input/,
  )
}, 120_000)

it('measures the longest turn on the event loop, and the whole time in a thread', async () => {
  const inTurns = async (ms: number) => {
    for (let i = 0; i < ms / 50; i++) {
      burn(50)
      await setImmediate()
    }
  }
  expect(await problemOf(() => inTurns(400))).toBeUndefined()
  expect(await problemOf(() => inTurns(2_100), 'pool')).toMatch(/^takes 2\d\d\d ms of CPU$/)
}, 120_000)

it('does not take a step for growth', async () => {
  expect(await problemOf((text) => burn(text.length > 200 ? 45 : 1))).toBeUndefined()
})
