/** A tenant's settings as they were at most a second ago, for a sender that asks with every mail. */
import type { Queryable } from '../../platform/db/index.ts'
import type { PhishingSettings } from './settings.ts'
import { getSettings } from './settings-store.ts'

export interface FreshSettings {
  /** Not a promise while the last reading is recent. Rejects as the database does. */
  of(tenantId: string): PhishingSettings | Promise<PhishingSettings>
}

interface Reading {
  readonly startedMs: number
  readonly promise: Promise<PhishingSettings>
  settings?: PhishingSettings
}

const FRESH_MS = 1_000
const TENANTS_MAX = 10_000

export function createFreshSettings(deps: {
  readonly db: Queryable
  readonly monotonicMs: () => number
}): FreshSettings {
  const readings = new Map<string, Reading>()
  return {
    of(tenantId) {
      const last = readings.get(tenantId)
      if (last !== undefined && deps.monotonicMs() - last.startedMs < FRESH_MS)
        return last.settings ?? last.promise
      // All at once: those in use are read again in a second anyway.
      if (readings.size >= TENANTS_MAX) readings.clear()
      const reading: Reading = {
        startedMs: deps.monotonicMs(),
        promise: getSettings(deps.db, tenantId),
      }
      readings.set(tenantId, reading)
      reading.promise.then(
        (settings) => {
          reading.settings = settings
        },
        () => readings.delete(tenantId),
      )
      return reading.promise
    },
  }
}
