/**
 * Emails with large attachments, and renderings of recipients' own. They are not loaded with a claim but when an
 * attempt needs them; the last ones used are kept as they go out, so that an email to a thousand recipients is
 * neither read nor encoded a thousand times. Renderings of one email share what is read of it.
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
import { withRendering } from '../../own-data/own-data.ts'
import { loadRendering } from '../../own-data/own-data-store.ts'
import type { EmailContent } from '../../record/email.ts'
import type { TrackingUrls } from '../../tracking/tracking-urls.ts'

/** From this size on a content is not loaded ahead. */
export const LARGE_CONTENT_BYTES = 128 * 1024
const KEPT_BYTES_MAX = 64 * 1024 * 1024

interface Kept<Value> {
  readonly value: Promise<Value>
  readonly bytes: number
}

type Wanted = EmailFacts & Pick<Claim, 'contentBytes'>

export interface LargeEmails {
  /** Callers who want the same email at once share one reading. */
  get(email: Wanted): Promise<PreparedEmail>
}

export function createLargeEmails(deps: {
  readonly db: Db
  readonly trackingUrls: TrackingUrls
  readonly load?: typeof loadContent
}): LargeEmails {
  const { db, trackingUrls, load = loadContent } = deps
  const kept = new Map<string, Kept<PreparedEmail | EmailContent>>()
  let bytes = 0

  function drop(id: string): void {
    const one = kept.get(id)
    if (one === undefined) return
    kept.delete(id)
    bytes -= one.bytes
  }

  /** What is kept under one id is of one type. */
  function keep<Value extends PreparedEmail | EmailContent>(
    id: string,
    size: number,
    make: () => Promise<Value>,
  ): Promise<Value> {
    const known = kept.get(id) as Kept<Value> | undefined
    drop(id)
    const value = known?.value ?? make()
    // The last one used is the last one to go.
    kept.set(id, { value, bytes: size })
    bytes += size
    for (const oldest of kept.keys()) {
      if (bytes <= KEPT_BYTES_MAX || oldest === id) break
      drop(oldest)
    }
    value.catch(() => drop(id))
    return value
  }

  async function contentOf(wanted: Wanted): Promise<EmailContent> {
    const { rendering, tenantId, refId, contentBytes } = wanted
    if (rendering === undefined) return load(db, wanted)
    const [shared, own] = await Promise.all([
      keep(`${tenantId} ${refId} content`, contentBytes, () => load(db, wanted)),
      loadRendering(db, wanted, rendering),
    ])
    return withRendering(shared, own)
  }

  return {
    get: (wanted) =>
      keep(`${wanted.tenantId} ${preparedAs(wanted)}`, wanted.contentBytes, async () =>
        prepareEmail(trackingUrls, wanted, await contentOf(wanted)),
      ),
  }
}
