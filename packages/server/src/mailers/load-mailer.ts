/** A mailer with its password, or its relay's key, opened: what an attempt needs. Never logged, never kept. */
import type { MailerState, SecureMode, UncertainPolicy } from '@postrider/contract'
import type { Queryable } from '../platform/db/index.ts'
import { isTestId } from '../platform/ids.ts'
import type { KeyRing } from '../platform/secrets/index.ts'
import { loadAccount, type RelayAccount, testAccountOf } from '../relays/index.ts'
import type { Rates } from './limits/decide-permission.ts'
import { RELAY_LIMITS } from './limits/limit-presets.ts'
import { effectiveDomainLimits, effectiveLimits } from './limits/limits.ts'
import {
  type DomainMailer,
  defaultUncertain,
  type Mailer,
  openPassword,
  type ServerMailer,
} from './mailer.ts'
import { getMailer } from './store.ts'

interface SendFacts {
  readonly tenantId: string
  readonly mailerId: string
  readonly state: MailerState
  readonly uncertain: UncertainPolicy
  /** How many connections to its server, or requests to its provider, may be open at once. */
  readonly connectionsMax: number
  readonly rates: Rates
  readonly configVersion: number
}

export interface SmtpMailerForSend extends SendFacts {
  readonly kind: 'smtp'
  readonly email: string
  readonly host: string
  readonly port: number
  readonly secure: SecureMode
  readonly tlsVerify: boolean
  readonly username?: string
  readonly password?: string
  /** Of which each copy has its own. */
  readonly returnPath?: string
  /** It logs in with an access token (oauth/tokens/access-tokens.ts). */
  readonly isOauth: boolean
  /** Over one connection. */
  readonly messagesMax: number
  readonly hostEverWorked: boolean
  /** Fetched from as well: what it has sent belongs in its Sent folder. */
  readonly isFetched: boolean
}

/** A sending domain. */
export interface RelayMailerForSend extends SendFacts {
  readonly kind: 'relay'
  /** In wire form. Absent: every sender, as of test mode. */
  readonly domain?: string
  /** Read after the mailer: of the mailer's `configVersion`, or newer. */
  readonly account: RelayAccount
}

export type MailerForSend = SmtpMailerForSend | RelayMailerForSend

/** Undefined when there is no such mailer; throws SealedValueError when that cannot be opened. */
export async function loadMailerForSend(
  q: Queryable,
  keyRing: KeyRing,
  tenantId: string,
  mailerId: string,
): Promise<MailerForSend | undefined> {
  if (isTestId(mailerId)) return testMailer(tenantId, mailerId)
  const mailer = await getMailer(q, tenantId, mailerId)
  if (mailer === undefined) return undefined
  return mailer.connectionType === 'relay' ? relayFor(q, keyRing, mailer) : smtpFor(keyRing, mailer)
}

function smtpFor(keyRing: KeyRing, mailer: ServerMailer): SmtpMailerForSend {
  const { email, config, secret, hostEverWorked } = mailer
  const { connections, messages_per_connection: messagesMax, ...rates } = effectiveLimits(mailer)
  return {
    kind: 'smtp',
    ...factsOf(mailer),
    email,
    ...config,
    isOauth: mailer.connectionType === 'oauth',
    ...(secret === undefined ? {} : { password: openPassword(keyRing, mailer, secret) }),
    connectionsMax: connections,
    messagesMax,
    rates,
    hostEverWorked,
    ...(mailer.returnPath === undefined ? {} : { returnPath: mailer.returnPath }),
    isFetched: mailer.configType === 'smtp_imap',
  }
}

async function relayFor(
  q: Queryable,
  keyRing: KeyRing,
  mailer: DomainMailer,
): Promise<RelayMailerForSend | undefined> {
  const { relay, domain } = mailer.config
  const account = await loadAccount(q, keyRing, { tenantId: mailer.tenantId, kind: relay })
  // Deleted meanwhile, and the mailer before it.
  if (account === undefined) return undefined
  const { connections, ...rates } = effectiveDomainLimits(mailer)
  return {
    kind: 'relay',
    ...factsOf(mailer),
    domain,
    account,
    connectionsMax: connections,
    rates,
  }
}

/** Of mail in test mode: the simulator, whatever the state and the limits of the real mailer are. */
function testMailer(tenantId: string, mailerId: string): RelayMailerForSend {
  return {
    kind: 'relay',
    tenantId,
    mailerId,
    state: 'active',
    uncertain: defaultUncertain,
    configVersion: 1,
    account: testAccountOf(tenantId),
    connectionsMax: RELAY_LIMITS.simulator.connections,
    rates: {},
  }
}

function factsOf({ tenantId, mailerId, state, uncertain, configVersion }: Mailer) {
  return { tenantId, mailerId, state, uncertain, configVersion }
}
