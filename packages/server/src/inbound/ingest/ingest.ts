/**
 * Takes mail in that came by SMTP: from the last byte to a durable row, before it is answered. Those that
 * wait share a commit, as many as fit. The worker of this process is woken after the commit; in another process,
 * its sweep finds it.
 *
 * A caller waits for a bounded time, and only so much waits in memory: the others are refused with
 * `unavailable`, and their servers come again. What is committed after all is recognised then.
 */

import { createHandOver } from '@postrider/runtime/hand-over'
import type { Service } from '@postrider/runtime/service'
import { withTimeout } from '@postrider/runtime/timeout'
import { createGroupCommit, type Db } from '../../platform/db/index.ts'
import { ApiError } from '../../platform/errors.ts'
import type { Failpoints } from '../../platform/failpoints.ts'
import { justStored, type LoadedMessage, type NewMessage } from '../messages/message-store.ts'
import type { ClaimedMessage } from '../process/queue-store.ts'
import { LARGE_BYTES, type SmtpMail } from './received-mail.ts'
import { type DigestedSmtpMail, digestSmtpMail, storeSmtpMails } from './store-mail.ts'

export interface Ingest extends Service {
  /** Resolves when it is durable, with an id for each route that has not had it. */
  store(mail: SmtpMail): Promise<{ readonly inboundIds: readonly string[] }>
  /** One that was just stored here, once, for its first claim. */
  takeStored(claim: Pick<ClaimedMessage, 'inboundId' | 'tries'>): LoadedMessage | undefined
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
/** To have a message of 25 MB back from the database takes it as long as all else there is to do with it. */
const STORED_BYTES_MAX = 64 * 1024 * 1024
const STORED_MS = 10_000
/** Of a message beside its bytes. */
const OTHER_BYTES = 1024

interface Stored {
  readonly raw: Buffer
  readonly messages: readonly NewMessage[]
}

export function createIngest(deps: IngestDeps): Ingest {
  const { answerMs = ANSWER_MS, waitingBytesMax = WAITING_BYTES_MAX } = deps
  const listeners = new Set<() => void>()
  const stored = createHandOver<LoadedMessage>({ bytesMax: STORED_BYTES_MAX, keptMs: STORED_MS })
  let waitingBytes = 0
  const createGroup = () =>
    createGroupCommit<DigestedSmtpMail, Stored>({
      db: deps.db,
      itemsMax: GROUP_MAX,
      size: { of: ({ mail }) => mail.raw.length, max: GROUP_BYTES_MAX },
      async run(tx, mails) {
        const messages = await storeSmtpMails(tx, mails)
        return mails.map(({ mail: { raw } }, i) => ({ raw, messages: messages[i] ?? [] }))
      },
      committed(all) {
        for (const one of all) handOver(one)
        wake()
      },
    })
  // Small ones do not wait for the commit of a large one. What is sent again is of the same size.
  const groups = { small: createGroup(), large: createGroup() }
  const groupOf = ({ raw }: SmtpMail) => (raw.length < LARGE_BYTES ? groups.small : groups.large)

  function handOver({ raw, messages }: Stored): void {
    for (const message of messages) {
      const bytes = raw.length + OTHER_BYTES + 2 * JSON.stringify(message.from).length
      stored.put(message.inboundId, { ...justStored(message), raw }, bytes)
    }
  }

  function wake(): void {
    for (const listener of listeners) listener()
  }

  async function commit(mail: SmtpMail): Promise<readonly string[]> {
    const bytes = mail.raw.length
    // One that is larger than that is taken alone.
    if (waitingBytes > 0 && waitingBytes + bytes > waitingBytesMax) refuse()
    waitingBytes += bytes
    try {
      const { messages } = await groupOf(mail).add(await digestSmtpMail(mail))
      deps.failpoints.hit('inbound.after_store')
      return messages.map(({ inboundId }) => inboundId)
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
    takeStored({ inboundId, tries }) {
      const message = stored.take(inboundId)
      // Another process may have reported it.
      return tries === 1 ? message : undefined
    },
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
