/**
 * A mailer: a tenant's configuration for sending (docs/reference/mailers.md#kinds). One that
 * logs in at a mail server sends for its address; a sending domain sends for every address of its
 * domain, by the tenant's account at a relay provider.
 *
 * Its states are in decide-state.ts. The password stands sealed in `secret` and is opened to try a
 * login and to send.
 */
import type {
  ConnectionType,
  DomainLimits,
  MailerConfigType,
  MailerLimits,
  MailerState,
  OAuthMailServer,
  RelayKind,
  SecureMode,
  UncertainPolicy,
} from '@postrider/contract'
import { isTestId } from '../platform/ids.ts'
import type { KeyRing } from '../platform/secrets/index.ts'
import type { MailboxSettings } from './imap/mailbox-settings.ts'

export interface MailerConfig {
  readonly host: string
  readonly port: number
  readonly secure: SecureMode
  readonly tlsVerify: boolean
  /** Absent: the server is used without a login. */
  readonly username?: string
}

/** Of a mailer that names none. */
export const defaultUncertain: UncertainPolicy = 'at_least_once'

interface MailerFacts {
  readonly tenantId: string
  readonly mailerId: string
  readonly name: string
  readonly uncertain: UncertainPolicy
  readonly state: MailerState
  readonly stateReason?: string
  readonly stateEvidence?: string
  readonly stateChangedAt: Date
  readonly configVersion: number
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** Logs in at a mail server. */
export interface ServerMailer extends MailerFacts {
  readonly email: string
  readonly configType: Exclude<MailerConfigType, 'domain'>
  readonly connectionType: ConnectionType
  readonly config: MailerConfig
  /** Sealed; of `basic` alone, where there is one exactly when there is a username. */
  readonly secret?: string
  /** Of `oauth` alone: the OAuth app by which it logs in. */
  readonly appId?: string
  /** Of a mailbox that is sent by and fetched from: where it is fetched from. */
  readonly imap?: OAuthMailServer
  /** What is fetched, where that has been said (imap/mailbox.ts). */
  readonly mailbox?: MailboxSettings
  readonly limits: MailerLimits
  /** `bounces@` an inbound domain, in wire form. Absent: its address is the envelope sender. */
  readonly returnPath?: string
  /** A connection to this host has succeeded at some time. */
  readonly hostEverWorked: boolean
}

/** A sending domain. */
export interface DomainMailer extends MailerFacts {
  readonly configType: 'domain'
  readonly connectionType: 'relay'
  readonly config: {
    readonly relay: RelayKind
    /** In wire form. */
    readonly domain: string
  }
  readonly limits: DomainLimits
  /** Until then nothing is accepted for it. */
  readonly isVerified: boolean
}

export type Mailer = ServerMailer | DomainMailer

/** Told from its id, before anything is read (docs/reference/http.md#ids). Test mail goes by the simulator. */
export function isDomainMailer(mailerId: string): boolean {
  return mailerId.startsWith('domain_') || isTestId(mailerId)
}

export function asServerMailer(mailer: Mailer | undefined): ServerMailer | undefined {
  return mailer?.connectionType === 'relay' ? undefined : mailer
}

/** Not one that is fetched from alone. */
export function canSend({ configType }: Pick<Mailer, 'configType'>): boolean {
  return configType !== 'imap' && configType !== 'basic_imap' && configType !== 'oauth_imap'
}

/** It has a mailbox. */
export function canFetch({ configType }: Pick<Mailer, 'configType'>): boolean {
  return !canSend({ configType }) || configType === 'smtp_imap'
}

const STRENGTH = { None: 0, Auto: 1, Tls: 2, SSL: 2 } as const

/** What it logs in with goes to the same place, in the same name, and no less protected. */
export function isAsSafe(next: MailerConfig, before: MailerConfig): boolean {
  return (
    next.host === before.host &&
    next.port === before.port &&
    next.username === before.username &&
    STRENGTH[next.secure] >= STRENGTH[before.secure] &&
    (next.tlsVerify || !before.tlsVerify)
  )
}

type MailerKey = Pick<Mailer, 'tenantId' | 'mailerId'>

/** Bound to its row: a sealed password copied to another mailer does not open. */
export function sealPassword(keyRing: KeyRing, key: MailerKey, password: string): string {
  return keyRing.encrypt(JSON.stringify({ password }), passwordPlaceOf(key))
}

/** Throws SealedValueError when the key is gone or the row was tampered with. */
export function openPassword(keyRing: KeyRing, key: MailerKey, secret: string): string {
  const opened = JSON.parse(keyRing.decrypt(secret, passwordPlaceOf(key))) as {
    readonly password: string
  }
  return opened.password
}

/** The mailer is found by its sender's address, compared without case. */
export function emailKeyOf(email: string): string {
  return email.toLowerCase()
}

/** A sending domain is found by what no address is. Of a domain in wire form. */
export function domainKeyOf(domain: string): string {
  return `@${domain.toLowerCase()}`
}

export function passwordPlaceOf({ tenantId, mailerId }: MailerKey): string {
  return `mailers|${tenantId}|${mailerId}|config`
}
