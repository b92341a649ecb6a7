/** What an operator reads in the log when a mail is not delivered: host, reply, domain, no person. */
import { describe, expect, it } from 'vitest'
import { accept, drain, useSending } from '../../../test/sender.ts'
import { addMailer } from '../../../test/sending.ts'
import { createLogger } from '../../platform/log.ts'

const world = useSending()

interface Line {
  readonly level: string
  readonly msg: string
  readonly [field: string]: unknown
}

function capture() {
  const lines: Line[] = []
  const destination = { write: (text: string) => void lines.push(JSON.parse(text)) }
  const log = createLogger({ level: 'info', destination })
  return { log, of: (msg: string) => lines.filter((line) => line.msg === msg), lines }
}

describe('the log line of an attempt', () => {
  it('names host, reply and domain of a refusal, and hides the local part', async () => {
    const server = await world.serve(({ phase }) =>
      phase === 'rcpt' ? '550 5.1.1 <ada@example.com> mailbox ada is unknown' : undefined,
    )
    const { mailerId } = await addMailer(world.db, { port: server.port })
    const { log, lines, of } = capture()
    await accept(world.db)
    await drain(world.db, world.sender({ log }))
    expect(of('attempt.finished')).toMatchObject([
      {
        level: 'info',
        mailer_id: mailerId,
        host: '127.0.0.1',
        domain: 'example.com',
        outcome: 'failed',
        category: 'invalid_recipient',
        classified: { by: 'enhanced_code', evidence: '5.1.1' },
        reply: '550 5.1.1 <…@example.com> mailbox … is unknown',
      },
    ])
    expect(JSON.stringify(lines)).not.toContain('ada')
  })

  it('names host and domain of a delivery', async () => {
    const server = await world.serve()
    await addMailer(world.db, { port: server.port })
    const { log, of } = capture()
    await accept(world.db)
    await drain(world.db, world.sender({ log }))
    expect(of('attempt.finished')).toMatchObject([
      { host: '127.0.0.1', domain: 'example.com', outcome: 'accepted' },
    ])
  })
})

describe('the log of a failing mailer', () => {
  it('has one warning for many deferred mails, and one line when the mailer works again', async () => {
    let isStopped = true
    const server = await world.serve(({ phase }) =>
      isStopped && phase === 'connect' ? '421 4.3.2 shutting down' : undefined,
    )
    await addMailer(world.db, { port: server.port })
    const { log, of } = capture()
    let nowMs = 0
    const sender = world.sender({ log, retryScheduleMs: [0], monotonicMs: () => nowMs })
    for (let mail = 0; mail < 6; mail++) await accept(world.db, { settings: { max_attempts: 20 } })
    await sender.runOnce()
    expect(of('attempt.finished').length).toBeGreaterThan(0)
    expect(of('mailer.failing')).toMatchObject([
      { level: 'warn', host: '127.0.0.1', reply: '421 4.3.2 shutting down', domain: 'example.com' },
    ])
    isStopped = false
    nowMs += 60_000
    await drain(world.db, sender)
    expect(of('mailer.failing')).toHaveLength(1)
    expect(of('mailer.works_again')).toMatchObject([{ host: '127.0.0.1', duration_ms: 60_000 }])
  })

  it('has one warning for each category of failure', async () => {
    let reply = '451 4.3.0 no space on the disk'
    const server = await world.serve(({ phase }) => (phase === 'mail' ? reply : undefined))
    await addMailer(world.db, { port: server.port })
    const { log, of } = capture()
    let nowMs = 0
    const sender = world.sender({ log, monotonicMs: () => nowMs })
    const mails = [reply, reply, '454 4.7.0 Relay access denied', reply]
    for (const next of mails) {
      reply = next
      nowMs += 300_000
      await accept(world.db, { settings: { max_attempts: 1 } })
      await drain(world.db, sender)
    }
    const told = of('mailer.failing').map((line) => line.category)
    expect(of('attempt.finished')).toHaveLength(4)
    expect(told).toHaveLength(2)
    expect(new Set(told).size).toBe(2)
  })

  it.each([
    '451 4.7.1 greylisted, try again later',
    '450 4.2.1 Mailbox busy',
    '451 4.1.1 try again later',
  ])('has no warning when a server refuses a single recipient: %s', async (reply) => {
    const server = await world.serve(({ phase }) => (phase === 'rcpt' ? reply : undefined))
    await addMailer(world.db, { port: server.port })
    const { log, of } = capture()
    await accept(world.db, { settings: { max_attempts: 1 } })
    await drain(world.db, world.sender({ log }))
    expect(of('attempt.finished')).toHaveLength(1)
    expect(of('mailer.failing')).toEqual([])
  })
})
