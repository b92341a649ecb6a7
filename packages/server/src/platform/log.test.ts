import { spawnSync } from 'node:child_process'
import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { PassThrough } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { createLogDestination, createLogger } from './log.ts'

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
    expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({
      password: '[redacted]',
      request: { api_key: '[redacted]', headers: '[redacted]' },
    })
  })

  it('do not change the logged object', () => {
    const { log, last } = capture()
    const request = { secret: 's', name: 'n' }
    const fields = { password: 'p', request, list: [1, 2], none: null }
    log.info(fields, 'x')
    expect(fields).toEqual({
      password: 'p',
      request: { secret: 's', name: 'n' },
      list: [1, 2],
      none: null,
    })
    expect(last()).toMatchObject({ request: { name: 'n' }, list: [1, 2], none: null })
  })

  it('show an error with its causes, and no other property of it', () => {
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

  it('show the text of a field that is called error', () => {
    const { log, last } = capture()
    log.info({ error: 'connect: refused' }, 'webhook_delivery.finished')
    expect(last().error).toBe('connect: refused')
  })

  it('end at a cycle of causes', () => {
    const { log, lines } = capture()
    const error = new Error('a')
    error.cause = error
    log.error({ err: error }, 'x')
    expect(lines).toHaveLength(1)
  })
})

describe('the destination of logs', () => {
  it('takes many lines in few writes, in order', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'postrider-log-')), 'log')
    const destination = createLogDestination(openSync(file, 'w'))
    const log = createLogger({ level: 'info', destination })
    for (let i = 0; i < 200; i += 1) log.info({ i }, 'x')
    const linesOf = () => readFileSync(file, 'utf8').split('\n').slice(0, -1)
    while (linesOf().length < 200) await setImmediate()
    const seen = linesOf()
    expect(seen.map((line) => (JSON.parse(line) as { i: number }).i)).toEqual(
      Array.from({ length: 200 }, (_, i) => i),
    )
    rmSync(dirname(file), { recursive: true })
  })

  it('writes lines that came during another write', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'postrider-log-')), 'log')
    const destination = createLogDestination(openSync(file, 'w'))
    const log = createLogger({ level: 'info', destination })
    for (let round = 1; round <= 50; round += 1) {
      log.info('first')
      await setImmediate()
      log.info('second')
      while (readFileSync(file, 'utf8').split('\n').length <= 2 * round) await setImmediate()
    }
    rmSync(dirname(file), { recursive: true })
  })

  it('has every line when a process ends by itself', () => {
    const module = new URL('./log.ts', import.meta.url).href
    const script = `
      const { createLogger, createLogDestination } = await import(${JSON.stringify(module)})
      const log = createLogger({ level: 'info', destination: createLogDestination(1) })
      log.info('first')
      await new Promise((resolve) => setTimeout(resolve, 10))
      log.info('last')
      process.exit(0)`
    const child = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      encoding: 'utf8',
      env: { PATH: process.env.PATH },
    })
    const seen = child.stdout.trimEnd().split('\n')
    const messages = seen.map((line) => (JSON.parse(line) as { msg: string }).msg)
    // A write under way when the process ends may arrive after the last one.
    expect(messages.sort()).toEqual(['first', 'last'])
  })
})
