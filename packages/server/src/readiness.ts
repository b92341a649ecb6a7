/**
 * What `/readyz` says (docs/reference/running.md#readiness). A check that is not `ok` is a 503: no primary, a
 * disk that is nearly full, no free file descriptors, a newer breaking schema, an `INBOUND_PORT` that was set
 * or a `SUBMISSION_PORT` and is not listened on. Details leave the answer at 200.
 */
import { type Config, isPaused } from './config.ts'
import {
  durability,
  NoPrimaryError,
  type Queryable,
  type SchemaFence,
} from './platform/db/index.ts'
import type { Readiness } from './platform/http/status-routes.ts'
import type { Descriptors } from './platform/process/descriptors.ts'
import type { DiskGuard } from './platform/process/disk-guard.ts'
import type { Watchdog } from './platform/process/watchdog.ts'

export interface ReadinessDeps {
  readonly config: Pick<Config, 'sending' | 'inboundPort' | 'isInboundPortSet'>
  readonly db: Queryable
  readonly descriptors: Pick<Descriptors, 'areOut'>
  readonly disk: Pick<DiskGuard, 'isOpen'>
  readonly schema: Pick<SchemaFence, 'closedBy'>
  readonly watchdog: Pick<Watchdog, 'detail'>
  /** Of the role `inbound`. */
  readonly listener: { readonly isListening: () => boolean } | undefined
  /** Of the role `submission`, where a port is set. */
  readonly submission?: { readonly isListening: () => boolean } | undefined
  /** Of the role `sender`. */
  readonly queueWatch: { readonly detail: () => string | undefined } | undefined
}

export async function checkReadiness(deps: ReadinessDeps): Promise<Readiness> {
  const { config, db, descriptors, disk, listener, queueWatch, schema, submission, watchdog } = deps
  const newer = schema.closedBy()
  if (newer !== undefined)
    return { checks: { schema: `this version does not know ${newer}: replace this process` } }
  const database = await durability(db).then(
    ({ durable, writable, detail }) =>
      !writable ? 'read-only' : durable ? 'ok' : `not durable: ${detail}`,
    (error: unknown) => (error instanceof NoPrimaryError ? 'no primary' : 'unavailable'),
  )
  const isDeaf = listener?.isListening() === false
  const checks = {
    database,
    disk: disk.isOpen() ? 'ok' : 'nearly full',
    ...(descriptors.areOut() ? { descriptors: 'no free file descriptors' } : {}),
    ...(isDeaf && config.isInboundPortSet ? { inbound: 'not listening' } : {}),
    ...(listener?.isListening() === true ? { inbound: 'ok' } : {}),
    ...(submission === undefined
      ? {}
      : { submission: submission.isListening() ? 'ok' : 'not listening' }),
  }
  const blocked = watchdog.detail()
  const late = queueWatch?.detail()
  const details = {
    ...(blocked === undefined ? {} : { event_loop: blocked }),
    ...(late === undefined ? {} : { send_queue: late }),
    ...(isPaused(config) ? { sending: 'paused (POSTRIDER_SENDING)' } : {}),
    ...(isDeaf && !config.isInboundPortSet
      ? { inbound: `not listening: port ${config.inboundPort} was taken (POSTRIDER_INBOUND_PORT)` }
      : {}),
  }
  return { checks, details }
}
