import { describe, expect, it } from 'vitest'
import { PostriderError } from './errors.ts'
import { fillPath, queryOf } from './path.ts'

const fill = (id: string) => fillPath('/v1/smtp/{mailer_id}/x', { mailer_id: id })

describe('fillPath', () => {
  it('encodes characters that would end the segment or the path', () => {
    expect(fill('a/b?c#d e%2e')).toBe('/v1/smtp/a%2Fb%3Fc%23d%20e%252e/x')
    expect(fill('ü@例え.test')).toBe(`/v1/smtp/${encodeURIComponent('ü@例え.test')}/x`)
  })

  it('cannot lead to another route', () => {
    for (const id of ['a/b', '%2e%2e', '..;', '...', 'a\\b', '?', '#', '//example.com']) {
      const { pathname } = new URL(`http://127.0.0.1${fill(id)}`)
      expect(pathname.split('/'), id).toHaveLength(5)
    }
  })

  it.each(['', '.', '..', '../webhook', '..\\webhook', 'a/../../webhook', './a', '\ud800'])(
    'refuses %j',
    (id) => {
      expect(() => fill(id)).toThrow(PostriderError)
      expect(() => fill(id)).toThrow(
        expect.objectContaining({ code: 'invalid_argument', status: 0 }),
      )
    },
  )

  it('refuses a missing parameter', () => {
    expect(() => fillPath('/v1/{id}', {})).toThrow('id must be a non-empty string')
  })
})

describe('queryOf', () => {
  it('is empty without parameters', () => {
    expect(queryOf({})).toBe('')
    expect(queryOf({ event: undefined })).toBe('')
  })

  it('encodes parameters so that a URL parser reads the given values', () => {
    const query = { 'a&b': 'c=d&e', plus: '1+1 %2B', hash: '#x', time: '2026-11-20T18:00:00+01:00' }
    const { searchParams, hash } = new URL(`http://127.0.0.1/${queryOf(query)}`)
    expect(Object.fromEntries(searchParams)).toStrictEqual(query)
    expect(hash).toBe('')
    expect(queryOf({ pageSize: 50, all: false })).toBe('?pageSize=50&all=false')
  })

  it('writes a Date as the service reads times', () => {
    expect(queryOf({ start: new Date('2026-11-20T19:00:00+01:00') })).toBe(
      '?start=2026-11-20T18%3A00%3A00.000Z',
    )
  })

  it.each([null, {}, ['a'], '\ud800', new Date('never')])('refuses %j', (value) => {
    expect(() => queryOf({ event: value })).toThrow(
      expect.objectContaining({ code: 'invalid_argument', status: 0 }),
    )
  })
})
