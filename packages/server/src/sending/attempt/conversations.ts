/**
 * The conversations with servers and providers that this process is in, so that they can be ended
 * when it has to stop.
 *
 * One that is cut before its final dot has sent nothing; one that is cut after it is uncertain, as
 * if the server had gone.
 */
import type { SmtpSession } from '@postrider/mail'
import { pause } from '@postrider/runtime/timeout'

export interface Conversations {
  readonly isCut: boolean
  /** Aborted by `cut`. */
  readonly signal: AbortSignal
  /** Runs `work`, during which `cut` closes the session. */
  hold<T>(session: SmtpSession, work: () => Promise<T>): Promise<T>
  /** False when there is no time for it before the deadline (in the time of `performance.now()`), or it was cut. */
  pause(ms: number, deadlineAt: number): Promise<boolean>
  cut(): void
}

export function createConversations(): Conversations {
  const sessions = new Set<SmtpSession>()
  const ended = new AbortController()
  return {
    get isCut() {
      return ended.signal.aborted
    },
    signal: ended.signal,
    async hold(session, work) {
      sessions.add(session)
      try {
        return await work()
      } finally {
        sessions.delete(session)
      }
    },
    async pause(ms, deadlineAt) {
      if (performance.now() + ms >= deadlineAt) return false
      return pause(ms, ended.signal)
    },
    cut() {
      ended.abort()
      for (const session of sessions) session.close()
    },
  }
}
