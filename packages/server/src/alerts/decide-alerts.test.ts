import type { AlertKind } from '@postrider/contract'
import { describe, expect, it } from 'vitest'
import { type Episode, operator, type Sight } from './alert.ts'
import { decideAlerts } from './decide-alerts.ts'

const key = { tenantId: 'tn_a', kind: 'mailer_failing', subject: 'smtp_1' } as const
const at = (s: number) => new Date(Date.UTC(2026, 10, 20) + s * 1_000)

/** Looks one after the other, each with the episodes that the one before has left. */
function world(o: { readonly wanted?: Readonly<Record<string, readonly AlertKind[]>> } = {}) {
  const state = {
    episodes: [] as readonly Episode[],
    wanted: new Map(
      Object.entries(o.wanted ?? { tn_a: [key.kind] }).map(([id, kinds]) => [id, new Set(kinds)]),
    ),
  }
  const look = (s: number, isSeen: boolean, change: Partial<Sight> = {}) => {
    const kind = change.kind ?? key.kind
    const condition = { ...key, kind, details: { n: s } }
    const sight = { kind, conditions: isSeen ? [condition] : [], ...change }
    const changes = decideAlerts({ ...state, sights: [sight], afterMs: 60_000, now: at(s) })
    const gone = new Set(changes.ended)
    const saved = new Map(changes.saved.map((one) => [one.kind, one]))
    state.episodes = [
      ...state.episodes.filter((one) => !gone.has(one) && !saved.has(one.kind)),
      ...saved.values(),
    ]
    return changes.told.map((one) => [one.receiver, one.state, (+one.at - +at(0)) / 1_000])
  }
  return { look, state }
}

describe('[contract 11] what must last', () => {
  it('is told once after it has lasted, and once after it has been gone for as long', () => {
    const { look, state } = world()
    expect([look(0, true), look(59, true)]).toEqual([[], []])
    expect(look(60, true)).toEqual([['tn_a', 'begun', 0]])
    expect([look(61, true), look(100, false), look(159, false)]).toEqual([[], [], []])
    expect(look(160, false)).toEqual([['tn_a', 'over', 100]])
    expect([look(170, false), state.episodes]).toEqual([[], []])
  })

  it.each<AlertKind>(['mailer_failing', 'webhook_failing', 'queue_late', 'disk_full'])(
    'is each of the kinds that may pass by themselves: %s',
    (kind) => {
      const { look } = world({ wanted: { tn_a: [kind] } })
      expect(look(0, true, { kind })).toEqual([])
      expect(look(60, true, { kind })).toEqual([['tn_a', 'begun', 0]])
    },
  )

  it('is not told when it is gone before, and begins anew then', () => {
    const { look, state } = world()
    look(0, true)
    expect([look(30, false), state.episodes]).toEqual([[], []])
    expect([look(40, true), look(70, true)]).toEqual([[], []])
    expect(look(100, true)).toEqual([['tn_a', 'begun', 40]])
  })

  it('goes on when it comes back before it is over', () => {
    const { look } = world()
    look(0, true)
    look(60, true)
    expect([look(70, false), look(120, true), look(180, false), look(239, false)].flat()).toEqual(
      [],
    )
    expect(look(240, false)).toEqual([['tn_a', 'over', 180]])
  })
})

describe('[contract 11] a state that was decided elsewhere', () => {
  it.each<AlertKind>(['mailer_deactivated', 'domain_invalid', 'bounce_rate', 'quota_near'])(
    'is told at once, and over at once: %s',
    (kind) => {
      const { look } = world({ wanted: { tn_a: [kind] } })
      expect(look(0, true, { kind })).toEqual([['tn_a', 'begun', 0]])
      expect([look(1, true, { kind })]).toEqual([[]])
      expect(look(2, false, { kind, conditions: [] })).toEqual([['tn_a', 'over', 2]])
    },
  )
})

describe('[contract 11] who is told', () => {
  it('is the tenant and the operator, each of the kinds that it wants', () => {
    const both = world({ wanted: { tn_a: [key.kind], [operator]: [key.kind], tn_b: [key.kind] } })
    both.look(0, true)
    expect(both.look(60, true).map(([who]) => who)).toEqual(['tn_a', operator])
    const other = world({ wanted: { tn_a: ['disk_full'], [operator]: [key.kind] } })
    other.look(0, true)
    expect(other.look(60, true).map(([who]) => who)).toEqual([operator])
  })

  it('is a receiver that is set later, of what goes on', () => {
    const { look, state } = world({ wanted: { [operator]: [key.kind] } })
    look(0, true)
    look(60, true)
    state.wanted.set('tn_a', new Set([key.kind]))
    expect(look(90, true)).toEqual([['tn_a', 'begun', 0]])
    expect([look(100, false), look(160, false)].flat()).toEqual([
      ['tn_a', 'over', 100],
      [operator, 'over', 100],
    ])
  })

  it('is nobody of an end whose beginning was not told, or whose receiver is gone', () => {
    const { look, state } = world({ wanted: { [operator]: [key.kind], tn_a: ['disk_full'] } })
    look(0, true)
    look(60, true)
    look(70, false)
    state.wanted.delete(operator)
    expect([look(130, false), state.episodes]).toEqual([[], []])
  })
})

it('ends nothing that a look has not looked for', () => {
  const { look, state } = world()
  look(0, true)
  look(60, true)
  expect(look(300, false, { kind: 'queue_late', conditions: [] })).toEqual([])
  expect(state.episodes).toMatchObject([{ ...key, goneAt: undefined }])
})
