import { expect, it } from 'vitest'
import { type TraceFacts, traceHeader } from './trace-header.ts'

const linesOf = (change: Partial<TraceFacts['envelope']>) =>
  traceHeader({
    envelope: {
      from: 'ada@sender.test',
      to: ['a@routed.test'],
      remoteIp: '192.0.2.1',
      helo: 'client.test',
      isTls: false,
      ...change,
    },
    name: 'mx.postrider.test',
    id: 'x.1',
    protocol: 'ESMTP',
    atMicros: 0n,
  })
    .toString()
    .split('\r\n')

const HOSTILE = 'a\r\nX-Evil: 1\n\r\u0085\u2028\0)(<b>;"\\ c'

it('cannot be broken or extended by what a peer says', () => {
  const plain = linesOf({})
  for (const change of [{ from: HOSTILE }, { helo: HOSTILE }, { to: [HOSTILE] }]) {
    const lines = linesOf(change)
    expect(lines.map((line) => line.split(/[ :]/, 1)[0])).toEqual(
      plain.map((line) => line.split(/[ :]/, 1)[0]),
    )
    const text = lines.join('')
    for (const sign of '\r\n\0\u0085\u2028"\\') expect(text).not.toContain(sign)
    for (const sign of '()<>;')
      expect(text.split(sign)).toHaveLength(plain.join('').split(sign).length)
  }
})

it('is bounded in length', () => {
  expect(Math.max(...linesOf({ helo: 'h'.repeat(5_000) }).map((line) => line.length))).toBeLessThan(
    998,
  )
})
