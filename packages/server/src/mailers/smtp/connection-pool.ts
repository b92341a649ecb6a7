/**
 * The connections to one mailer's server, and who waits for one.
 *
 * `open` counts every connection that exists or is being opened and never exceeds `connectionsMax`.
 * A session goes back to idle only while it is fit: usable, opened with the present configuration,
 * below the number of messages and the age at which servers begin to close connections themselves.
 */
import {
  classifyFailure,
  type OpenSessionResult,
  type SmtpFailure,
  type SmtpSession,
} from '@postrider/mail'
import type { SmtpMailerForSend } from '../load-mailer.ts'
import { type AuthCircuitBreaker, createAuthCircuitBreaker } from './auth-circuit-breaker.ts'

export interface SmtpLease {
  readonly kind: 'session'
  readonly session: SmtpSession
  /** Gives the session back; twice is once. */
  release(): void
}

export type Acquired =
  | SmtpLease
  /** An attempt failed: no session could be opened. */
  | { readonly kind: 'failed'; readonly failure: SmtpFailure }
  /**
   * No attempt: every connection stayed in use until the deadline, the pool was stopped, the process
   * is full, or another attempt has just found that the login is rejected.
   */
  | { readonly kind: 'busy' }

export interface ConnectionPoolOptions {
  /** Never rejects. */
  readonly open: (
    mailer: SmtpMailerForSend,
    o: {
      readonly deadlineAt: number
      readonly signal: AbortSignal
      readonly confirm: AuthCircuitBreaker['confirm']
    },
  ) => Promise<OpenSessionResult>
  /** A login worked, for the first time in a while. */
  readonly onWorked: (mailer: SmtpMailerForSend) => void
  readonly onClosed: (session: SmtpSession, ageMs: number) => void
  readonly ageMsMax: number
}

export interface SmtpConnectionPool {
  acquire(mailer: SmtpMailerForSend, deadlineAt: number, isFresh: boolean): Promise<Acquired>
  /** Closes what has been idle since before this time; true when nothing is left. */
  sweep(idleBefore: number): boolean
  stop(): void
  readonly stats: { readonly open: number; readonly idle: number; readonly waiting: number }
}

interface Pooled {
  readonly session: SmtpSession
  readonly configVersion: number
  readonly openedAt: number
  idleSince: number
}

interface Waiter {
  readonly mailer: SmtpMailerForSend
  readonly deadlineAt: number
  readonly resolve: (acquired: Acquired | Promise<Acquired>) => void
  readonly timer: NodeJS.Timeout
}

/** Well within the time in which logins at one server are compared (detect-shared-outage.ts). */
const WORKED_EVERY_MS = 3 * 60_000

export function createConnectionPool(
  first: SmtpMailerForSend,
  o: ConnectionPoolOptions,
): SmtpConnectionPool {
  let { configVersion, connectionsMax, messagesMax, hostEverWorked: hasWorked } = first
  let open = 0
  let isStopped = false
  let idle: Pooled[] = []
  const waiters: Waiter[] = []
  const opening = new Set<AbortController>()
  const breaker = createAuthCircuitBreaker()
  let workedMs = Number.NEGATIVE_INFINITY

  const isFit = (pooled: Pooled): boolean =>
    pooled.session.isUsable &&
    pooled.configVersion === configVersion &&
    pooled.session.sent < messagesMax &&
    performance.now() - pooled.openedAt < o.ageMsMax

  const discard = ({ session, openedAt }: Pooled) => {
    open -= 1
    session.close()
    o.onClosed(session, Math.round(performance.now() - openedAt))
  }

  const dropIdle = () => {
    const dropped = idle
    idle = []
    for (const pooled of dropped) discard(pooled)
  }

  const follow = (mailer: SmtpMailerForSend) => {
    if (mailer.configVersion <= configVersion) return
    configVersion = mailer.configVersion
    connectionsMax = mailer.connectionsMax
    messagesMax = mailer.messagesMax
    hasWorked = mailer.hostEverWorked
    dropIdle()
  }

  const lend = (pooled: Pooled): SmtpLease => {
    let isReleased = false
    return {
      kind: 'session',
      session: pooled.session,
      release() {
        if (isReleased) return
        isReleased = true
        giveBack(pooled)
      },
    }
  }

  const giveBack = (pooled: Pooled) => {
    if (isStopped || open > connectionsMax || !isFit(pooled)) {
      discard(pooled)
    } else {
      pooled.idleSince = performance.now()
      idle.push(pooled)
    }
    serveNext()
  }

  const hasPlace = () => !breaker.isConfirming && (idle.length > 0 || open < connectionsMax)

  /** Called whenever a session became idle or a place free. */
  const serveNext = () => {
    while (waiters.length > 0 && hasPlace()) {
      const waiter = waiters.shift()
      if (waiter === undefined) return
      clearTimeout(waiter.timer)
      waiter.resolve(take(waiter.mailer, waiter.deadlineAt))
    }
  }

  const take = (mailer: SmtpMailerForSend, deadlineAt: number): Acquired | Promise<Acquired> => {
    // A caller may have read the mailer before its latest change: it gets a session of its own.
    const isCurrent = mailer.configVersion === configVersion
    if (!isCurrent && open >= connectionsMax) dropIdle()
    while (isCurrent) {
      const pooled = idle.pop()
      if (pooled === undefined) break
      if (isFit(pooled)) return lend(pooled)
      discard(pooled)
    }
    return openNew(mailer, deadlineAt)
  }

  const openNew = async (mailer: SmtpMailerForSend, deadlineAt: number): Promise<Acquired> => {
    if (breaker.isRejected(mailer.configVersion)) return { kind: 'busy' }
    open += 1
    const stopper = new AbortController()
    opening.add(stopper)
    const { signal } = stopper
    const opened = await o.open(mailer, { deadlineAt, signal, confirm: breaker.confirm })
    opening.delete(stopper)
    if (!opened.ok) {
      open -= 1
      workedMs = Number.NEGATIVE_INFINITY
      if (classifyFailure(opened.failure).authRejected) breaker.noteRejected(mailer.configVersion)
      serveNext()
      // Nothing was tried: this process looks up as many names at once as it may.
      if (isStopped || opened.failure.systemCode === 'busy') return { kind: 'busy' }
      return { kind: 'failed', failure: { ...opened.failure, hostEverWorked: hasWorked } }
    }
    noteWorked(mailer)
    // Those who came while the login was in question.
    serveNext()
    const { session } = opened
    const openedAt = performance.now()
    const pooled = { session, configVersion: mailer.configVersion, openedAt, idleSince: openedAt }
    if (!isStopped) return lend(pooled)
    discard(pooled)
    return { kind: 'busy' }
  }

  const noteWorked = (mailer: SmtpMailerForSend) => {
    const isNews = !hasWorked || performance.now() - workedMs > WORKED_EVERY_MS
    hasWorked = true
    if (!isNews) return
    workedMs = performance.now()
    o.onWorked(mailer)
  }

  const wait = (mailer: SmtpMailerForSend, deadlineAt: number): Promise<Acquired> =>
    new Promise((resolve) => {
      const giveUp = () => {
        waiters.splice(waiters.indexOf(waiter), 1)
        resolve({ kind: 'busy' })
      }
      const timer = setTimeout(giveUp, Math.max(0, deadlineAt - performance.now()))
      const waiter: Waiter = { mailer, deadlineAt, resolve, timer }
      waiters.push(waiter)
    })

  return {
    async acquire(mailer, deadlineAt, isFresh) {
      follow(mailer)
      if (isFresh) dropIdle()
      return waiters.length === 0 && hasPlace()
        ? take(mailer, deadlineAt)
        : wait(mailer, deadlineAt)
    },
    sweep(idleBefore) {
      const sessions = idle
      idle = []
      for (const pooled of sessions) {
        if (pooled.idleSince > idleBefore && isFit(pooled)) idle.push(pooled)
        else discard(pooled)
      }
      return open === 0 && waiters.length === 0
    },
    stop() {
      isStopped = true
      for (const stopper of opening) stopper.abort()
      dropIdle()
      for (const waiter of waiters.splice(0)) {
        clearTimeout(waiter.timer)
        waiter.resolve({ kind: 'busy' })
      }
    },
    get stats() {
      return { open, idle: idle.length, waiting: waiters.length }
    },
  }
}
