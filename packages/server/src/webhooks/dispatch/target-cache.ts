/**
 * What is the same for every request to a webhook, made once: its URL parsed, its headers decrypted.
 *
 * An entry is good for the URL and the sealed headers that it was made from, and for no others, so that
 * a change of either counts at once. Bounded; what was used longest ago goes first.
 */
import type { Target } from './delivery.ts'
import type { StreamKey } from './stream-store.ts'

export type Header = readonly [name: string, value: string]

export interface OpenTarget {
  readonly url: URL
  /** Those before and those after the traceparent of the delivery. */
  readonly before: readonly Header[]
  readonly after: readonly Header[]
  /** Of all of them. */
  readonly names: readonly string[]
}

export interface TargetCache {
  /** What `open` throws is not kept. */
  get(key: StreamKey, target: Target, open: () => OpenTarget): OpenTarget
}

const ENTRIES_MAX = 5_000

interface Entry extends Target {
  readonly tenantId: string
  readonly opened: OpenTarget
}

export function createTargetCache(): TargetCache {
  const entries = new Map<string, Entry>()
  return {
    get({ tenantId, webhookId }, { url, headersSealed }, open) {
      const known = entries.get(webhookId)
      entries.delete(webhookId)
      const isGood =
        known !== undefined &&
        known.url === url &&
        known.headersSealed === headersSealed &&
        known.tenantId === tenantId
      const entry = isGood ? known : { tenantId, url, headersSealed, opened: open() }
      entries.set(webhookId, entry)
      const [oldest] = entries.keys()
      if (entries.size > ENTRIES_MAX && oldest !== undefined) entries.delete(oldest)
      return entry.opened
    },
  }
}
