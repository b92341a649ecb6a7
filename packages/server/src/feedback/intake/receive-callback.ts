/**
 * Takes a callback in (docs/reference/domains.md#callbacks): from a request to a durable row, within a
 * second.
 *
 * The path's token says whose it is, and is looked at before the body is read. The body is checked as
 * far as it must be to be refused at once: that the provider has sent it, and that it is what this
 * provider sends. What it says is looked at later.
 *
 * A request waits for a bounded time until it is read and committed, and only so many wait: the others
 * are refused with `unavailable`, and the provider comes again. The work goes on behind such a refusal,
 * so that a callback that always takes longer is stored, too: what is told twice is applied once.
 */
import { isUtf8 } from 'node:buffer'
import type { IncomingHttpHeaders } from 'node:http'
import type { RelayKind } from '@postrider/contract'
import { createByteLimiter } from '@postrider/runtime/byte-limiter'
import { TimeoutError, withTimeout } from '@postrider/runtime/timeout'
import type { Clock } from '../../platform/clock.ts'
import { DatabaseUnavailableError } from '../../platform/db/index.ts'
import { ApiError, refusalOf } from '../../platform/errors.ts'
import type { Failpoints } from '../../platform/failpoints.ts'
import type { DiskGuard } from '../../platform/process/disk-guard.ts'
import type { CallbackReader, CalledBack, RelayAdapter } from '../../relays/index.ts'
import type { CallbackAccounts } from './callback-accounts.ts'
import type { FeedbackInbox } from './inbox.ts'

export const callbackResults = [
  'stored',
  /** Nothing in it that anything could follow from. */
  'empty',
  'unknown',
  'unauthentic',
  'unreadable',
  'unavailable',
] as const
export type CallbackResult = (typeof callbackResults)[number]

export interface CallbackIntake {
  /** Throws `not_found`, the same whatever is not known; `rate_limited`, `unavailable`. */
  identify(kind: string, token: string, address: string): Promise<CalledBack>
  /** Resolves when it is stored. Throws `unauthorized`, `invalid_json`, `unavailable`. */
  take(from: CalledBack, headers: IncomingHttpHeaders, body: Buffer): Promise<void>
}

export interface CallbackIntakeDeps {
  readonly accounts: CallbackAccounts
  readonly adapterOf: (kind: RelayKind) => RelayAdapter
  readonly reader: Pick<CallbackReader, 'read'>
  readonly inbox: Pick<FeedbackInbox, 'store'>
  readonly disk: Pick<DiskGuard, 'admit'>
  readonly clock: Pick<Clock, 'now'>
  readonly failpoints: Failpoints
  /** Whether as much of the tenant waits to be applied as may. */
  readonly isFull: (tenantId: string) => boolean
  readonly observe: (kind: RelayKind | 'none', result: CallbackResult) => void
  readonly answerMs?: number
}

/** For reading and storing; to find the account takes half as long at most. */
const ANSWER_MS = 600
/** In memory, until they are committed. */
const WAITING_BYTES_MAX = 64 * 1024 * 1024
const RETRY_S = 2

export function createCallbackIntake(deps: CallbackIntakeDeps): CallbackIntake {
  const { observe, answerMs = ANSWER_MS } = deps
  const waiting = createByteLimiter({
    bytesMax: WAITING_BYTES_MAX,
    bytesOfCallerMax: WAITING_BYTES_MAX / 2,
    letsLargeInAlone: false,
  })

  /** Resolves when there is nothing left to do with it. */
  async function readAndStore(
    { tenantId, kind }: CalledBack,
    body: Buffer,
  ): Promise<'stored' | 'empty' | 'unreadable'> {
    if (!waiting.take(tenantId, body.length)) throw unavailable()
    try {
      const read = isUtf8(body) ? await deps.reader.read(tenantId, kind, body) : undefined
      if (read === undefined) return 'unreadable'
      if (read.isEmpty) return 'empty'
      if (deps.isFull(tenantId)) throw unavailable()
      await deps.disk.admit(body.length, () => deps.inbox.store({ tenantId, kind, body }))
      return 'stored'
    } finally {
      waiting.giveBack(tenantId, body.length)
    }
  }

  function refused(kind: RelayKind | 'none', result: CallbackResult, error: ApiError): ApiError {
    observe(kind, result)
    return error
  }

  return {
    async identify(kind, token, address) {
      const asked = deps.accounts.find(kind, token, address)
      const found = await withTimeout(asked, answerMs / 2).catch((error) => {
        throw refused('none', 'unavailable', toUnavailable(error))
      })
      // What stays within the process has nobody who calls.
      if (found === undefined || found.kind === 'simulator')
        throw refused('none', 'unknown', new ApiError('not_found'))
      return found
    },
    async take(from, headers, body) {
      const { kind, secrets } = from
      const { callbacks } = deps.adapterOf(kind)
      if (!callbacks.isAuthentic({ headers, body }, secrets, deps.clock.now().getTime()))
        throw refused(kind, 'unauthentic', new ApiError('unauthorized'))
      const result = await withTimeout(readAndStore(from, body), answerMs).catch((error) => {
        throw refused(kind, 'unavailable', toUnavailable(error))
      })
      if (result === 'unreadable')
        throw refused(
          kind,
          'unreadable',
          new ApiError('invalid_json', { message: 'The body is not what this provider sends' }),
        )
      if (result === 'stored') deps.failpoints.hit('callback.after_store')
      observe(kind, result)
    },
  }
}

function toUnavailable(error: unknown): ApiError {
  const refusal = refusalOf(error)
  if (refusal !== undefined) return refusal
  if (error instanceof TimeoutError) return unavailable()
  if (error instanceof DatabaseUnavailableError) return unavailable(error)
  return new ApiError('internal_error', { cause: error })
}

/** A random part is added, so that callers do not all come back at once. */
function unavailable(cause?: unknown): ApiError {
  const retryAfterS = RETRY_S + Math.floor(Math.random() * RETRY_S)
  return new ApiError('unavailable', { retryAfterS, ...(cause === undefined ? {} : { cause }) })
}
