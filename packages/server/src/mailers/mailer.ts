/**
 * A mailer: a tenant's configuration for sending (spec §3 "Mailer", contract §3.3).
 *
 * States: `active` → `deactivated` when a login is rejected for good (deactivate-mailer.ts) →
 * `active` when a new configuration has logged in (update-smtp.ts). `disabled` is entered and left
 * by hand only. The password stands sealed in `secret` and is opened in two places: to try a login
 * and to send.
 */
import type {
  ConnectionType,
  MailerConfigType,
  MailerLimits,
  MailerState,
  SecureMode,
  UncertainPolicy,
} from '@postrider/contract'
import type { KeyRing } from '../platform/secrets/index.ts'

export interface MailerConfig {
  readonly host: string
  readonly port: number
  readonly secure: SecureMode
  readonly tlsVerify: boolean
  /** Absent: the server is used without a login. */
  readonly username?: string
}

export interface Mailer {
  readonly tenantId: string
  readonly mailerId: string
  readonly name: string
  readonly email: string
  readonly configType: MailerConfigType
  readonly connectionType: ConnectionType
  readonly config: MailerConfig
  /** Sealed; there is one exactly when there is a username. */
  readonly secret?: string
  readonly uncertain: UncertainPolicy
  readonly limits: MailerLimits
  readonly state: MailerState
  readonly stateReason?: string
  readonly stateEvidence?: string
  readonly stateChangedAt: Date
  /** A connection to this host has succeeded at some time. */
  readonly hostEverWorked: boolean
  readonly configVersion: number
  readonly createdAt: Date
  readonly updatedAt: Date
}

type MailerKey = Pick<Mailer, 'tenantId' | 'mailerId'>

/** Bound to its row: a sealed password copied to another mailer does not open. */
export function sealPassword(keyRing: KeyRing, key: MailerKey, password: string): string {
  return keyRing.encrypt(JSON.stringify({ password }), placeOf(key))
}

/** Throws SealedValueError when the key is gone or the row was tampered with. */
export function openPassword(keyRing: KeyRing, key: MailerKey, secret: string): string {
  const opened = JSON.parse(keyRing.decrypt(secret, placeOf(key))) as { readonly password: string }
  return opened.password
}

/** The mailer is found by its sender's address, compared without case. */
export function emailKeyOf(email: string): string {
  return email.toLowerCase()
}

function placeOf({ tenantId, mailerId }: MailerKey): string {
  return `mailers|${tenantId}|${mailerId}|config`
}
