/**
 * What is the same for every request to a webhook, made once: its URL parsed, its headers and
 * secrets decrypted, and what hides their values.
 *
 * An entry is good for the URL and the sealed values that it was made from, and for no others, so that
 * a change of any counts at once. Bounded in number and in octets; what was used longest ago goes
 * first.
 */

import type { Signing } from '../../subscriptions/signing.ts'
import type { StreamKey } from '../stream-store.ts'
import type { Target } from '../take/delivery.ts'
import type { HeaderMask } from './mask-header-values.ts'

export type Header = readonly [name: string, value: string]

export interface OpenTarget {
  readonly url: URL
  /** Those before and those after the traceparent of the delivery. */
  readonly before: readonly Header[]
  readonly after: readonly Header[]
  /** Of all of them. */
  readonly names: readonly string[]
  /** Of a webhook that is signed. */
  readonly signing?: Signing
  readonly mask: HeaderMask
}

export interface TargetCache {
  /** What `open` throws is not kept. */
  get(key: StreamKey, target: Target, open: () => OpenTarget): OpenTarget
}

const ENTRIES_MAX = 5_000
const OCTETS_MAX = 32 * 1024 * 1024

interface Entry extends Target {
  readonly tenantId: string
  readonly opened: OpenTarget
  readonly octets: number
}

export function createTargetCache(octetsMax = OCTETS_MAX): TargetCache {
  const entries = new Map<string, Entry>()
  let octets = 0

  function remove(webhookId: string): Entry | undefined {
    const entry = entries.get(webhookId)
    entries.delete(webhookId)
    octets -= entry?.octets ?? 0
    return entry
  }

  return {
    get({ tenantId, webhookId }, { url, headersSealed, signingSealed }, open) {
      const known = remove(webhookId)
      const isGood =
        known !== undefined &&
        known.url === url &&
        known.headersSealed === headersSealed &&
        known.signingSealed === signingSealed &&
        known.tenantId === tenantId
      const made = { tenantId, url, headersSealed, signingSealed }
      const entry = isGood ? known : entryOf({ ...made, opened: open() })
      entries.set(webhookId, entry)
      octets += entry.octets
      for (const oldest of entries.keys()) {
        if (entries.size <= ENTRIES_MAX && octets <= octetsMax) break
        remove(oldest)
      }
      return entry.opened
    },
  }
}

/** Objects and their fields, roughly. */
const OVERHEAD_OCTETS = 1_024

function entryOf(entry: Omit<Entry, 'octets'>): Entry {
  const { before, after, names, mask } = entry.opened
  const sealed = [entry.headersSealed ?? '', entry.signingSealed ?? '']
  const texts = [entry.url, ...sealed, ...[...before, ...after].flat(), ...names]
  // Opened, the secrets are about as long as they are sealed.
  const length = texts.reduce((sum, text) => sum + text.length, entry.signingSealed?.length ?? 0)
  return { ...entry, octets: OVERHEAD_OCTETS + length + mask.octets }
}
