import { expect, it } from 'vitest'
import { digestContent, digestListed } from './digest-mail.ts'

const arrivedAt = new Date('2026-11-20T10:00:00.700Z')
const listed = { messageId: '<1@x>', bytes: 100, arrivedAt }
const account = { start: 'start ada' }
const hex = (digest: Buffer | undefined) => digest?.toString('hex')

it('without fetching it, a message is its Message-ID, its size and the second of its arrival', () => {
  const same = { ...listed, arrivedAt: new Date('2026-11-20T10:00:00Z') }
  expect(hex(digestListed(same, account))).toBe(hex(digestListed(listed, account)))
  const others = [
    { ...listed, messageId: '<2@x>' },
    { ...listed, bytes: 101 },
    { ...listed, arrivedAt: new Date('2026-11-20T10:00:01Z') },
  ]
  const all = [listed, ...others].map((one) => hex(digestListed(one, account)))
  expect(new Set(all).size).toBe(all.length)
})

it('one without a Message-ID, or a time, cannot be told without fetching it', () => {
  expect(digestListed({ ...listed, messageId: '' }, account)).toBeUndefined()
  expect(digestListed({ ...listed, arrivedAt: undefined }, account)).toBeUndefined()
})

it('fetched, it is its content, whenever it arrived; one without a Message-ID also its time', () => {
  const later = new Date('2026-11-21T10:00:00Z')
  const named = Buffer.from('Message-ID: <1@x>\r\n\r\nbody\r\n')
  expect(hex(digestContent(named, arrivedAt, account))).toBe(
    hex(digestContent(named, later, account)),
  )
  const bare = Buffer.from('Subject: x\r\n\r\nbody\r\n')
  expect(hex(digestContent(bare, arrivedAt, account))).toBe(
    hex(digestContent(bare, arrivedAt, account)),
  )
  expect(hex(digestContent(bare, arrivedAt, account))).not.toBe(
    hex(digestContent(bare, later, account)),
  )
})

it('it is of one account, under whatever configuration of a folder', () => {
  const raw = Buffer.from('Message-ID: <1@x>\r\n\r\nbody\r\n')
  const of = (start: string) =>
    [digestListed(listed, { start }), digestContent(raw, arrivedAt, { start })].map(hex)
  expect(of('later ada')).toEqual(of('start ada'))
  const [first, second] = of('start ada')
  const others = of('start eve')
  expect(others).not.toContain(first)
  expect(others).not.toContain(second)
})
