/**
 * Emails with large attachments. They are not loaded with a claim but when an attempt needs them;
 * the last ones used are kept as they go out, so that an email to a thousand recipients is neither
 * read nor encoded a thousand times.
 */
import type { Db } from '../../../platform/db/index.ts'
import type { Claim } from '../../attempt/attempt.ts'
import { loadContent } from '../../attempt/attempt-store.ts'
import {
  type EmailFacts,
  type PreparedEmail,
  preparedAs,
  prepareEmail,
} from '../../attempt/prepare-email.ts'
import type { TrackingUrls } from '../../tracking/tracking-urls.ts'

/** From this size on a content is not loaded ahead. */
export const LARGE_CONTENT_BYTES = 128 * 1024
const KEPT_BYTES_MAX = 64 * 1024 * 1024

interface Kept {
  readonly email: Promise<PreparedEmail>
  readonly bytes: number
}

export interface LargeEmails {
  /** Callers who want the same email at once share one reading. */
  get(email: EmailFacts & Pick<Claim, 'contentBytes'>): Promise<PreparedEmail>
}

export function createLargeEmails(deps: {
  readonly db: Db
  readonly trackingUrls: TrackingUrls
  readonly load?: typeof loadContent
}): LargeEmails {
  const { db, trackingUrls, load = loadContent } = deps
  const kept = new Map<string, Kept>()
  let bytes = 0

  function drop(id: string): void {
    const one = kept.get(id)
    if (one === undefined) return
    kept.delete(id)
    bytes -= one.bytes
  }

  return {
    get(wanted) {
      const id = `${wanted.tenantId} ${preparedAs(wanted)}`
      const known = kept.get(id)
      drop(id)
      const email =
        known?.email ??
        load(db, wanted).then((content) => prepareEmail(trackingUrls, wanted, content))
      // The last one used is the last one to go.
      kept.set(id, { email, bytes: wanted.contentBytes })
      bytes += wanted.contentBytes
      for (const oldest of kept.keys()) {
        if (bytes <= KEPT_BYTES_MAX || oldest === id) break
        drop(oldest)
      }
      email.catch(() => drop(id))
      return email
    },
  }
}
