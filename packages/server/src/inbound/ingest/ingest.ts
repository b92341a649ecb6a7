/**
 * Takes mail in that came by SMTP: from the last byte to a durable row, before it is answered. Those that
 * wait share a commit, as many as fit. The worker of this process is woken after the commit; in another process,
 * its sweep finds it.
 *
 * A caller waits for a bounded time, and only so much waits in memory: the others are refused with
 * `unavailable`, and their servers come again. What is committed after all is recognised then.
 */

import type { Service } from '@postrider/runtime/service'
import { withTimeout } from '@postrider/runtime/timeout'
import { createGroupCommit, type Db } from '../../platform/db/index.ts'
import { ApiError } from '../../platform/errors.ts'
import type { Failpoints } from '../../platform/failpoints.ts'
import { LARGE_BYTES, type SmtpMail } from './received-mail.ts'
import { type DigestedSmtpMail, digestSmtpMail, storeSmtpMails } from './store-mail.ts'

export interface Ingest extends Service {
  /** Resolves when it is durable, with an id for each route that has not had it. */
  store(mail: SmtpMail): Promise<{ readonly inboundIds: readonly string[] }>
  /** Of a large message that was just stored here, once. */
  takeRaw(inboundId: string): Buffer | undefined
  /** Also of mail that came by another door, such as a mailbox. */
  wake(): void
  onStored(listener: () => void): () => void
}

export interface IngestDeps {
  readonly db: Db
  readonly failpoints: Failpoints
  readonly answerMs?: number
  /** In memory, until it is committed. */
  readonly waitingBytesMax?: number
}

/** A server waits for ten minutes (RFC 5321 §4.5.3.2.6); some have less patience. */
const ANSWER_MS = 30_000
const WAITING_BYTES_MAX = 256 * 1024 * 1024
const GROUP_MAX = 64
/** Of one commit: a large message delays those beside it. */
const GROUP_BYTES_MAX = 4 * 1024 * 1024
const RETRY_S = 2

export function createIngest(deps: IngestDeps): Ingest {
  const { answerMs = ANSWER_MS, waitingBytesMax = WAITING_BYTES_MAX } = deps
  const listeners = new Set<() => void>()
  const recent = createRecentRaws()
  let waitingBytes = 0
  const createGroup = () =>
    createGroupCommit<DigestedSmtpMail, readonly string[]>({
      db: deps.db,
      itemsMax: GROUP_MAX,
      size: { of: ({ mail }) => mail.raw.length, max: GROUP_BYTES_MAX },
      run: storeSmtpMails,
      committed: wake,
    })
  // Small ones do not wait for the commit of a large one. What is sent again is of the same size.
  const groups = { small: createGroup(), large: createGroup() }
  const groupOf = ({ raw }: SmtpMail) => (raw.length < LARGE_BYTES ? groups.small : groups.large)

  function wake(): void {
    for (const listener of listeners) listener()
  }

  async function commit(mail: SmtpMail): Promise<readonly string[]> {
    const bytes = mail.raw.length
    // One that is larger than that is taken alone.
    if (waitingBytes > 0 && waitingBytes + bytes > waitingBytesMax) refuse()
    waitingBytes += bytes
    try {
      const inboundIds = await groupOf(mail).add(await digestSmtpMail(mail))
      deps.failpoints.hit('inbound.after_store')
      recent.keep(inboundIds, mail.raw)
      return inboundIds
    } finally {
      waitingBytes -= bytes
    }
  }

  return {
    name: 'inbound intake',
    start: async () => undefined,
    stop: async () => {
      await Promise.all([groups.small.idle(), groups.large.idle()])
    },
    store: async (mail) => ({ inboundIds: await withTimeout(commit(mail), answerMs, refuse) }),
    takeRaw: recent.take,
    wake,
    onStored(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

function refuse(): never {
  throw new ApiError('unavailable', { retryAfterS: RETRY_S })
}

interface RecentRaws {
  keep(inboundIds: readonly string[], raw: Buffer): void
  /** Once. */
  take(inboundId: string): Buffer | undefined
}

const RECENT_BYTES_MAX = 64 * 1024 * 1024
const RECENT_MS = 10_000

/**
 * Large messages that this process has just stored, as they are, for the worker of the same process: to
 * have one of 25 MB back from the database takes it as long as all else there is to do with it.
 *
 * Nothing rests on it: what has no place, or was not asked for in time, is read from the database.
 */
export function createRecentRaws(): RecentRaws {
  const kept = new Map<string, { readonly raw: Buffer; readonly timer: NodeJS.Timeout }>()
  let bytes = 0

  function take(inboundId: string): Buffer | undefined {
    const one = kept.get(inboundId)
    if (one === undefined) return undefined
    clearTimeout(one.timer)
    kept.delete(inboundId)
    bytes -= one.raw.length
    return one.raw
  }

  return {
    keep(inboundIds, raw) {
      if (raw.length < LARGE_BYTES) return
      for (const id of inboundIds) {
        if (bytes + raw.length > RECENT_BYTES_MAX) return
        bytes += raw.length
        kept.set(id, { raw, timer: setTimeout(() => take(id), RECENT_MS).unref() })
      }
    },
    take,
  }
}
