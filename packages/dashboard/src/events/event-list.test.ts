import type { ListedEvent } from '@postrider/client'
import { expect, it } from 'vitest'
import {
  addEvents,
  emptyList,
  eventsKeptMax,
  gatherEvents,
  isTest,
  recipientOf,
  textOf,
} from './event-list.ts'

const event = (n: number): ListedEvent => ({
  event_id: `evt_${n}`,
  event: 'MAIL_DELIVERED',
  success: true,
  details: { email: ['ada@example.com'], ref_id: 'ref' },
})
const many = (from: number, count: number) =>
  Array.from({ length: count }, (_, at) => event(from + at))
const ids = (list: ReturnType<typeof addEvents>) => list.events.map(({ event_id }) => event_id)

it('keeps the newest first, and each once', () => {
  const first = addEvents(emptyList, many(1, 2))
  const second = addEvents(first, [event(2), event(3)])
  expect(ids(second)).toEqual(['evt_3', 'evt_2', 'evt_1'])
  expect(addEvents(second, [event(1)])).toBe(second)
})

it('forgets the oldest, and does not take them for new', () => {
  const full = addEvents(emptyList, many(1, eventsKeptMax + 5))
  expect(full.events).toHaveLength(eventsKeptMax)
  expect(addEvents(full, [event(3)])).toBe(full)
  const later = addEvents(full, many(eventsKeptMax + 6, 2 * eventsKeptMax))
  expect(later.events).toHaveLength(eventsKeptMax)
  expect(later.ids.size).toBe(eventsKeptMax)
})

it('hands on what comes in quick succession at once, and of too much the newest', () => {
  const taken: (readonly ListedEvent[])[] = []
  const due: (() => void)[] = []
  const gathered = gatherEvents(
    (events) => taken.push(events),
    (run) => due.push(run),
  )
  gathered.add(many(1, 2))
  gathered.add([event(3)])
  expect([taken.length, due.length]).toEqual([0, 1])
  due.shift()?.()
  expect(taken).toEqual([many(1, 3)])
  for (let n = 0; n <= 2 * eventsKeptMax; n += 1) gathered.add([event(n)])
  due.shift()?.()
  expect(taken[1]).toEqual(many(eventsKeptMax + 1, eventsKeptMax))
  gathered.add([event(4)])
  gathered.stop()
  due.shift()?.()
  expect(taken).toHaveLength(2)
})

it('reads what rows show, whatever the details hold', () => {
  expect(recipientOf(event(1))).toBe('ada@example.com')
  expect(recipientOf({ ...event(1), details: { email: 'bob@example.com' } })).toBe(
    'bob@example.com',
  )
  expect(recipientOf({ ...event(1), details: { email: [3] } })).toBe('')
  expect(textOf(event(1), 'ref_id')).toBe('ref')
  expect(textOf(event(1), 'email')).toBe('')
  expect(isTest(event(1))).toBe(false)
  expect(isTest({ ...event(1), details: { test: true } })).toBe(true)
})
