/**
 * The SMTP conversations that this process is in, so that they can be ended when it has to stop.
 *
 * One that is cut before its final dot has sent nothing; one that is cut after it is uncertain, as
 * if the server had gone.
 */
import type { SmtpSession } from '../mail/index.ts'

export interface Conversations {
  readonly isCut: boolean
  /** Runs `work`, during which `cut` closes the session. */
  hold<T>(session: SmtpSession, work: () => Promise<T>): Promise<T>
  cut(): void
}

export function createConversations(): Conversations {
  const sessions = new Set<SmtpSession>()
  let isCut = false
  return {
    get isCut() {
      return isCut
    },
    async hold(session, work) {
      sessions.add(session)
      try {
        return await work()
      } finally {
        sessions.delete(session)
      }
    },
    cut() {
      isCut = true
      for (const session of sessions) session.close()
    },
  }
}
