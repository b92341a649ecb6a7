/** Whole conversations, byte by byte and without a socket: what is written, and what comes of it. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Dialogue, DONE, type Step } from './dialogue.ts'
import type { Lost } from './failure.ts'
import { greet } from './greet.ts'
import { createMachine } from './machine.ts'
import { type Transacted, type TransactOptions, transact } from './transact.ts'

const LOST: Lost = { systemCode: 'ECONNECTION', message: 'gone' }
const SERVER = { host: 'mx.example.com', port: 587 }
const ENVELOPE: TransactOptions = {
  mail: 'MAIL FROM:<a@example.com>',
  rcpt: 'RCPT TO:<b@example.com>',
  isPipelined: true,
  endOfData: '\r\n.\r\n',
}

interface Played<Result> {
  readonly result: Result
  readonly wrote: string
  readonly asked: readonly string[]
}

/** The peer says these chunks and is gone then; TLS, message and agreement always succeed. */
function play<Result>(dialogue: Dialogue<Result>, chunks: readonly Buffer[]): Played<Result> {
  const machine = createMachine()
  let wrote = ''
  const asked: string[] = []
  const left = [...chunks]
  machine.begin(dialogue)
  for (let turns = 0; turns < 2_000; turns += 1) {
    const turn = machine.next()
    if (turn === undefined) {
      const chunk = left.shift()
      if (chunk === undefined) machine.tell(LOST)
      else machine.push(chunk)
    } else if (turn.kind === 'ended') {
      // What the machine was given to play is what this function was given.
      return { result: turn.result as Result, wrote, asked }
    } else {
      const { step }: { step: Step } = turn
      wrote += step.write ?? ''
      if (step.until !== 'reply') {
        asked.push(step.until)
        machine.tell(DONE)
      }
    }
  }
  throw new Error('a conversation without end')
}

/** Each line once it is waited for. */
const says = (...lines: string[]) => lines.map((line) => Buffer.from(`${line}\r\n`))
const transacted = (o: Partial<TransactOptions>, ...lines: string[]) =>
  play(transact({ ...ENVELOPE, ...o }), says(...lines))

describe('a transaction', () => {
  it('takes two writes where the server supports pipelining', () => {
    const { wrote, result, asked } = transacted({}, '250 a', '250 b', '354 c', '250 d')
    expect(result).toEqual({
      kind: 'accepted',
      reply: { code: 250, text: '250 d' },
      keepsConnection: true,
    })
    expect(wrote).toBe('MAIL FROM:<a@example.com>\r\nRCPT TO:<b@example.com>\r\nDATA\r\n\r\n.\r\n')
    expect(asked).toEqual(['body-sent', 'agreed'])
  })

  it('goes step by step without pipelining, and no further than the first refusal', () => {
    const { wrote } = transacted({ isPipelined: false }, '250 a', '550 b', '250 c')
    expect(wrote).toBe('MAIL FROM:<a@example.com>\r\nRCPT TO:<b@example.com>\r\nRSET\r\n')
  })

  it('does not take an early answer for a later one', () => {
    const early = play(transact(ENVELOPE), [Buffer.from('250 a\r\n250 b\r\n354 c\r\n250 d\r\n')])
    expect(early.result).toMatchObject({
      phase: 'before-dot',
      failure: { stage: 'data', systemCode: 'EPROTOCOL' },
    })
    expect(early.wrote).toMatch(/DATA\r\n$/)
  })

  it('reports the first of several refusals, after all were read', () => {
    const { result, wrote } = transacted({}, '250 a', '550 no', '503 what', '250 reset')
    expect(result).toMatchObject({
      failure: { stage: 'rcpt', reply: { code: 550 } },
      keepsConnection: true,
    })
    expect(wrote).toMatch(/DATA\r\nRSET\r\n$/)
  })

  it('sends no end of data to a server that accepts a message without recipients', () => {
    for (const replies of [
      ['250 a', '550 no', '354 go'],
      ['550 no', '250 b', '354 go'],
    ]) {
      const { result, wrote, asked } = transacted({}, ...replies)
      expect(result).toMatchObject({ phase: 'before-dot', keepsConnection: false })
      expect(wrote).toMatch(/DATA\r\n$/)
      expect(asked).toEqual([])
    }
  })

  it('keeps a refusal that was read before the connection was lost', () => {
    expect(transacted({}, '250 a', '550 5.1.1 no').result).toMatchObject({
      failure: { stage: 'rcpt', reply: { code: 550, text: '550 5.1.1 no' } },
      keepsConnection: false,
      isUnheard: false,
    })
  })
})

describe('an opening conversation', () => {
  const auth = { username: 'ann', password: 'secret' }
  const open = (startTls: 'required' | 'offered' | 'never', ...lines: string[]) =>
    play(greet({ ehloName: 'a.example', startTls, auth, server: SERVER }), says(...lines))

  it('ignores what was said in clear before the handshake', () => {
    const { result, wrote, asked } = open(
      'required',
      '220 hi',
      '250-hi',
      '250 STARTTLS',
      '220 go\r\n250-injected\r\n250 AUTH PLAIN',
      '235 welcome',
    )
    expect(result).toMatchObject({
      ok: false,
      failure: { stage: 'starttls', systemCode: 'EPROTOCOL' },
    })
    expect(wrote).not.toContain('AUTH')
    expect(asked).toEqual(['secured'])
  })

  it('neither begins TLS nor continues without it after EHLO was refused', () => {
    const { result, wrote } = open('required', '220 hi', '502 what', '250 hi')
    expect(result).toMatchObject({ failure: { stage: 'ehlo', reply: { code: 502 } } })
    expect(wrote).toBe('EHLO a.example\r\n')
  })

  it('does not try HELO with a server that is only busy', () => {
    expect(open('never', '220 hi', '451 later', '250 hi')).toMatchObject({
      result: { failure: { stage: 'ehlo', reply: { code: 451 } } },
      wrote: 'EHLO a.example\r\n',
    })
  })
})

describe('a lost connection', () => {
  it('does not answer with earlier data', () => {
    const machine = createMachine()
    machine.push(Buffer.from('250 a\r\n250 b\r\n354 c\r\n'))
    machine.tell(LOST)
    machine.begin(transact(ENVELOPE))
    expect(machine.next()).toMatchObject({ kind: 'step' })
    expect(machine.next()).toMatchObject({ kind: 'ended', result: { isUnheard: true } })
  })
})

describe('a server that asks without end', () => {
  const questions = Array.from({ length: 50 }, () => '334 eyJzdGF0dXMiOiI0MDAifQ==')
  it.each([
    ['PLAIN', { username: 'ann', password: 'secret' }],
    ['LOGIN', { username: 'ann', password: 'secret' }],
    ['CRAM-MD5', { username: 'ann', password: 'secret' }],
    ['XOAUTH2', { username: 'ann', accessToken: 'token' }],
    ['OAUTHBEARER', { username: 'ann', accessToken: 'token' }],
  ])('is answered a few times: %s', (mechanism, auth) => {
    const opening = greet({ ehloName: 'a.example', startTls: 'never', auth, server: SERVER })
    const { result, wrote } = play(
      opening,
      says('220 hi', `250-hi\r\n250 AUTH ${mechanism}`, ...questions),
    )
    expect(result).toMatchObject({ failure: { stage: 'auth', systemCode: 'EPROTOCOL' } })
    expect(wrote.split('\r\n').length).toBeLessThan(8)
  })
})

describe('a peer that says anything at all', () => {
  const goodMail = '250 a\r\n250 b\r\n354 c\r\n250 d\r\n'
  const goodOpening = '220 hi\r\n250-hi\r\n250-STARTTLS\r\n250 AUTH PLAIN LOGIN\r\n235 ok\r\n'
  const change = fc.tuple(fc.constantFrom('set', 'cut', 'insert'), fc.nat(), fc.nat({ max: 255 }))
  const changes = fc.array(change, { minLength: 1, maxLength: 6 })
  const chunkSize = fc.integer({ min: 1, max: 40 })

  function mutate(text: string, all: readonly (readonly [string, number, number])[]): Buffer {
    const bytes = [...Buffer.from(text)]
    for (const [what, place, byte] of all) {
      const at = place % (bytes.length + 1)
      if (what === 'set') bytes[Math.min(at, bytes.length - 1)] = byte
      else if (what === 'cut') bytes.splice(at, 1 + (byte % 8))
      else bytes.splice(at, 0, byte, ...Buffer.from(byte % 2 === 0 ? '\r\n' : ' '))
    }
    return Buffer.from(bytes)
  }

  function chunked(bytes: Buffer, size: number): Buffer[] {
    const chunks: Buffer[] = []
    for (let at = 0; at < bytes.length; at += size) chunks.push(bytes.subarray(at, at + size))
    return chunks
  }

  const isSound = ({ result, wrote, asked }: Played<Transacted>, bytes: Buffer): void => {
    const hasDot = wrote.endsWith('\r\n.\r\n')
    expect(hasDot).toBe(asked.includes('agreed') && wrote.includes('\r\n.\r\n'))
    if (result.kind === 'accepted') {
      expect(hasDot).toBe(true)
      expect(String(result.reply.code)).toMatch(/^2/)
    } else {
      expect(result.phase).toBe(hasDot ? 'after-dot' : 'before-dot')
      if (result.failure.stage !== 'dot') expect(result.phase).toBe('before-dot')
      const { reply } = result.failure
      if (reply !== undefined) expect(reply.code).toBeGreaterThanOrEqual(400)
    }
    // No dot without the 354 that asks for it.
    if (hasDot) expect(bytes.toString('latin1')).toMatch(/^354(?:[ -]|\r?\n)/m)
  }

  it.each([true, false])(
    'causes a valid outcome of a transaction (pipelined: %s)',
    (isPipelined) => {
      fc.assert(
        fc.property(changes, chunkSize, (all, size) => {
          const bytes = mutate(goodMail, all)
          const played = play(transact({ ...ENVELOPE, isPipelined }), chunked(bytes, size))
          isSound(played, bytes)
        }),
        { numRuns: 2_000 },
      )
    },
  )

  it('gets no session without an accepted login, and no password in clear after STARTTLS', () => {
    const auth = { username: 'ann', password: 'secret' }
    fc.assert(
      fc.property(changes, chunkSize, fc.boolean(), (all, size, isTls) => {
        const opening = isTls ? `220 hi\r\n250 STARTTLS\r\n220 go\r\n${goodOpening}` : goodOpening
        const bytes = mutate(opening, all)
        const startTls = isTls ? 'required' : 'never'
        const { result, wrote, asked } = play(
          greet({ ehloName: 'a.example', startTls, auth, server: SERVER }),
          chunked(bytes, size),
        )
        if (result.ok) expect(wrote).toContain('AUTH ')
        if (result.ok) expect(bytes.toString('latin1')).toMatch(/^2\d\d/m)
        if (isTls && wrote.includes('AUTH ')) expect(asked).toEqual(['secured'])
      }),
      { numRuns: 2_000 },
    )
  })
})
