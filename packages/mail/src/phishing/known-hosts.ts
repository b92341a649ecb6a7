/**
 * Hosts and what each says by itself, cached over mails, as the same few occur often. Each scanner has
 * its own, which is bounded.
 */
import { type HostName, readHostName } from './host-name.ts'
import { judgeHost } from './judge-host.ts'
import type { Sign } from './signs.ts'

export interface KnownHost extends HostName {
  readonly signs: readonly Sign[]
}

export interface KnownHosts {
  get(host: string): KnownHost
}

const KEPT_MAX = 4_096

export function createKnownHosts(): KnownHosts {
  const kept = new Map<string, KnownHost>()
  return {
    get(host) {
      const known = kept.get(host)
      if (known !== undefined) return known
      const name = readHostName(host)
      const judged = { ...name, signs: judgeHost(name) }
      // All at once: which of them are asked for again shows soon enough.
      if (kept.size >= KEPT_MAX) kept.clear()
      kept.set(host, judged)
      return judged
    },
  }
}
