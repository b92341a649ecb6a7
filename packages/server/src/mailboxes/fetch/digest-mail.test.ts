import { expect, it } from 'vitest'
import { digestContent, digestListed } from './digest-mail.ts'

const arrivedAt = new Date('2026-11-20T10:00:00.700Z')
const listed = { messageId: '<1@x>', bytes: 100, arrivedAt }
const account = { start: 'start ada' }
const hex = (digest: Buffer | undefined) => digest?.toString('hex')

it('identifies a listed message by its Message-ID, its size and the second of its arrival', () => {
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

it('identifies no listed message without a Message-ID or a time', () => {
  expect(digestListed({ ...listed, messageId: '' }, account)).toBeUndefined()
  expect(digestListed({ ...listed, arrivedAt: undefined }, account)).toBeUndefined()
})

it('identifies a fetched message by its content, and by its time when it has no Message-ID', () => {
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

it('identifies a message within its account, whatever the configuration of the folder', () => {
  const raw = Buffer.from('Message-ID: <1@x>\r\n\r\nbody\r\n')
  const of = (start: string) =>
    [digestListed(listed, { start }), digestContent(raw, arrivedAt, { start })].map(hex)
  expect(of('later ada')).toEqual(of('start ada'))
  const [first, second] = of('start ada')
  const others = of('start eve')
  expect(others).not.toContain(first)
  expect(others).not.toContain(second)
})
