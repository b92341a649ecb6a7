import type { DnsAnswer } from '@postrider/runtime/dns'
import { describe, expect, it } from 'vitest'
import { isCheap } from './mail-authenticator.ts'

const found = (...records: unknown[]): DnsAnswer<unknown> => ({
  kind: 'found',
  records,
  aliases: [],
})
const job = (text: string, ...answers: DnsAnswer<unknown>[]) => ({
  client: undefined,
  name: 'mx.routed.test',
  message: { kind: 'raw', raw: Buffer.from(text, 'latin1') } as const,
  answers: new Map(answers.map((answer, i) => [String(i), answer])),
})
const PLAIN = 'From: ada@sender.test\r\nSubject: arc-lamps\r\n\r\nHello\r\n'

describe('authentication on the event loop', () => {
  it.each([
    ['it is small and unsigned', PLAIN],
    ['its body is long, which nobody has signed', `${PLAIN}${'x'.repeat(100_000)}`],
    ['its body names a signature', `${PLAIN}DKIM-Signature: a\r\n`],
  ])('is chosen where %s', (_why, text) => {
    expect(isCheap(job(text))).toBe(true)
  })

  it('is chosen when only short answers of name servers are left to read', () => {
    const rest = { ...job('', found('v=spf1 -all')), message: { kind: 'temporary' } as const }
    expect(isCheap(rest)).toBe(true)
  })
})

describe('authentication in a thread', () => {
  it.each([
    ['it is signed', `DKIM-Signature: a\r\n${PLAIN}`],
    ['it is signed by a name in any case', `dkim-signature: a\r\n${PLAIN}`],
    ['it is signed by a folded name', `DKIM-\r\nSignature\r\n: a\r\n${PLAIN}`],
    ['it has a chain', `ARC-Seal: i=1\r\n${PLAIN}`],
    ['its header is long', `X: ${'x'.repeat(5_000)}\r\n${PLAIN}`],
    ['its header has no end', 'From: ada@sender.test'],
  ])('is chosen where %s', (_why, text) => {
    expect(isCheap(job(text))).toBe(false)
  })

  it.each([
    ['a long record', found('x'.repeat(3_000))],
    ['a record with a macro', found('v=spf1 exists:%{i}.test')],
    ['many records', found(...Array.from({ length: 50 }, () => '192.0.2.1'))],
  ])('is chosen where name servers have answered with %s', (_what, answer) => {
    expect(isCheap(job(PLAIN, answer))).toBe(false)
  })
})
