/**
 * Decides what a look changes: which episodes begin, go on and end, and who is told of which. Pure.
 *
 * A state that was decided elsewhere, such as a deactivation, is told at once. What may pass by itself has to
 * last for `afterMs` before it is told, and has to be gone for as long before it is over. A receiver
 * that is set meanwhile is told of what has begun before.
 */
import { isDeepStrictEqual } from 'node:util'
import type { AlertKind } from '@postrider/contract'
import { type Episode, keyOf, operator, type Sight, type Wanted } from './alert.ts'

export interface Told {
  /** A tenant, or `operator`. */
  readonly receiver: string
  readonly state: 'begun' | 'over'
  readonly at: Date
  readonly episode: Episode
}

export interface AlertChanges {
  /** New ones, and those of which something has changed. */
  readonly saved: readonly Episode[]
  readonly ended: readonly Episode[]
  readonly told: readonly Told[]
}

const LASTING: ReadonlySet<AlertKind> = new Set([
  'mailer_failing',
  'webhook_failing',
  'queue_late',
  'disk_full',
])

export function decideAlerts(o: {
  readonly sights: readonly Sight[]
  readonly episodes: readonly Episode[]
  readonly wanted: Wanted
  readonly afterMs: number
  readonly now: Date
}): AlertChanges {
  const { now, afterMs, wanted } = o
  const known = new Map(o.episodes.map((episode) => [keyOf(episode), episode]))
  const saved: Episode[] = []
  const ended: Episode[] = []
  const told: Told[] = []
  const hasLasted = (kind: AlertKind, since: Date) =>
    !LASTING.has(kind) || now.getTime() - since.getTime() >= afterMs

  for (const { kind, conditions } of o.sights) {
    const seen = new Set(conditions.map(keyOf))
    for (const condition of conditions) {
      const before = known.get(keyOf(condition))
      const { since = now, toldTenant = false, toldOperator = false } = before ?? {}
      const episode = { ...condition, since, goneAt: undefined, toldTenant, toldOperator }
      const isTold = hasLasted(kind, since)
      const tells = (receiver: string, wasTold: boolean) => {
        const isNew = isTold && !wasTold && wanted.get(receiver)?.has(kind) === true
        if (isNew) told.push({ receiver, state: 'begun', at: since, episode })
        return wasTold || isNew
      }
      const after = {
        ...episode,
        toldTenant: condition.tenantId !== operator && tells(condition.tenantId, toldTenant),
        toldOperator: tells(operator, toldOperator),
      }
      if (!isDeepStrictEqual(before, after)) saved.push(after)
    }
    for (const episode of o.episodes) {
      if (episode.kind !== kind || seen.has(keyOf(episode))) continue
      const { goneAt = now, toldTenant, toldOperator } = episode
      if ((toldTenant || toldOperator) && !hasLasted(kind, goneAt)) {
        if (episode.goneAt === undefined) saved.push({ ...episode, goneAt })
        continue
      }
      ended.push(episode)
      const receivers = [
        ...(toldTenant ? [episode.tenantId] : []),
        ...(toldOperator ? [operator] : []),
      ].filter((receiver) => wanted.has(receiver))
      for (const receiver of receivers) told.push({ receiver, state: 'over', at: goneAt, episode })
    }
  }
  return { saved, ended, told }
}
