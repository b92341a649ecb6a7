/**
 * Connections to mailers' servers, kept for the next message: one pool per mailer (connection-pool.ts),
 * so that no session is ever used for another mailer. Used again for as many messages as the mailer
 * says, and for up to 5 minutes, closed after a few seconds of idleness.
 */
import type { OpenSessionResult, SmtpSession } from '@postrider/mail'
import type { Service } from '@postrider/runtime/service'
import { DatabaseUnavailableError, type Queryable } from '../../platform/db/index.ts'
import type { Logger } from '../../platform/log.ts'
import type { SmtpMailerForSend } from '../load-mailer.ts'
import { markWorked } from '../store.ts'
import {
  type OpenForAttemptDeps,
  type OpenOptions,
  openForAttempt,
} from './confirm-rejected-login.ts'
import {
  type Acquired,
  createConnectionPool,
  type SmtpConnectionPool,
  type SmtpLease,
} from './connection-pool.ts'

const AGE_MS_MAX = 5 * 60_000
const IDLE_MS_MAX = 5_000

export interface SmtpPoolDeps extends OpenForAttemptDeps {
  readonly db: Queryable
  readonly log: Logger
  readonly ageMsMax?: number
  readonly idleMsMax?: number
}

export interface AcquireOptions {
  /** On a new connection, dropping the idle ones: after a session proved to be stale. */
  readonly isFresh?: boolean
}

export interface SmtpPool extends Service {
  /** `deadlineAt` in the time of `performance.now()`. Never rejects. */
  acquire(mailer: SmtpMailerForSend, deadlineAt: number, o?: AcquireOptions): Promise<Acquired>
  withSession<T>(
    mailer: SmtpMailerForSend,
    deadlineAt: number,
    work: (session: SmtpSession) => Promise<T>,
    o?: AcquireOptions,
  ): Promise<{ readonly kind: 'done'; readonly value: T } | Exclude<Acquired, SmtpLease>>
  readonly stats: { readonly open: number; readonly idle: number; readonly waiting: number }
}

export function createSmtpPool(deps: SmtpPoolDeps): SmtpPool {
  const { idleMsMax = IDLE_MS_MAX } = deps
  const lines = new Map<string, SmtpConnectionPool>()
  let isStopped = false
  let sweeper: NodeJS.Timeout | undefined

  const lineOf = (mailer: SmtpMailerForSend): SmtpConnectionPool => {
    const key = `${mailer.tenantId} ${mailer.mailerId}`
    const known = lines.get(key)
    if (known !== undefined) return known
    const line = createConnectionPool(mailer, {
      open: (current, options) => openOne(deps, current, options),
      onWorked: (current) => noteWorked(deps, current),
      onClosed: ({ sent }, ageMs) =>
        deps.log.debug(
          { tenant_id: mailer.tenantId, mailer_id: mailer.mailerId, sent, duration_ms: ageMs },
          'smtp_session.closed',
        ),
      ageMsMax: deps.ageMsMax ?? AGE_MS_MAX,
    })
    lines.set(key, line)
    sweeper ??= setInterval(sweep, Math.ceil(idleMsMax / 2)).unref()
    return line
  }

  const sweep = () => {
    const idleBefore = performance.now() - idleMsMax
    for (const [key, line] of lines) if (line.sweep(idleBefore)) lines.delete(key)
    if (lines.size === 0) stopSweeper()
  }

  const stopSweeper = () => {
    clearInterval(sweeper)
    sweeper = undefined
  }

  const pool: SmtpPool = {
    name: 'smtp connections',
    async start() {
      isStopped = false
    },
    async stop() {
      isStopped = true
      stopSweeper()
      for (const line of lines.values()) line.stop()
      lines.clear()
    },
    async acquire(mailer, deadlineAt, { isFresh = false } = {}) {
      if (isStopped) return { kind: 'busy' }
      return lineOf(mailer).acquire(mailer, deadlineAt, isFresh)
    },
    async withSession(mailer, deadlineAt, work, o) {
      const acquired = await pool.acquire(mailer, deadlineAt, o)
      if (acquired.kind !== 'session') return acquired
      try {
        return { kind: 'done', value: await work(acquired.session) }
      } finally {
        acquired.release()
      }
    },
    get stats() {
      const total = { open: 0, idle: 0, waiting: 0 }
      for (const { stats } of lines.values()) {
        total.open += stats.open
        total.idle += stats.idle
        total.waiting += stats.waiting
      }
      return total
    },
  }
  return pool
}

/** As of a process that is full: see `openNew` in connection-pool.ts. */
const NOTHING_TRIED: OpenSessionResult = {
  ok: false,
  failure: { stage: 'connect', systemCode: 'busy' },
}

async function openOne(
  deps: SmtpPoolDeps,
  mailer: SmtpMailerForSend,
  o: OpenOptions,
): Promise<OpenSessionResult> {
  try {
    return (await openForAttempt(deps, mailer, o)) ?? NOTHING_TRIED
  } catch (error) {
    if (error instanceof DatabaseUnavailableError) return NOTHING_TRIED
    // A defect; it costs this attempt, not a place in the line for ever.
    deps.log.error({ err: error, mailer_id: mailer.mailerId }, 'smtp_session.open_failed')
    return { ok: false, failure: { stage: 'connect', message: 'The session could not be opened' } }
  }
}

/** Kept in the row, so that it outlives this process, and others know of it. */
function noteWorked(deps: SmtpPoolDeps, mailer: SmtpMailerForSend): void {
  markWorked(deps.db, mailer).catch((error: unknown) => {
    deps.log.warn({ err: error, mailer_id: mailer.mailerId }, 'mailer.worked_not_stored')
  })
}
