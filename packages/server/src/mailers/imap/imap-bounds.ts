/** Says which bounds the servers of mailboxes break: in the log with the server, and in a counter. */
import type { Logger } from '../../platform/log.ts'
import type { Metrics } from '../../platform/metrics.ts'
import type { OnImapBound } from './open-mailbox.ts'
import { IMAP_BOUNDS } from './wire-guard.ts'

export function createImapBounds(deps: {
  readonly log: Logger
  readonly metrics: Metrics
}): OnImapBound {
  const broken = deps.metrics.counter(
    'imap_bounds_broken_total',
    'Connections to mailboxes that were ended because their server broke a bound',
    ['bound'],
  )
  for (const bound of Object.keys(IMAP_BOUNDS)) broken.inc({ bound }, 0)
  return (bound, { host, port }) => {
    broken.inc({ bound })
    deps.log.info({ bound, host, port, means: IMAP_BOUNDS[bound] }, 'imap.bound_broken')
  }
}
