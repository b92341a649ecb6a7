import { createCipheriv, createHmac, randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bytesOfUlid, newId, newUlid } from '../platform/ids.ts'
import { createKeyRing } from '../platform/secrets/index.ts'
import { createTrackingTokens, tokenKinds } from './tokens.ts'

const newKey = (id: string) => `${id}:${randomBytes(32).toString('base64')}`
const tokensOf = (spec: string) => createTrackingTokens(createKeyRing(spec))
const newWho = () => ({ tenantId: newId('tn'), refId: newUlid(), n: 3, link: 7 })

describe('a tracking token', () => {
  const tokens = tokensOf(newKey('a'))
  const who = newWho()
  const click = tokens.make({ ...who, kind: 'click' })

  it('names who it was made for, for any recipient and link', () => {
    const place = fc.nat({ max: 65_535 })
    fc.assert(
      fc.property(fc.constantFrom(...tokenKinds), place, place, (kind, n, link) => {
        const one = { ...newWho(), n, link }
        expect(tokens.read(tokens.make({ ...one, kind }), kind)).toEqual(one)
      }),
    )
  })

  it('is the same each time, short, and safe in a URL', () => {
    expect(tokens.make({ ...who, kind: 'click' })).toBe(click)
    expect(click).toMatch(/^[A-Za-z0-9_-]{66}$/)
  })

  it('[RFC 2104, SP 800-38A] is a shortened HMAC-SHA-256, and AES-256 in counter mode', () => {
    const ring = createKeyRing(newKey('a'))
    const key = ring.derive('postrider tracking v1', 65)[0]
    const plain = Buffer.concat([bytesOfUlid(who.tenantId.slice(3)), bytesOfUlid(who.refId)])
    const all = Buffer.concat([plain, Buffer.of(0, who.n, 0, who.link)])
    const mac = createHmac('sha256', key.subarray(1, 33)).update('c').update(all).digest()
    const siv = mac.subarray(0, 12)
    const counter = Buffer.concat([siv, Buffer.alloc(4)])
    const cipher = createCipheriv('aes-256-ctr', key.subarray(33), counter)
    const token = Buffer.concat([key.subarray(0, 1), siv, cipher.update(all)])
    expect(createTrackingTokens(ring).make({ ...who, kind: 'click' })).toBe(
      token.toString('base64url'),
    )
  })

  it('hides tenant, email and recipient', () => {
    const next = tokens.make({ ...who, n: who.n + 1, kind: 'click' })
    // Of two that differ in one number, hardly a character stands at the same place.
    const same = [...next].filter((character, i) => i > 1 && character === click[i])
    expect(same.length).toBeLessThan(12)
  })

  it('is refused as a token of another kind', () => {
    expect(tokens.read(click, 'open')).toBeUndefined()
    expect(tokens.read(click, 'unsubscribe')).toBeUndefined()
  })

  it('is refused when any of its bits was changed', () => {
    const symbols = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    for (let i = 0; i < click.length; i++) {
      for (let bit = 1; bit < 64; bit *= 2) {
        const changed = symbols[symbols.indexOf(click[i] ?? '') ^ bit] ?? ''
        const token = click.slice(0, i) + changed + click.slice(i + 1)
        expect(tokens.read(token, 'click'), token).toBeUndefined()
      }
    }
  })

  it.each([
    ['nothing', ''],
    ['another text', 'x'.repeat(66)],
    ['one that was cut', click.slice(0, -1)],
    ['one with something behind it', `${click}A`],
    ['one with padding', `${click.slice(0, -1)}=`],
    ['one in the other alphabet', `${click.slice(0, -1)}+`],
    ['zeroes', 'A'.repeat(66)],
  ])('is not %s', (_what, text) => {
    expect(tokens.read(text, 'click')).toBeUndefined()
  })

  it('is refused with other keys', () => {
    expect(tokensOf(newKey('a')).read(click, 'click')).toBeUndefined()
  })

  it('is not made for malformed ids and values out of range', () => {
    const bad = [
      { ...who, tenantId: 'tn_1' },
      { ...who, tenantId: `xx_${newUlid()}` },
      { ...who, refId: newUlid().toLowerCase() },
      { ...who, n: 65_536 },
      { ...who, link: -1 },
    ]
    for (const one of bad) expect(() => tokens.make({ ...one, kind: 'click' })).toThrow(RangeError)
  })
})

describe('a rotation of keys', () => {
  const [old, next] = [newKey('old'), newKey('new')]
  const who = newWho()

  it('reads tokens of old keys, and makes none with them', () => {
    const before = tokensOf(old).make({ ...who, kind: 'open' })
    const both = tokensOf(`${next},${old}`)
    expect(both.read(before, 'open')).toEqual(who)
    const after = both.make({ ...who, kind: 'open' })
    expect(tokensOf(next).read(after, 'open')).toEqual(who)
    expect(tokensOf(old).read(after, 'open')).toBeUndefined()
    expect(tokensOf(next).read(before, 'open')).toBeUndefined()
  })

  it('works with two keys that happen to have the same mark', () => {
    const keys = [randomBytes(65), randomBytes(65)] as [Buffer, Buffer]
    keys[1][0] = keys[0].readUInt8(0)
    const both = createTrackingTokens({ derive: () => keys })
    const token = createTrackingTokens({ derive: () => [keys[1]] }).make({ ...who, kind: 'open' })
    expect(both.read(token, 'open')).toEqual(who)
  })
})
