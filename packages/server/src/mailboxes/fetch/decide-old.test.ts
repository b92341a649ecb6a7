import { expect, it } from 'vitest'
import { isOld } from './decide-old.ts'

const at = (hour: number) => new Date(Date.UTC(2026, 10, 20, hour))
const folder = { firstUid: 10, oldBefore: at(12) }

it.each([
  ['there at the first look, and arrived before', 10, 11, undefined, true],
  ['there at the first look, and arrived later', 10, 12, undefined, false],
  ['numbered later, whatever its time', 11, 1, undefined, false],
  ['numbered later, and arrived before anything is remembered', 11, 1, at(2), true],
  ['numbered later, and arrived since', 11, 3, at(2), false],
] as const)(
  '[contract 3.5] decides whether a message is old: %s',
  (_, uid, hour, forgotten, expected) => {
    expect(isOld({ uid, arrivedAt: at(hour) }, folder, forgotten)).toBe(expected)
  },
)

it('calls no message without a time old', () => {
  expect(isOld({ uid: 1, arrivedAt: undefined }, folder, at(23))).toBe(false)
})

it('calls no message old where all earlier messages are known', () => {
  expect(isOld({ uid: 1, arrivedAt: at(1) }, { ...folder, oldBefore: null }, undefined)).toBe(false)
})
