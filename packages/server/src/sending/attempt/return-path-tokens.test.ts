/** Tokens in return paths: whose copy came back, told by nobody but us. */
import { expect, it } from 'vitest'
import { newId, newUlid } from '../../platform/ids.ts'
import { createKeyRing } from '../../platform/secrets/index.ts'
import { createReturnPathTokens } from './return-path-tokens.ts'

const keyOf = (fill: number) => Buffer.alloc(32, fill).toString('base64')
const tokens = createReturnPathTokens(createKeyRing(`a:${keyOf(1)}`))
const who = { tenantId: newId('tn'), refId: newUlid(), n: 49_999 }
const place = { refId: who.refId, n: who.n }
const local = tokens.make(who)

it('[7.4] fit into a local part, and name one recipient of one email', () => {
  expect(local).toMatch(/^bounces\+[a-z2-7]{50}$/)
  expect(local.length).toBeLessThanOrEqual(64)
  expect(tokens.read(who.tenantId, local)).toEqual(place)
  expect(tokens.make(who)).toBe(local)
})

it('can be read when a server has changed upper and lower case', () => {
  expect(tokens.read(who.tenantId, local.toUpperCase())).toEqual(place)
})

it('cannot be read for another tenant', () => {
  expect(tokens.read(newId('tn'), local)).toBeUndefined()
})

it('are refused when a single character is changed, left out or added', () => {
  for (let i = 'bounces+'.length; i < local.length; i += 1)
    for (const sign of 'abcdefghijklmnopqrstuvwxyz234567') {
      const changed = local.slice(0, i) + sign + local.slice(i + 1)
      if (changed !== local) expect(tokens.read(who.tenantId, changed)).toBeUndefined()
    }
  for (const text of ['', 'bounces', 'bounces+', local.slice(0, -1), `${local}a`, ` ${local}`])
    expect(tokens.read(who.tenantId, text)).toBeUndefined()
})

it('can be read after a key rotation while their key is configured', () => {
  const rotated = createReturnPathTokens(createKeyRing(`b:${keyOf(2)},a:${keyOf(1)}`))
  expect(rotated.read(who.tenantId, local)).toEqual(place)
  expect(rotated.make(who)).not.toBe(local)
  const without = createReturnPathTokens(createKeyRing(`b:${keyOf(2)}`))
  expect(without.read(who.tenantId, local)).toBeUndefined()
})
