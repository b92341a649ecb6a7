/** Makes mailers: OAuth tokens and what is noted of them for every role, and their routes. */
import { deactivationReasons, testMailsMax } from '@postrider/contract'
import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/db/index.ts'
import type { Egress } from '../platform/egress/index.ts'
import type { HttpApp } from '../platform/http/app.ts'
import type { CheckBounds } from '../platform/limits/counted-check.ts'
import { createRateLimit } from '../platform/limits/rate-limit.ts'
import type { Logger } from '../platform/log.ts'
import type { Metrics } from '../platform/metrics.ts'
import type { Descriptors } from '../platform/process/descriptors.ts'
import type { KeyRing } from '../platform/secrets/index.ts'
import type { Relays } from '../relays/index.ts'
import type { ReceiverRules, Wakeups } from '../webhooks/index.ts'
import { imapRoutes } from './imap/routes.ts'
import type { OnImapBound } from './imap/session/open-mailbox.ts'
import { IMAP_BOUNDS } from './imap/session/wire-guard.ts'
import { oauthRoutes } from './oauth/routes.ts'
import { type AccessTokens, createAccessTokens } from './oauth/tokens/access-tokens.ts'
import type { RefreshDeps } from './oauth/tokens/refresh-token.ts'
import { registerMailerRoutes } from './routes.ts'
import { listDomainsOfRelay, noteRelayChanged } from './sending-domain-store.ts'
import type { MailerDeps } from './smtp/configure-smtp.ts'
import { createNoteDeactivated, type NoteDeactivated } from './state/log-deactivation.ts'
import type { MailerKey } from './state/state-store.ts'
import { tryRoutes } from './try/routes.ts'

export interface MailersDeps
  extends Pick<MailerDeps, 'wakeMail' | 'readMailboxHealth' | 'isInboundDomain'> {
  readonly db: Db
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
  readonly keyRing: KeyRing
  readonly egress: Egress
  readonly descriptors: Descriptors
  readonly wakeups: Wakeups
  readonly receivers: ReceiverRules
  /** By which this service greets. */
  readonly ehloName: string
  readonly sendByRelay: Relays['send']
  /** Of logins and lookups. */
  readonly checks: CheckBounds
  readonly config: { readonly publicUrl: string }
}

export interface Mailers {
  readonly accessTokens: AccessTokens
  readonly noteDeactivated: NoteDeactivated
  readonly onImapBound: OnImapBound
  readonly services: readonly [AccessTokens]
  readonly routes: (app: HttpApp) => void
  /** The first few domains that send by a relay account. */
  readonly domainsOfRelay: (
    key: Parameters<typeof listDomainsOfRelay>[1],
    limit: number,
  ) => Promise<string[]>
  /** Those whose mail may go out by the changed account, once the transaction is committed. */
  readonly noteRelayChanged: (...args: Parameters<typeof noteRelayChanged>) => Promise<MailerKey[]>
}

const REFRESHED = ['refreshed', 'failed', 'deactivated', 'lost'] as const

/** Nothing runs before its services start. */
export function createMailers(deps: MailersDeps): Mailers {
  const noteDeactivated = createCountedNote(deps)
  const accessTokens = createAccessTokens({
    ...deps,
    noteDeactivated,
    observe: createRefreshObserver(deps.metrics),
  })
  const onImapBound = createImapBounds(deps)
  return {
    accessTokens,
    noteDeactivated,
    onImapBound,
    services: [accessTokens],
    routes(app) {
      const routeDeps = { ...deps, accessTokens, onImapBound }
      registerMailerRoutes(app, routeDeps)
      tryRoutes(app, {
        ...routeDeps,
        testMails: createRateLimit({ name: 'test-mails', usesMax: testMailsMax, windowS: 3_600 }),
      })
      imapRoutes(app, routeDeps)
      oauthRoutes(app, {
        ...routeDeps,
        callbackUrl: `${deps.config.publicUrl}/oauth/callback`,
        loginLimit: createRateLimit({ name: 'oauth-logins', usesMax: 60, windowS: 60 }),
      })
    },
    domainsOfRelay: (key, limit) => listDomainsOfRelay(deps.db, key, limit),
    noteRelayChanged,
  }
}

function createCountedNote({ log, metrics }: Pick<MailersDeps, 'log' | 'metrics'>) {
  const deactivated = metrics.counterOf(
    'mailers_deactivated_total',
    'Mailers that were deactivated, by why',
    'reason',
    deactivationReasons,
  )
  return createNoteDeactivated({ log, observe: deactivated })
}

function createRefreshObserver(metrics: Metrics): RefreshDeps['observe'] {
  return metrics.counterOf(
    'oauth_refreshes_total',
    'Refreshes of OAuth tokens, by what came of them',
    'outcome',
    REFRESHED,
  )
}

/** Says which bounds the servers of mailboxes break: in the log with the server, and in a counter. */
function createImapBounds(deps: { readonly log: Logger; readonly metrics: Metrics }): OnImapBound {
  const broken = deps.metrics.counterOf(
    'imap_bounds_broken_total',
    'Connections to mailboxes that were ended because their server broke a bound',
    'bound',
    Object.keys(IMAP_BOUNDS),
  )
  return (bound, { host, port }) => {
    broken(bound)
    deps.log.info({ bound, host, port, means: IMAP_BOUNDS[bound] }, 'imap.bound_broken')
  }
}
