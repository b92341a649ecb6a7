import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createReplyParser, REPLY_LIMITS, type Reply, type ReplyFault } from './reply-parser.ts'

/** Everything that the parser makes of these chunks. */
function parse(chunks: readonly Buffer[], limits?: typeof REPLY_LIMITS) {
  const parser = createReplyParser(limits)
  const all: (Reply | ReplyFault)[] = []
  for (const chunk of chunks) {
    parser.push(chunk)
    for (let one = parser.next(); one !== undefined; one = parser.next()) {
      all.push(one)
      if ('fault' in one) return all
    }
  }
  return all
}

const parseText = (text: string) => parse([Buffer.from(text, 'latin1')])

/** The same bytes, cut where the numbers say. */
function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const ends = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort((a, b) => a - b)
  return [...ends, bytes.length].map((end, i) => bytes.subarray(i === 0 ? 0 : ends[i - 1], end))
}

const code = fc.integer({ min: 200, max: 599 })
const text = fc.string({ maxLength: 60, unit: 'grapheme' }).map((one) => one.replace(/[\r\n]/g, ''))
const reply = fc.tuple(code, fc.array(text, { maxLength: 4 }), fc.option(text))
const replies = fc.array(reply, { maxLength: 5 })
const places = fc.array(fc.nat(), { maxLength: 12 })

function wireOf(all: readonly (readonly [number, readonly string[], string | null])[]): Buffer {
  const lines = all.flatMap(([number, before, last]) => [
    ...before.map((one) => `${number}-${one}`),
    last === null ? `${number}` : `${number} ${last}`,
  ])
  return Buffer.from(lines.map((line) => `${line}\r\n`).join(''))
}

describe('replies', () => {
  it('are parsed the same, however the bytes are divided', () => {
    fc.assert(
      fc.property(replies, places, (all, where) => {
        const expected = all.map(([number, before, last]) => ({
          code: number,
          lines: [
            ...before.map((one) => `${number}-${one}`),
            last === null ? `${number}` : `${number} ${last}`,
          ],
        }))
        expect(parse(cut(wireOf(all), where))).toEqual(expected)
      }),
    )
  })

  it('are the same for any division of any bytes, faults included', () => {
    const bytes = fc.oneof(fc.uint8Array({ maxLength: 400 }), replies.map(wireOf))
    fc.assert(
      fc.property(bytes, places, (some, where) => {
        const whole = Buffer.from(some)
        expect(parse(cut(whole, where))).toEqual(parse([whole]))
        expect(parse([...whole].map((byte) => Buffer.from([byte])))).toEqual(parse([whole]))
      }),
    )
  })

  it('replies with any byte changed never throw and never exceed a limit', () => {
    const limits = { lineBytesMax: 64, linesMax: 3, bytesMax: 100 } as const
    const change = fc.tuple(fc.nat(), fc.nat({ max: 255 }))
    fc.assert(
      fc.property(replies, fc.array(change, { maxLength: 4 }), places, (all, changes, where) => {
        const bytes = wireOf(all)
        for (const [place, byte] of changes)
          if (bytes.length > 0) bytes[place % bytes.length] = byte
        for (const one of parse(cut(bytes, where), limits as never)) {
          if ('fault' in one) continue
          expect(one.code).toBeGreaterThanOrEqual(200)
          expect(one.code).toBeLessThan(600)
          expect(one.lines.length).toBeLessThanOrEqual(limits.linesMax)
          expect(Buffer.byteLength(one.lines.join('\n'), 'latin1')).toBeLessThanOrEqual(100)
          for (const line of one.lines) expect(line.length).toBeLessThanOrEqual(64)
        }
      }),
    )
  })

  it('may end their lines with LF alone, and have no text', () => {
    expect(parseText('250-a\n250\n354\r\n')).toEqual([
      { code: 250, lines: ['250-a', '250'] },
      { code: 354, lines: ['354'] },
    ])
  })

  it('are UTF-8, or else read byte by byte', () => {
    expect(parse([Buffer.from('550 größer\r\n')])).toEqual([{ code: 550, lines: ['550 größer'] }])
    expect(parseText('550 gr\u00f6\u00dfer\r\n')).toEqual([{ code: 550, lines: ['550 größer'] }])
  })
})

describe('a malformed reply', () => {
  it.each([
    '\r\n',
    '25\r\n',
    '250ok\r\n',
    '2 0 ok\r\n',
    '150 well\r\n',
    '600 well\r\n',
    '999\r\n',
    '\u0000250 ok\r\n',
    ' 250 ok\r\n',
    '250-ok\r\n550 no\r\n',
    '250-ok\r\n\r\n',
    'HTTP/1.1 400 Bad Request\r\n',
  ])('is a fault, and nothing is read behind it: %j', (wire) => {
    const parser = createReplyParser()
    parser.push(Buffer.from(wire))
    expect(parser.next()).toHaveProperty('fault')
    parser.push(Buffer.from('250 ok\r\n'))
    expect(parser.next()).toHaveProperty('fault')
  })

  it('is reported shortened', () => {
    const [one] = parseText(`${'x'.repeat(5_000)}\r\n`)
    expect(one).toMatchObject({ fault: expect.stringMatching(/^Unexpected response: x{200}…$/) })
  })
})

describe('limits of replies', () => {
  const faultAfter = (chunk: string, times: number) => {
    const parser = createReplyParser()
    for (let i = 0; i < times; i += 1) {
      parser.push(Buffer.from(chunk))
      const one = parser.next()
      if (one !== undefined) return { i, one }
    }
    return undefined
  }

  it('end a line without an end', () => {
    const after = faultAfter('2', REPLY_LIMITS.lineBytesMax + 2)
    expect(after).toMatchObject({ i: REPLY_LIMITS.lineBytesMax, one: { fault: /long/ } as never })
  })

  it('end a reply without an end, by its lines or by its bytes', () => {
    expect(faultAfter('250-x\r\n', 1_000)?.i).toBe(REPLY_LIMITS.linesMax)
    expect(faultAfter(`250-${'x'.repeat(4_000)}\r\n`, 1_000)?.i).toBeLessThan(17)
  })

  it('report the bytes that are left', () => {
    const parser = createReplyParser()
    expect(parser.isEmpty).toBe(true)
    parser.push(Buffer.from('250 a\r\n2'))
    expect(parser.isEmpty).toBe(false)
    parser.next()
    expect(parser.isEmpty).toBe(false)
    parser.push(Buffer.from('50-b\r\n'))
    parser.next()
    expect(parser.isEmpty).toBe(false)
    parser.push(Buffer.from('250 c\r\n'))
    expect(parser.next()).toEqual({ code: 250, lines: ['250-b', '250 c'] })
    expect(parser.isEmpty).toBe(true)
  })
})
