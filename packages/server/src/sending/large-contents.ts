/**
 * The contents of emails with large attachments. They are not loaded with a claim but when an
 * attempt needs them; the last ones used are kept, so that an email to a thousand recipients is not
 * read a thousand times.
 */
import type { Db } from '../platform/db/index.ts'
import type { Claim } from './attempt.ts'
import { loadContent } from './attempt-store.ts'
import type { EmailContent } from './email.ts'

/** From this size on a content is not loaded ahead. */
export const LARGE_CONTENT_BYTES = 128 * 1024
const KEPT_BYTES_MAX = 64 * 1024 * 1024

interface Kept {
  readonly content: Promise<EmailContent>
  readonly bytes: number
}

export interface LargeContents {
  /** Callers who want the same email at once share one reading. */
  get(claim: Pick<Claim, 'tenantId' | 'refId' | 'contentBytes'>): Promise<EmailContent>
}

export function createLargeContents(deps: {
  readonly db: Db
  readonly load?: typeof loadContent
}): LargeContents {
  const { db, load = loadContent } = deps
  const kept = new Map<string, Kept>()
  let bytes = 0

  function drop(id: string): void {
    const one = kept.get(id)
    if (one === undefined) return
    kept.delete(id)
    bytes -= one.bytes
  }

  return {
    get(claim) {
      const id = `${claim.tenantId} ${claim.refId}`
      const known = kept.get(id)
      drop(id)
      const content = known?.content ?? load(db, claim)
      // The last one used is the last one to go.
      kept.set(id, { content, bytes: claim.contentBytes })
      bytes += claim.contentBytes
      for (const oldest of kept.keys()) {
        if (bytes <= KEPT_BYTES_MAX || oldest === id) break
        drop(oldest)
      }
      content.catch(() => drop(id))
      return content
    },
  }
}
