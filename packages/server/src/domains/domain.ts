/**
 * A sending domain (docs/reference/domains.md#sending-domains): what is published for it, what was seen of
 * that, and what its provider says.
 *
 * It goes through three stages. `creating`: stored with its mailer, and not confirmed by the provider
 * yet. `ready`. `deleting`: gone for its tenant, its mailer deleted, and still to be deleted at the
 * provider. Any process continues the first and the last, under a lease, until the provider
 * has said something definite.
 */
import type {
  DnsFinding,
  DomainState,
  JsonObject,
  KeyTurn,
  RecordStatus,
  RelayKind,
} from '@postrider/contract'
import type { KeyRing } from '../platform/secrets/index.ts'
import type { RelayDomain, RelayRecord } from '../relays/index.ts'

export type Stage = 'creating' | 'ready' | 'deleting'

export interface DomainKey {
  readonly tenantId: string
  /** In wire form. */
  readonly domain: string
}

export interface DkimKey {
  readonly selector: string
  /** Base64 of the SPKI. */
  readonly publicKey: string
  /** Sealed; absent of one that is not used any more, or that the provider alone has. */
  readonly privateKey?: string
  readonly turn: 'current' | KeyTurn
  /** Of a previous one: RFC 3339. */
  readonly replacedAt?: string
}

/** Of a record; as JSON in its row. */
export interface RecordState {
  readonly status: RecordStatus
  readonly dns: DnsFinding
  readonly found: readonly string[]
  readonly misses?: Misses
}

/** Definite answers in a row that something is not there. */
export interface Misses {
  readonly count: number
  /** When the first of them came: RFC 3339. */
  readonly since: string
}

export interface ProviderState {
  readonly agrees: boolean
  /** Its words where it does not, or could not say. */
  readonly detail?: string
  readonly misses?: Misses
}

export interface NewDomain extends DomainKey {
  readonly mailerId: string
  readonly relay: RelayKind
  readonly stage: Stage
  readonly customArgs: JsonObject | null
  readonly options: RelayDomain['options']
  readonly ownershipToken: string
  readonly keys: readonly DkimKey[]
  readonly provider: ProviderState
  readonly isVerified: boolean
}

export interface SendingDomain extends Omit<NewDomain, 'isVerified'> {
  /** The provider's own id of it. */
  readonly providerId?: string
  /** The provider's account had it before it was added here. */
  readonly wasThere: boolean
  readonly providerRecords: readonly RelayRecord[]
  /** By `recordKeyOf`; a record that was never looked up has none. */
  readonly recordStates: Readonly<Record<string, RecordState>>
  readonly verifiedAt?: Date
  readonly state: DomainState
  readonly checkedAt?: Date
  readonly dueAt?: Date
  readonly tries: number
  readonly isBusy: boolean
  readonly createdAt: Date
  readonly updatedAt: Date
}

export function sealPrivateKey(
  keyRing: KeyRing,
  domain: Pick<NewDomain, 'tenantId' | 'mailerId'>,
  selector: string,
  pem: string,
): string {
  return keyRing.encrypt(pem, dkimPlaceOf(domain, selector))
}

/** Empty where the provider alone has it. Throws SealedValueError when it cannot be opened. */
export function openPrivateKey(
  keyRing: KeyRing,
  owner: Pick<NewDomain, 'tenantId' | 'mailerId'>,
  { selector, privateKey }: DkimKey,
): string {
  return privateKey === undefined ? '' : keyRing.decrypt(privateKey, dkimPlaceOf(owner, selector))
}

export function keyOfTurn(
  { keys }: Pick<SendingDomain, 'keys'>,
  turn: DkimKey['turn'],
): DkimKey | undefined {
  return keys.find((key) => key.turn === turn)
}

export function dkimPlaceOf(
  { tenantId, mailerId }: Pick<NewDomain, 'tenantId' | 'mailerId'>,
  selector: string,
): string {
  return `domains|${tenantId}|${mailerId}|${selector}`
}
