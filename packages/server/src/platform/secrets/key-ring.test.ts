import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createKeyRing, SealedValueError } from './index.ts'

const newKey = (id: string) => `${id}:${randomBytes(32).toString('base64')}`

/** The reason for which a call refused to open a value. */
function refusalOf(open: () => unknown): string {
  try {
    open()
  } catch (error) {
    if (error instanceof SealedValueError) return error.reason
    throw error
  }
  return 'opened'
}

describe('the key ring', () => {
  const ring = createKeyRing(newKey('k1'))

  it('decrypts any text that it sealed', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.string(), (text, aad) => {
        return ring.decrypt(ring.encrypt(text, aad), aad) === text
      }),
    )
  })

  it('seals the same text differently each time, and shows nothing of it', () => {
    const sealed = [ring.encrypt('hunter2', 'a'), ring.encrypt('hunter2', 'a')]
    expect(sealed[0]).toMatch(/^v1\.k1\.[A-Za-z0-9_-]+$/)
    expect(sealed[0]).not.toBe(sealed[1])
    expect(sealed.join()).not.toContain('hunter2')
  })

  it('does not decrypt a value in the place of another', () => {
    const sealed = ring.encrypt('hunter2', 'mailers|tn_1|smtp_1|config')
    expect(refusalOf(() => ring.decrypt(sealed, 'mailers|tn_2|smtp_1|config'))).toBe(
      'not_authentic',
    )
  })

  it('does not decrypt a value in which any character was changed', () => {
    const sealed = ring.encrypt('hunter2', 'a')
    for (let index = 0; index < sealed.length; index += 1) {
      const other = sealed[index] === 'A' ? 'B' : 'A'
      const changed = sealed.slice(0, index) + other + sealed.slice(index + 1)
      expect(refusalOf(() => ring.decrypt(changed, 'a'))).not.toBe('opened')
      expect(refusalOf(() => ring.decrypt(sealed.slice(0, index), 'a'))).not.toBe('opened')
    }
  })

  it.each(['', 'hunter2', 'v1.k1.', 'v1.k1.AAAA', 'v2.k1.AAAAAAAA', 'v1.k1.AA==', 'k1.AAAA'])(
    'refuses %j as a value',
    (text) => {
      expect(refusalOf(() => ring.decrypt(text, 'a'))).toBe('malformed')
    },
  )

  it('encrypts with the first key, decrypts with all, and not with a removed one', () => {
    const [first, second] = [newKey('first'), newKey('second')]
    const before = createKeyRing(first).encrypt('hunter2', 'a')
    const both = createKeyRing(`${second},${first}`)
    expect(both.decrypt(before, 'a')).toBe('hunter2')
    const after = both.encrypt('hunter2', 'a')
    expect(after).toMatch(/^v1\.second\./)
    expect(refusalOf(() => createKeyRing(first).decrypt(after, 'a'))).toBe('unknown_key')
    const renamed = after.replace('.second.', '.first.')
    expect(refusalOf(() => both.decrypt(renamed, 'a'))).toBe('not_authentic')
  })

  it('reads keys in base64 and base64url, with and without padding', () => {
    const bytes = randomBytes(32)
    const [padded, bare] = [bytes.toString('base64'), bytes.toString('base64url')]
    const sealed = createKeyRing(`a:${padded}`).encrypt('x', 'y')
    expect(createKeyRing(` a:${bare} `).decrypt(sealed, 'y')).toBe('x')
  })
})

describe('derived keys', () => {
  const [first, second] = [newKey('first'), newKey('second')]

  it('are the same for the same keys, with the encrypting one first', () => {
    const both = createKeyRing(`${second},${first}`).derive('x', 64)
    expect(both).toEqual([
      ...createKeyRing(second).derive('x', 64),
      ...createKeyRing(first).derive('x', 64),
    ])
    expect(both[0]).toHaveLength(64)
  })

  it('differ for each key and each purpose', () => {
    const ring = createKeyRing(`${second},${first}`)
    const all = [...ring.derive('x', 32), ...ring.derive('y', 32)].map((key) => key.toString('hex'))
    expect(new Set(all).size).toBe(4)
  })
})

describe('a bad list of keys', () => {
  const secret = randomBytes(32).toString('base64')
  const short = randomBytes(16).toString('base64')

  it.each([
    ['nothing', ''],
    ['a key without an id', secret],
    ['a short key', `a:${short}`],
    ['a repeated id', `a:${secret},a:${secret}`],
    ['an id with spaces', `a b:${secret}`],
    ['an empty entry', `a:${secret},`],
    ['an empty id', `:${secret}`],
    ['a key that is not base64', `a:${secret}!`],
  ])('a bad list of keys with %s is refused without quoting it', (_what, spec) => {
    const message = (() => {
      try {
        createKeyRing(spec)
        return 'accepted'
      } catch (error) {
        return String(error)
      }
    })()
    expect(message).toMatch(/secret keys: entry \d/)
    for (const part of [secret, short]) expect(message).not.toContain(part.slice(0, 8))
  })
})
