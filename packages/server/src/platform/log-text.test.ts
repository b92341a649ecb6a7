import { expect, it } from 'vitest'
import { createLogger } from './log.ts'
import { createTextDestination } from './log-text.ts'

function capture() {
  const lines: string[] = []
  const destination = createTextDestination({
    write: (line) => lines.push(line),
    flush: () => undefined,
    flushSync: () => undefined,
  })
  const log = createLogger({ level: 'info', destination })
  return { log, lines, destination, last: () => lines.at(-1) ?? '' }
}

it('shows time of day, level, event and fields on one line', () => {
  const { log, last } = capture()
  log.info({ host: '127.0.0.1', port: 8080, roles: ['api'], words: 'it works' }, 'service.started')
  expect(last()).toMatch(
    /^\d\d:\d\d:\d\d info {2}service\.started host=127\.0\.0\.1 port=8080 roles=\["api"\] words="it works"\n$/,
  )
})

it('shows an error with its causes and its origin', () => {
  const { log, last } = capture()
  const cause = new Error('connection refused')
  log.error({ err: new Error('no database', { cause }) }, 'service.failed')
  expect(last()).toContain(
    ' service.failed error="no database" error="connection refused"\n    at ',
  )
})

it('shows the beginning of long values, and no control sequences of a terminal', () => {
  const { log, last } = capture()
  log.warn({ config: { text: 'x'.repeat(1_000) }, said: '\u001b[2J\u009b2J\u202eabc\r\nx' }, 'a.b')
  expect(last().length).toBeLessThan(300)
  expect(last()).toContain('…')
  expect(last().slice(0, -1)).toMatch(/^[\x20-\x7e…]+$/)
})

it('shows consecutive migrations as one line', () => {
  const { log, lines, destination } = capture()
  for (const migration of ['0001', '0002', '0003']) log.info({ migration }, 'migration.applied')
  expect(lines).toEqual([])
  log.info('service.started')
  log.info({ migration: '0004' }, 'migration.applied')
  destination.flushSync()
  destination.flush()
  expect(lines.map((line) => line.slice(15))).toEqual([
    'migration.applied migration=0003 count=3\n',
    'service.started\n',
    'migration.applied migration=0004\n',
  ])
})

it('hides the same values as JSON lines', () => {
  const { log, last } = capture()
  log.info({ password: 'canary', request: { headers: ['canary'] } }, 'a.b')
  expect(last()).not.toContain('canary')
  expect(last()).toContain('password="[redacted]"')
})
