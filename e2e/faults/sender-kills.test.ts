/**
 * A sender that is killed at each place of an attempt, and the one that comes after it. Up to the
 * record of the commit point the attempt never happened; from there to the commit of its result it is
 * uncertain, and the mailer's policy decides; then it is told, once.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createFleet, type Fleet, holdAt, type Scene } from './fleet.ts'

const ADA = 'ada@recipient.test'
/** More than the buffers of two sockets hold. */
const LARGE = 'AAAA'.repeat(4_000_000)
const TEST_MS = 90_000

let fleet: Fleet
beforeAll(async () => {
  fleet = await createFleet()
  await fleet.start()
})
afterEach(() => fleet.endScene())
afterAll(() => fleet.destroy())

const copies = ({ smtp }: Scene): number =>
  smtp.messages.filter(({ recipients }) => recipients.includes(ADA)).length

/** A sender dies by its own hand at the failpoint; the next one finds what it left. */
async function killAt(failpoint: string, scene: Scene): Promise<void> {
  const dying = await fleet.sender({ failpoints: `${failpoint}=kill` })
  await scene.send(ADA)
  expect(await dying.process.exited).toMatchObject({ signal: 'SIGKILL' })
  await fleet.sender()
}

describe('a sender that is killed before the commit point has its attempt repeated without an event', () => {
  it('[S1] a sender that is killed after the claim has its attempt repeated without an event', {
    timeout: TEST_MS,
  }, async () => {
    const scene = await fleet.scene()
    await killAt('send.after_claim', scene)
    expect(await scene.told(1)).toEqual(['MAIL_DELIVERED'])
    expect(copies(scene)).toBe(1)
  })

  it('[S2] a sender that is killed after the connection has its attempt repeated without an event', {
    timeout: TEST_MS,
  }, async () => {
    const scene = await fleet.scene()
    await killAt('send.after_connect', scene)
    expect(await scene.told(1)).toEqual(['MAIL_DELIVERED'])
    expect(scene.smtp.connections[0]?.commands.join()).not.toMatch(/MAIL FROM/)
    expect(copies(scene)).toBe(1)
  })

  it('[S3] a sender that is killed in the middle of DATA has its attempt repeated without an event', {
    timeout: TEST_MS,
  }, async () => {
    let pid: number | undefined
    const scene = await fleet.scene(({ phase }) => {
      if (phase === 'body' && pid !== undefined) process.kill(pid, 'SIGKILL')
      if (phase === 'body') pid = undefined
      return undefined
    })
    const dying = await fleet.sender()
    pid = dying.process.pid
    await scene.send(ADA, { content: LARGE })
    expect(await dying.process.exited).toMatchObject({ signal: 'SIGKILL' })
    await fleet.sender()
    expect(await scene.told(1)).toEqual(['MAIL_DELIVERED'])
    expect(scene.smtp.connections[0]?.phase).toBe('body')
    expect(copies(scene)).toBe(1)
  })
})

describe.each([
  ['at_least_once', ['SMTP_ERROR 1 retry', 'MAIL_DELIVERED'], 1],
  ['at_most_once', ['SMTP_ERROR 1 final'], 0],
] as const)(
  'a sender that is killed after the commit point leaves an uncertain attempt: %s',
  (uncertain, told, more) => {
    it('[S4] a sender that is killed after the commit point leaves an uncertain attempt', {
      timeout: TEST_MS,
    }, async () => {
      const scene = await fleet.scene(undefined, uncertain)
      await killAt('send.before_dot', scene)
      expect(await scene.told(told.length)).toEqual(told)
      expect(copies(scene)).toBe(more)
    })

    it('[S5] a sender that is killed after the end of the message, before the 250, leaves an uncertain attempt', {
      timeout: TEST_MS,
    }, async () => {
      const { script, reached } = holdAt('dot')
      const dots: (string | undefined)[] = []
      const scene = await fleet.scene((now) => {
        if (now.phase === 'dot') dots.push(now.recipient)
        return script(now)
      }, uncertain)
      const dying = await fleet.sender()
      await scene.send(ADA)
      await reached
      await dying.process.kill()
      await fleet.sender()
      expect(await scene.told(told.length)).toEqual(told)
      expect(dots.filter((recipient) => recipient === ADA)).toHaveLength(1 + more)
    })

    it('[S6] a sender that is killed after the 250, before its commit, leaves an uncertain attempt', {
      timeout: TEST_MS,
    }, async () => {
      const scene = await fleet.scene(undefined, uncertain)
      await killAt('send.after_reply', scene)
      expect(await scene.told(told.length)).toEqual(told)
      expect(copies(scene)).toBe(1 + more)
    })
  },
)

it('[S7] a sender that is killed after the commit has its event delivered', {
  timeout: TEST_MS,
}, async () => {
  const scene = await fleet.scene()
  await killAt('send.after_finish', scene)
  expect(await scene.told(1)).toEqual(['MAIL_DELIVERED'])
  expect(copies(scene)).toBe(1)
})

describe('[S8] a sender that is told to end', () => {
  it('finishes attempts that its server answers in time', { timeout: TEST_MS }, async () => {
    const { script, reached, letGo } = holdAt('dot')
    const scene = await fleet.scene(script)
    const ending = await fleet.sender()
    await scene.send(ADA)
    await reached
    const ended = ending.stop()
    await ending.process.waitForLine(/"service\.stopping"/)
    letGo()
    expect(await ended).toEqual({ code: 0, signal: null })
    await fleet.sender()
    expect(await scene.told(1)).toEqual(['MAIL_DELIVERED'])
    expect(copies(scene)).toBe(1)
  })

  it('gives back attempts that its server does not answer', { timeout: TEST_MS }, async () => {
    const scene = await fleet.scene({ [ADA]: ['hang', 'ok'] })
    const ending = await fleet.sender()
    await scene.send(ADA)
    await scene.smtp.waitFor(({ connections }) => connections[0]?.phase === 'rcpt')
    expect(await ending.stop()).toEqual({ code: 0, signal: null })
    await fleet.sender()
    expect(await scene.told(1)).toEqual(['MAIL_DELIVERED'])
    expect(copies(scene)).toBe(1)
  })

  it('a sender that is told to end and is killed meanwhile leaves the same state as one that is killed', {
    timeout: TEST_MS,
  }, async () => {
    const scene = await fleet.scene({ [ADA]: ['hang', 'ok'] })
    const ending = await fleet.sender()
    await scene.send(ADA)
    await scene.smtp.waitFor(({ connections }) => connections[0]?.phase === 'rcpt')
    process.kill(ending.process.pid, 'SIGTERM')
    await ending.process.waitForLine(/"service\.stopping"/)
    await ending.process.kill()
    await fleet.sender()
    expect(await scene.told(1)).toEqual(['MAIL_DELIVERED'])
    expect(copies(scene)).toBe(1)
  })
})

/** Stopped and continued by signals, which is what a blocked event loop is to everyone else. */
describe('[S9] a sender that is suspended for longer than its claims last', () => {
  it('does not end the message when it resumes before the commit point', {
    timeout: TEST_MS,
  }, async () => {
    const { script, reached, letGo } = holdAt('rcpt')
    const scene = await fleet.scene(script)
    const blocked = await fleet.sender()
    await scene.send(ADA)
    await reached
    process.kill(blocked.process.pid, 'SIGSTOP')
    await fleet.sender()
    await scene.receiver.waitForRequests(1)
    letGo()
    process.kill(blocked.process.pid, 'SIGCONT')
    expect(await blocked.stop()).toMatchObject({ code: 0 })
    expect(await scene.told(1)).toEqual(['MAIL_DELIVERED'])
    expect(copies(scene)).toBe(1)
  })

  it('changes nothing with its late answer after the commit point', {
    timeout: TEST_MS,
  }, async () => {
    const { script, reached, letGo } = holdAt('dot')
    const scene = await fleet.scene(script)
    const blocked = await fleet.sender()
    await scene.send(ADA)
    await reached
    process.kill(blocked.process.pid, 'SIGSTOP')
    await fleet.sender()
    const told = ['SMTP_ERROR 1 retry', 'MAIL_DELIVERED']
    await scene.smtp.waitForMessages(1)
    letGo()
    await scene.smtp.waitForMessages(2)
    process.kill(blocked.process.pid, 'SIGCONT')
    expect(await blocked.stop()).toMatchObject({ code: 0 })
    expect(await scene.told(2)).toEqual(told)
    expect(copies(scene)).toBe(2)
  })
})
