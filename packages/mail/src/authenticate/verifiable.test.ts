import { describe, expect, it } from 'vitest'
import { makeVerifiable } from './verifiable.ts'

const chain = (sets: number) =>
  Array.from({ length: sets }, (_, i) =>
    [
      `ARC-Seal: i=${i + 1}; cv=pass; d=list.test; s=x; b=x`,
      `arc-message-signature: i=${i + 1}; d=list.test; s=x; b=x`,
      `ARC-Authentication-Results: i=${i + 1}; list.test; dkim=pass`,
    ].join('\r\n'),
  ).join('\r\n')

const MAIL =
  'DKIM-Signature: v=1; d=sender.test; s=x; b=x\r\nFrom: ada@sender.test\r\n\r\nHello\r\n'

/** Its header's names, as a verifier reads them. */
function read(raw: string) {
  const made = makeVerifiable(Buffer.from(raw), 10)
  if (made.kind !== 'verifiable') throw new Error(made.why)
  const lines = made.header.toString().trimEnd().split('\r\n')
  return { ...made, names: lines.map((line) => line.split(':')[0]?.toLowerCase()) }
}

describe('[P5] a chain of ARC sets', () => {
  it('is verified up to ten sets', () => {
    const { names, hasSurplusChain } = read(`${chain(10)}\r\n${MAIL}`)
    expect(hasSurplusChain).toBe(false)
    expect(names.filter((name) => name?.startsWith('arc-'))).toHaveLength(30)
  })

  it.each([
    ['eleven sets', chain(11)],
    ['ten sets and a seal', `ARC-Seal: i=11; b=x\r\n${chain(10)}`],
    ['eleven seals alone', 'ARC-Seal: i=1; b=x\r\n'.repeat(11).trimEnd()],
  ])('is not verified when it has more: %s', (_, header) => {
    const { names, body, hasSurplusChain } = read(`${header}\r\n${MAIL}`)
    expect(hasSurplusChain).toBe(true)
    expect(names).toEqual(['dkim-signature', 'from'])
    expect(body.toString()).toBe('Hello\r\n')
  })
})
