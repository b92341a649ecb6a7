import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { createLogger } from './log.ts'

function capture() {
  const lines: string[] = []
  const destination = new PassThrough()
  destination.on('data', (line: Buffer) => lines.push(line.toString()))
  const log = createLogger({ level: 'info', destination })
  const last = () => JSON.parse(lines.at(-1) ?? 'null') as Record<string, unknown>
  return { log, lines, last }
}

describe('logs', () => {
  it('are one JSON object a line, with level, time and event', () => {
    const { log, last } = capture()
    log.info({ ref_id: 'r' }, 'attempt.finished')
    expect(last()).toMatchObject({ level: 'info', ref_id: 'r', msg: 'attempt.finished' })
    expect(Date.parse(String(last().time))).not.toBeNaN()
  })

  it('never show a secret that was logged by mistake', () => {
    const { log, lines } = capture()
    const canary = 'canary-7f3a'
    const secrets = { password: canary, api_key: canary, authorization: canary, secret: canary }
    log.info(
      { ...secrets, headers: { x: canary }, request: { ...secrets, headers: [canary] } },
      'x',
    )
    expect(lines.join('')).not.toContain(canary)
  })

  it('show an error with its causes, and nothing else that hangs on it', () => {
    const { log, last, lines } = capture()
    const cause = Object.assign(new Error('refused'), { code: 'ECONNREFUSED', config: 'canary' })
    log.error({ err: new Error('no database', { cause }) }, 'x')
    expect(last().err).toMatchObject({
      type: 'Error',
      message: 'no database',
      cause: { message: 'refused', code: 'ECONNREFUSED' },
    })
    expect(lines.join('')).not.toContain('canary')
  })

  it('show the text of a field that is called error as it is', () => {
    const { log, last } = capture()
    log.info({ error: 'connect: refused' }, 'webhook_delivery.finished')
    expect(last().error).toBe('connect: refused')
  })

  it('end at a circle of causes', () => {
    const { log, lines } = capture()
    const error = new Error('a')
    error.cause = error
    log.error({ err: error }, 'x')
    expect(lines).toHaveLength(1)
  })
})
