/** The parser of the listener and the work limiter of its connection. */
import { expect, it } from 'vitest'
import { LimitedParser, WORTH } from './limited-parser.ts'

it('[I12] parses a segment when the work limiter allows it, and reads no further one before', () => {
  const waiting: { readonly micros: number; readonly work: () => void }[] = []
  const parser = new LimitedParser({
    doLimited: (micros, work) => void waiting.push({ micros, work }),
  })
  const commands: string[] = []
  parser.oncommand = (command, done) => {
    commands.push(command.toString())
    done?.()
  }
  // False: the socket is not read meanwhile, so that a flood of tiny segments comes together.
  expect(parser.write('N')).toBe(false)
  parser.write('OOP\r\n')
  expect(waiting.length).toBe(1)
  expect(waiting[0]?.micros).toBeGreaterThanOrEqual(WORTH.chunk)
  waiting[0]?.work()
  expect(commands).toEqual([])
  waiting[1]?.work()
  expect(commands).toEqual(['NOOP'])
})
