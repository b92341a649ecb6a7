/** A mailer with its password opened: what an attempt needs. Never logged, never kept. */
import type { MailerState, SecureMode, UncertainPolicy } from '@postrider/contract'
import type { Queryable } from '../platform/db/index.ts'
import type { KeyRing } from '../platform/secrets/index.ts'
import type { Rates } from './decide-permission.ts'
import { effectiveLimits } from './limits.ts'
import { openPassword } from './mailer.ts'
import { getMailer } from './store.ts'

export interface MailerForSend {
  readonly tenantId: string
  readonly mailerId: string
  readonly email: string
  readonly state: MailerState
  readonly host: string
  readonly port: number
  readonly secure: SecureMode
  readonly tlsVerify: boolean
  readonly username?: string
  readonly password?: string
  /** It logs in with an access token (oauth/access-tokens.ts). */
  readonly isOauth: boolean
  readonly uncertain: UncertainPolicy
  /** How many connections to its server may be open at once. */
  readonly connectionsMax: number
  /** Over one connection. */
  readonly messagesMax: number
  readonly rates: Rates
  readonly hostEverWorked: boolean
  readonly configVersion: number
}

/** Undefined when there is no such mailer; throws SealedValueError when its password cannot be opened. */
export async function loadMailerForSend(
  q: Queryable,
  keyRing: KeyRing,
  tenantId: string,
  mailerId: string,
): Promise<MailerForSend | undefined> {
  const mailer = await getMailer(q, tenantId, mailerId)
  if (mailer === undefined) return undefined
  const { email, state, config, secret, uncertain, hostEverWorked, configVersion } = mailer
  const { connections, messages_per_connection: messagesMax, ...rates } = effectiveLimits(mailer)
  return {
    tenantId,
    mailerId,
    email,
    state,
    ...config,
    isOauth: mailer.connectionType === 'oauth',
    ...(secret === undefined ? {} : { password: openPassword(keyRing, mailer, secret) }),
    uncertain,
    connectionsMax: connections,
    messagesMax,
    rates,
    hostEverWorked,
    configVersion,
  }
}
