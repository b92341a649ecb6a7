import { describe, expect, it } from 'vitest'
import { createBodyReader } from './smtp-body.ts'

/** Reads one message out of `wire`, cut into chunks of `size` bytes; answers it and what is left. */
function read(wire: string, size: number): { message: string; rest: string } | undefined {
  const reader = createBodyReader(true)
  const bytes = Buffer.from(wire, 'latin1')
  for (let at = 0; at < bytes.length; at += size) {
    const used = reader.take(bytes.subarray(at, at + size))
    if (used >= 0) {
      return {
        message: reader.message().toString('latin1'),
        rest: bytes.toString('latin1', at + used),
      }
    }
  }
  return undefined
}

const cases: readonly [name: string, wire: string, message: string, rest: string][] = [
  ['an empty message', '.\r\nRSET', '', 'RSET'],
  ['a plain message', 'a: b\r\n\r\nhello\r\n.\r\n', 'a: b\r\n\r\nhello\r\n', ''],
  ['a stuffed first line', '..x\r\n.\r\n', '.x\r\n', ''],
  ['stuffed lines', 'a\r\n..\r\n...b\r\n.\r\nQUIT', 'a\r\n.\r\n..b\r\n', 'QUIT'],
  ['a dot between lone line feeds', 'a\n.\nb\r\n.\r\n', 'a\n.\nb\r\n', ''],
  ['a dot after a lone line feed', 'a\n.\r\nb\r\n.\r\n', 'a\n.\r\nb\r\n', ''],
  ['a dot before a lone carriage return', 'a\r\n..\rb\r\n.\r\n', 'a\r\n.\rb\r\n', ''],
]

describe('body reader', () => {
  for (const [name, wire, message, rest] of cases) {
    it(`reads ${name}, however it is cut`, () => {
      for (let size = 1; size <= wire.length; size += 1) {
        const got = read(wire, size)
        expect(got?.message, `chunks of ${size}`).toBe(message)
        expect(rest.startsWith(got?.rest ?? '?') || got?.rest.startsWith(rest)).toBe(true)
      }
    })
  }

  it('ends at CRLF.CRLF and nothing else', () => {
    for (const wire of ['a\r\n.\r', 'a\r\n.\n', 'a\n.\r\n', '\r\n.x\r\n', 'a\r\r\n.\r\r\n']) {
      expect(read(wire, 1), JSON.stringify(wire)).toBeUndefined()
    }
  })
})
