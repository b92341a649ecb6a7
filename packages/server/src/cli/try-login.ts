/**
 * What `postrider mailer test` does: logs in by the code by which mail is sent, within the same guard
 * of addresses, and says what a send would make of the outcome.
 */
import type { MailerState, SecureMode } from '@postrider/contract'
import type { Classification } from '@postrider/mail'
import type { Config } from '../config.ts'
import { heloNameOf } from '../ehlo-hostname.ts'
import {
  createAccessTokens,
  createNoteDeactivated,
  searchMailers,
  type TracedLogin,
  traceLogin,
  trySmtp,
} from '../mailers/index.ts'
import { withCurrentDatabase } from '../operator-database.ts'
import { createClock } from '../platform/clock.ts'
import { createEgress, type Egress } from '../platform/egress/index.ts'
import type { Logger } from '../platform/log.ts'
import { createKeyRing } from '../platform/secrets/index.ts'
import { requireSecrets } from '../platform/secrets/stored-secrets.ts'
import { createWakeups } from '../webhooks/index.ts'
import { audited } from './audited.ts'
import { named } from './output.ts'
import { ownerOf } from './read-all.ts'

export interface Tried {
  readonly mailer?: {
    readonly mailerId: string
    readonly email: string
    readonly state: MailerState
    readonly stateReason?: string
  }
  readonly steps: TracedLogin['steps']
  readonly hasLogin: boolean
  /** Absent when all went well. */
  readonly problem?: {
    readonly category: string
    readonly failed_reason: string
    readonly provider_error: string
    /** What a send makes of it. */
    readonly follows: string
  }
}

/** With what is stored of a mailer. */
export function tryMailer(
  o: { readonly config: Config; readonly log: Logger },
  tenant: string | undefined,
  mailerId: string,
): Promise<Tried> {
  const keyRing = createKeyRing(requireSecrets(o.config).secretKeys)
  return withCurrentDatabase(o, (db) =>
    withEgress(o.config, async (egress) => {
      const of = { what: 'mailer', id: mailerId, search: searchMailers }
      const tenantId = await ownerOf(db, of, tenant)
      const accessTokens = createAccessTokens({
        db,
        egress,
        keyRing,
        clock: createClock(),
        log: o.log,
        wakeups: createWakeups(),
        observe: () => undefined,
        noteDeactivated: createNoteDeactivated({ log: o.log, observe: () => undefined }),
      })
      const deps = { db, egress, keyRing, accessTokens, ehloName: heloNameOf(o.config) }
      const tested = await named(
        `Tenant ${tenantId} has no mailer ${mailerId} that sends by a mail server`,
        () => {
          const work = () => trySmtp(deps, tenantId, mailerId)
          return audited(db, { operation: 'testMailer', tenantId, target: mailerId, work })
        },
      )
      await accessTokens.stop()
      const { mailer, isWithoutToken } = tested
      const hasLogin = mailer.config.username !== undefined
      const outcome = outcomeOf(tested)
      return { mailer, hasLogin, ...outcome, ...(isWithoutToken ? { problem: NO_TOKEN } : {}) }
    }),
  )
}

/** Without a mailer, and without a database. */
export function tryServer(
  config: Config,
  server: {
    readonly host: string
    readonly port: number
    readonly secure: SecureMode
    readonly tlsVerify: boolean
    readonly username?: string
    readonly password?: string | undefined
  },
): Promise<Tried> {
  const hasLogin = server.username !== undefined
  return withEgress(config, async (egress) => ({
    hasLogin,
    ...outcomeOf(await traceLogin({ egress, ehloName: heloNameOf(config) }, server)),
  }))
}

export async function withEgress<T>(
  config: Config,
  work: (egress: Egress) => Promise<T>,
): Promise<T> {
  const egress = createEgress({
    allowNetworks: config.allowNetworks,
    dnsServers: config.dnsServers,
  })
  try {
    return await work(egress)
  } finally {
    await egress.close()
  }
}

/** Those that the service has: none are made for a command. */

function outcomeOf({ steps, failure }: TracedLogin): Pick<Tried, 'steps' | 'problem'> {
  if (failure === undefined) return { steps }
  const { category, failedReason, providerError } = failure
  return {
    steps,
    problem: {
      category,
      failed_reason: failedReason,
      provider_error: providerError,
      follows: whatFollows(failure),
    },
  }
}

function whatFollows({ authRejected, cannotHealByWaiting, retryable }: Classification): string {
  if (authRejected && cannotHealByWaiting) return 'A send would deactivate the mailer at once.'
  if (authRejected) return 'A send would deactivate the mailer, once a second try has failed too.'
  return retryable
    ? 'A send would be tried again.'
    : 'A send would fail for good; the mailer would stay active.'
}

const NO_TOKEN = {
  category: 'oauth',
  failed_reason: 'The OAuth provider gave no access token',
  provider_error: '',
  follows: 'No login was tried.',
}
