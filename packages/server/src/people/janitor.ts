/** Removes sessions that have ended and links that have expired (docs/reference/people.md#sessions). */
import type { Db } from '../platform/db/index.ts'
import type { Logger } from '../platform/log.ts'
import { createJanitor } from '../platform/work/janitor.ts'
import type { PeriodicTask } from '../platform/work/periodic-task.ts'
import { deleteExpiredInvitations } from './invitations/invitation-store.ts'
import { deleteEndedSessions } from './sessions/session-store.ts'

/** A round answers how many rows it removed. */
export function createPeopleJanitor({ db, log }: { db: Db; log: Logger }): PeriodicTask {
  return createJanitor({
    name: 'people janitor',
    log,
    async round(inPieces) {
      const sessions = await inPieces((limit) => deleteEndedSessions(db, limit))
      const links = await inPieces((limit) => deleteExpiredInvitations(db, limit))
      if (sessions + links > 0) log.info({ sessions, links }, 'people.removed')
      return sessions + links
    },
    failed: 'people_janitor.failed',
  })
}
