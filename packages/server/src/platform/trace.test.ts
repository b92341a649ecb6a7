import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { continueTrace, parseTraceparent, startTrace, withSampled } from './trace.ts'

const PARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

describe('traceparent', () => {
  it('[contract 2] continues an incoming trace with a span of its own', () => {
    const mine = parseTraceparent(continueTrace(PARENT))
    expect(mine?.traceId).toBe('0af7651916cd43dd8448eb211c80319c')
    expect(mine?.spanId).not.toBe('b7ad6b7169203331')
    expect(mine?.flags).toBe('01')
  })

  it('starts a sampled trace when there is none', () => {
    expect(parseTraceparent(startTrace())?.flags).toBe('01')
    expect(startTrace()).not.toBe(startTrace())
  })

  it.each([
    '',
    '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331',
    '00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01',
    '00-00000000000000000000000000000000-b7ad6b7169203331-01',
    '00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01',
    'ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    `${PARENT}-more`,
    ` ${PARENT}`,
    `${PARENT}\n`,
  ])('treats %j as absent, and starts a trace', (header) => {
    expect(parseTraceparent(header)).toBeUndefined()
    expect(continueTrace(header)).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/)
  })

  it('reads a later version by its first four fields', () => {
    expect(parseTraceparent(PARENT.replace('00-', '01-').concat('-future'))?.spanId).toBe(
      'b7ad6b7169203331',
    )
  })

  it.each([
    ['01', false, '00'],
    ['00', true, '01'],
    ['01', true, '01'],
    ['03', false, '02'],
    ['02', true, '03'],
  ])('with flags %s and sampled %s has the flags %s', (flags, isSampled, expected) => {
    const others = PARENT.slice(0, -2)
    expect(withSampled(`${others}${flags}`, isSampled)).toBe(`${others}${expected}`)
  })

  it('always answers with a valid header, whatever arrives', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 200 }), (header) => {
        expect(parseTraceparent(continueTrace(header))).toBeDefined()
      }),
    )
  })
})
