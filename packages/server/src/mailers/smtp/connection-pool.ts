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

/** Well within the time in which logins at one server are compared (detect-shared-outage.ts). */
const WORKED_EVERY_MS = 3 * 60_000

export function createConnectionPool(
  first: SmtpMailerForSend,
  o: ConnectionPoolOptions,
): SmtpConnectionPool {
  let { configVersion, connectionsMax, messagesMax } = first
  let open = 0
  let isStopped = false
  const line = createWaitingLine()
  const breaker = createAuthCircuitBreaker()
  const opener = createOpener(o, breaker)
  const logins = createLoginRecord(first.hostEverWorked, o.onWorked)
  const idle = createIdleSessions({ isFit, discard })

  function isFit(pooled: Pooled): boolean {
    return (
      pooled.session.isUsable &&
      pooled.configVersion === configVersion &&
      pooled.session.sent < messagesMax &&
      performance.now() - pooled.openedAt < o.ageMsMax
    )
  }

  function discard({ session, openedAt }: Pooled): void {
    open -= 1
    session.close()
    o.onClosed(session, Math.round(performance.now() - openedAt))
  }

  function follow(mailer: SmtpMailerForSend): void {
    if (mailer.configVersion <= configVersion) return
    ;({ configVersion, connectionsMax, messagesMax } = mailer)
    logins.restart(mailer.hostEverWorked)
    idle.drop()
  }

  function giveBack(pooled: Pooled): void {
    if (isStopped || open > connectionsMax || !isFit(pooled)) discard(pooled)
    else idle.add(pooled)
    serveNext()
  }

  const hasPlace = () => !breaker.isConfirming && (idle.count > 0 || open < connectionsMax)

  /** Called whenever a session became idle or a place free. */
  const serveNext = () => line.serve(take, hasPlace)

  function take(mailer: SmtpMailerForSend, deadlineAt: number): Acquired | Promise<Acquired> {
    // A caller may have read the mailer before its latest change: it gets a session of its own.
    const isCurrent = mailer.configVersion === configVersion
    if (!isCurrent && open >= connectionsMax) idle.drop()
    const pooled = isCurrent ? idle.takeFit() : undefined
    return pooled === undefined ? openNew(mailer, deadlineAt) : lend(pooled, giveBack)
  }

  async function openNew(mailer: SmtpMailerForSend, deadlineAt: number): Promise<Acquired> {
    if (breaker.isRejected(mailer.configVersion)) return { kind: 'busy' }
    open += 1
    const opened = await opener.open(mailer, deadlineAt)
    if (!opened.ok) {
      open -= 1
      logins.noteFailed()
      if (classifyFailure(opened.failure).authRejected) breaker.noteRejected(mailer.configVersion)
      serveNext()
      // Nothing was tried: this process looks up as many names at once as it may.
      if (isStopped || opened.failure.systemCode === 'busy') return { kind: 'busy' }
      return { kind: 'failed', failure: { ...opened.failure, hostEverWorked: logins.hasWorked } }
    }
    logins.noteWorked(mailer)
    // Those who came while the login was in question.
    serveNext()
    const openedAt = performance.now()
    const { session } = opened
    const pooled = { session, configVersion: mailer.configVersion, openedAt, idleSince: openedAt }
    if (!isStopped) return lend(pooled, giveBack)
    discard(pooled)
    return { kind: 'busy' }
  }

  return {
    async acquire(mailer, deadlineAt, isFresh) {
      follow(mailer)
      if (isFresh) idle.drop()
      if (line.count > 0 || !hasPlace()) return line.wait(mailer, deadlineAt)
      return take(mailer, deadlineAt)
    },
    sweep(idleBefore) {
      idle.sweep(idleBefore)
      return open === 0 && line.count === 0
    },
    stop() {
      isStopped = true
      opener.stop()
      idle.drop()
      line.stop()
    },
    get stats() {
      return { open, idle: idle.count, waiting: line.count }
    },
  }
}

function lend(pooled: Pooled, giveBack: (pooled: Pooled) => void): SmtpLease {
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

/** Callers that wait for a session or a place; each gives up at its deadline. */
function createWaitingLine() {
  interface Waiter {
    readonly mailer: SmtpMailerForSend
    readonly deadlineAt: number
    readonly resolve: (acquired: Acquired | Promise<Acquired>) => void
    readonly timer: NodeJS.Timeout
  }
  const waiters: Waiter[] = []
  return {
    get count() {
      return waiters.length
    },
    wait(mailer: SmtpMailerForSend, deadlineAt: number): Promise<Acquired> {
      return new Promise((resolve) => {
        const giveUp = () => {
          waiters.splice(waiters.indexOf(waiter), 1)
          resolve({ kind: 'busy' })
        }
        const timer = setTimeout(giveUp, Math.max(0, deadlineAt - performance.now()))
        const waiter: Waiter = { mailer, deadlineAt, resolve, timer }
        waiters.push(waiter)
      })
    },
    /** The first to come first, for as long as there is place. */
    serve(
      take: (mailer: SmtpMailerForSend, deadlineAt: number) => Acquired | Promise<Acquired>,
      hasPlace: () => boolean,
    ): void {
      while (waiters.length > 0 && hasPlace()) {
        const waiter = waiters.shift()
        if (waiter === undefined) return
        clearTimeout(waiter.timer)
        waiter.resolve(take(waiter.mailer, waiter.deadlineAt))
      }
    },
    stop(): void {
      for (const waiter of waiters.splice(0)) {
        clearTimeout(waiter.timer)
        waiter.resolve({ kind: 'busy' })
      }
    },
  }
}

/** Sessions that nobody uses, the last one used first. */
function createIdleSessions({
  isFit,
  discard,
}: {
  readonly isFit: (pooled: Pooled) => boolean
  readonly discard: (pooled: Pooled) => void
}) {
  let idle: Pooled[] = []
  return {
    get count() {
      return idle.length
    },
    add(pooled: Pooled): void {
      pooled.idleSince = performance.now()
      idle.push(pooled)
    },
    takeFit(): Pooled | undefined {
      for (;;) {
        const pooled = idle.pop()
        if (pooled === undefined || isFit(pooled)) return pooled
        discard(pooled)
      }
    },
    sweep(idleBefore: number): void {
      const sessions = idle
      idle = []
      for (const pooled of sessions) {
        if (pooled.idleSince > idleBefore && isFit(pooled)) idle.push(pooled)
        else discard(pooled)
      }
    },
    drop(): void {
      const dropped = idle
      idle = []
      for (const pooled of dropped) discard(pooled)
    },
  }
}

/** Opens sessions until it is stopped. */
function createOpener(o: ConnectionPoolOptions, { confirm }: AuthCircuitBreaker) {
  const opening = new Set<AbortController>()
  return {
    async open(mailer: SmtpMailerForSend, deadlineAt: number): Promise<OpenSessionResult> {
      const stopper = new AbortController()
      opening.add(stopper)
      const opened = await o.open(mailer, { deadlineAt, signal: stopper.signal, confirm })
      opening.delete(stopper)
      return opened
    },
    stop(): void {
      for (const stopper of opening) stopper.abort()
    },
  }
}

/** Whether a login has ever worked; tells of one that does for the first time in a while. */
function createLoginRecord(hostEverWorked: boolean, onWorked: ConnectionPoolOptions['onWorked']) {
  let hasWorked = hostEverWorked
  let workedMs = Number.NEGATIVE_INFINITY
  return {
    get hasWorked() {
      return hasWorked
    },
    restart(hostEverWorked: boolean): void {
      hasWorked = hostEverWorked
    },
    noteFailed(): void {
      workedMs = Number.NEGATIVE_INFINITY
    },
    noteWorked(mailer: SmtpMailerForSend): void {
      const isNews = !hasWorked || performance.now() - workedMs > WORKED_EVERY_MS
      hasWorked = true
      if (!isNews) return
      workedMs = performance.now()
      onWorked(mailer)
    },
  }
}
