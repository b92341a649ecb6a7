import { expect, it } from 'vitest'
import { checkInbound, type Told } from './check.ts'
import type { Letter } from './letters.ts'

const letters: Letter[] = [
  { id: 'one', door: 'smtp', usernames: ['desk', 'sales'], raw: '', text: 'This is one.\n' },
  { id: 'two', door: 'imap', usernames: [], raw: '', text: 'This is two.\n' },
]
const told = (path: string, id: string, more: object = {}, isTaken = true): Told => ({
  path,
  isTaken,
  body: JSON.stringify({
    event: 'INCOMING_EMAIL',
    details: { message_id: `<${id}@sender.test>`, text: `This is ${id}.\n`, ...more },
  }),
})
const all = [told('/desk', 'one'), told('/sales', 'one'), told('/mailbox', 'two')]
const found = (list: readonly Told[]) => checkInbound(letters, list).violations

it('finds no violation when each message is reported once, also with repeated requests', () => {
  expect(found(all)).toEqual([])
  const again = checkInbound(letters, [told('/desk', 'one', {}, false), ...all, ...all])
  expect(again).toMatchObject({ violations: [], counts: { expected: 3, requests: 7, repeated: 3 } })
})

it('counts reports of a failing mailbox apart from mail', () => {
  const trouble = { path: '/mailbox', isTaken: true, body: '{"event":"IMAP_ERROR","details":{}}' }
  expect(checkInbound(letters, [...all, trouble])).toMatchObject({
    violations: [],
    counts: { taken: 3, imapErrors: 1 },
  })
  expect(checkInbound(letters, [...all.slice(1), trouble]).counts.taken).toBe(2)
  expect(found([...all, { ...trouble, path: '/desk' }])).toEqual(['invented: /desk undefined'])
})

it('finds lost, invented, repeated and altered messages', () => {
  expect(found(all.slice(1))).toEqual(['lost: /desk <one@sender.test>'])
  expect(found([...all.slice(1), told('/desk', 'one', {}, false)])).toEqual([
    'lost: /desk <one@sender.test>',
  ])
  expect(found([...all, told('/mailbox', 'one')])).toEqual(['invented: /mailbox <one@sender.test>'])
  expect(found([...all, told('/desk', 'one', { inbound_id: 'in_2' })])).toEqual([
    'reported 2 times: /desk <one@sender.test>',
  ])
  expect(found([...all, told('/desk', 'one', { text: 'This' })])).toEqual([
    'not what was sent: /desk <one@sender.test>',
    'reported 2 times: /desk <one@sender.test>',
  ])
})
