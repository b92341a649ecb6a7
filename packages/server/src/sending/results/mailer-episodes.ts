/**
 * One warn line when a mailer begins to fail, one for each further category of failure while that lasts
 * (a server that is busy, and then away), and one line when it works again.
 *
 * An episode begins with the first failed attempt that is about the mailer: its login, its server or
 * the way to it, not a recipient. An episode ends with an accepted mail, once the mailer has not
 * failed for a minute: a server that refuses every second mail has one episode, not many. Episodes
 * are kept in memory: a process that takes a mailer over tells of its episode anew.
 */
import { concernsMailer, hideAddresses } from '@postrider/mail'
import { createBoundedMap } from '@postrider/runtime/bounded-map'
import type { Logger } from '../../platform/log.ts'
import { hostOf } from '../attempt/attempt-log.ts'
import { type LeasedRecipient, type MailerQueue, queueIdOf } from '../queue/mailer-queue.ts'
import { domainOf } from '../record/email.ts'
import type { Finish } from './ending.ts'

export interface MailerEpisodes {
  /** To be called with each attempt that heard of the mailer's server, or tried to. */
  note(row: LeasedRecipient, ending: Finish): void
}

interface Episode {
  readonly sinceMs: number
  readonly lastMs: number
  readonly failures: number
  /** Those of which a line has told. */
  readonly categories: ReadonlySet<string>
}

const EPISODES_MAX = 20_000
const QUIET_MS = 60_000

export function createMailerEpisodes(o: {
  readonly log: Logger
  readonly monotonicMs: () => number
}): MailerEpisodes {
  const episodes = createBoundedMap<string, Episode>(EPISODES_MAX)

  function noteFailure(row: LeasedRecipient, { claim, result, next }: Finish): void {
    if (result.kind !== 'failed') return
    const nowMs = o.monotonicMs()
    const id = queueIdOf(row.queue)
    const known = episodes.get(id)
    const { sinceMs = nowMs, failures = 0, categories = new Set<string>() } = known ?? {}
    const isTold = categories.has(result.category)
    episodes.set(id, {
      sinceMs,
      failures: failures + 1,
      lastMs: nowMs,
      categories: isTold ? categories : new Set([...categories, result.category]),
    })
    if (isTold) return
    const { email } = row.loaded
    o.log.warn(
      {
        ...namesOf(row.queue),
        domain: domainOf(email),
        category: result.category,
        reply: hideAddresses(result.providerError, email),
        ref_id: claim.refId,
        ...(next?.kind === 'retry' ? { wait_ms: Math.round(next.waitMs) } : {}),
      },
      'mailer.failing',
    )
  }

  function noteSuccess(queue: MailerQueue): void {
    const id = queueIdOf(queue)
    const known = episodes.get(id)
    const nowMs = o.monotonicMs()
    if (known === undefined || nowMs - known.lastMs < QUIET_MS) return
    episodes.delete(id)
    const { failures, sinceMs } = known
    o.log.info(
      { ...namesOf(queue), failures, duration_ms: Math.round(nowMs - sinceMs) },
      'mailer.works_again',
    )
  }

  return {
    note(row, ending) {
      const { result } = ending
      if (result.kind !== 'failed') noteSuccess(row.queue)
      else if (concernsMailer(result.category, result.providerError)) noteFailure(row, ending)
    },
  }
}

function namesOf(queue: MailerQueue): Record<string, unknown> {
  return { tenant_id: queue.tenantId, mailer_id: queue.mailerId, host: hostOf(queue.mailer) }
}
