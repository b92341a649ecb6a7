import { describe, expect, it } from 'vitest'
import { checkHeader, headerBytes } from './check-header.ts'

describe('custom headers', () => {
  it.each([
    ['X-Campaign', 'spring'],
    ['List-Unsubscribe', '<https://example.com/u>, <mailto:u@example.com>'],
    ['List-Unsubscribe-Post', 'List-Unsubscribe=One-Click'],
    ['In-Reply-To', '<a@example.com>'],
    ['References', '<a@example.com> <b@example.com>'],
    ['Precedence', 'bulk'],
    ['X-Name', 'Zoë 🎉'],
    ['X-Empty', ''],
  ])('may set %s', (name, value) => {
    expect(checkHeader(name, value)).toBeUndefined()
  })

  it.each([
    'From',
    'to',
    'CC',
    'bCc',
    'Sender',
    'Subject',
    'Date',
    'Message-ID',
    'MIME-Version',
    'Content-Type',
    'Content-Anything',
    'DKIM-Signature',
    'ARC-Seal',
    'Return-Path',
    'Received',
    'Authentication-Results',
    'Resent-To',
    'X-Ref-Id',
  ])('may not set %s', (name) => {
    expect(checkHeader(name, 'x')).toBe('is set by the service')
  })

  it('name the field that sets Reply-To', () => {
    expect(checkHeader('Reply-To', 'x@example.com')).toBe('is set by the service: use replyTo')
  })

  it.each(['', 'a b', 'a:b', 'ä', 'a\r\nBcc', 'Bcc ', ' Bcc', 'a\u0000', 'a\u007f'])(
    'may not have the name %j',
    (name) => {
      expect(checkHeader(name, 'x')).toBe('is not a header name')
    },
  )

  it('have values of one line of text that can be folded', () => {
    expect(checkHeader('X-A', 'x\r\nBcc: evil@example.com')).toBe('contains control characters')
    expect(checkHeader('X-A', 'x\u0000')).toBe('contains control characters')
    expect(checkHeader('X-A', '\ud800')).toBe('is not well-formed Unicode')
    expect(checkHeader('X-A', 'x'.repeat(901))).toContain('900')
    expect(checkHeader('X-A', 'x '.repeat(901))).toBeUndefined()
    expect(checkHeader('References', '<ä@example.com>')).toBe('may hold ASCII only')
  })

  it('have bounded names, and a known size', () => {
    expect(checkHeader('x'.repeat(77), 'y')).toContain('76')
    expect(headerBytes('X-A', 'ä')).toBe(9)
  })
})
