import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readNdjson } from './ndjson.ts'
import { startProcess } from './start-process.ts'

const path = (name: string): string => new URL(name, import.meta.url).pathname
let directory = ''
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'testkit-'))
})
afterAll(() => rmSync(directory, { recursive: true }))

function program(name: string, source: string): string {
  const file = join(directory, name)
  writeFileSync(file, source)
  return file
}

describe('startProcess', () => {
  it('waits for the line that says ready, and ends the process by signal', async () => {
    const script = program(
      'ready.mjs',
      'console.log(process.env.GREETING); setInterval(() => {}, 1000)',
    )
    const running = await startProcess({ script, env: { GREETING: 'up' }, ready: /^up$/ })
    expect(running.end()).toBeUndefined()
    await expect(running.kill()).resolves.toEqual({ code: null, signal: 'SIGKILL' })
    await expect(running.kill()).resolves.toEqual({ code: null, signal: 'SIGKILL' })
  })

  it('shows the output of a program that ends before it is ready', async () => {
    const script = program('dies.mjs', 'console.error("no such thing"); process.exit(3)')
    const failed = startProcess({ script, ready: /^up$/ })
    await expect(failed).rejects.toThrow('no such thing')
  })
})

describe('servers as processes', () => {
  it('log what they saw so that a kill loses none of it', async () => {
    const smtpLog = join(directory, 'smtp.ndjson')
    const hookLog = join(directory, 'hook.ndjson')
    const table = program('table.json', JSON.stringify({ 'b@x.test': ['dot: 450 4.0.0 later'] }))
    const [smtp, hook] = await Promise.all([
      startProcess({
        script: path('./smtp-server-main.ts'),
        args: ['--log', smtpLog, '--script', table],
        ready: /^listening on/,
      }),
      startProcess({
        script: path('./webhook-receiver-main.ts'),
        args: ['--log', hookLog, '--answers', '503,200'],
        ready: /^listening on/,
      }),
    ])
    const portOf = (line: string | undefined): number => Number(line?.split(' ').pop())

    const origin = `http://127.0.0.1:${portOf(hook.lines[0])}`
    const statuses = []
    for (const body of ['[1]', '[2]', '[3]']) {
      statuses.push((await fetch(`${origin}/x`, { method: 'POST', body })).status)
    }
    expect(statuses).toEqual([503, 200, 503])

    const socket = connect(portOf(smtp.lines[0]), '127.0.0.1')
    socket.write('EHLO me\r\nMAIL FROM:<a@x.test>\r\nRCPT TO:<b@x.test>\r\nDATA\r\né\r\n.\r\n')
    await new Promise<void>((resolve) => {
      socket.on('data', (chunk) => {
        if (chunk.toString().includes('450 4.0.0 later')) resolve()
      })
    })
    await Promise.all([smtp.kill(), hook.kill()])
    socket.destroy()

    expect(readNdjson(smtpLog)).toContainEqual(
      expect.objectContaining({
        fact: 'message.received',
        recipients: ['b@x.test'],
        raw: Buffer.from('é\r\n').toString('latin1'),
        reply: '450 4.0.0 later',
        accepted: false,
      }),
    )
    const requests = readNdjson(hookLog).filter(
      (entry) => (entry as { fact: string }).fact === 'request.received',
    )
    expect(requests).toHaveLength(3)
    expect(requests[0]).toMatchObject({ path: '/x', body: '[1]', answer: { status: 503 } })
  })
})
