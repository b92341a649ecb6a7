import { expect, it } from 'vitest'
import { createLogger } from './log.ts'
import { createSummedLog } from './summed-log.ts'

it('writes the first line at once, then one line in ten seconds with the count', () => {
  const lines: Record<string, unknown>[] = []
  let now = 0
  const summed = createSummedLog({
    log: createLogger({
      level: 'info',
      destination: { write: (line) => void lines.push(JSON.parse(line)) },
    }),
    level: 'warn',
    message: 'disk.failed',
    monotonicMs: () => now,
  })
  summed.note({ nth: 1 })
  for (let i = 0; i < 500; i++) summed.note({ nth: 2 + i })
  expect(lines).toMatchObject([{ level: 'warn', msg: 'disk.failed', nth: 1, count: 1 }])
  now = 10_000
  summed.note({ nth: 502 }, 3)
  expect(lines.slice(1)).toMatchObject([{ nth: 502, count: 503 }])
  summed.note({ nth: 503 })
  expect(lines).toHaveLength(2)
})
