/**
 * What every relay provider is to the rest of the service (mail by HTTP instead of SMTP). An adapter
 * knows one provider's words: it builds requests and reads answers and callbacks, and does nothing
 * itself. Requests are made by the relay client, with the guard, the deadline and the key.
 *
 * An adapter never throws for what a provider says: an answer or a callback that it cannot make sense
 * of has an outcome of its own.
 */
import type { RecipientType, RelayKind } from '@postrider/contract'
import type { Classified, FailureCategory } from '@postrider/mail'

/** A tenant's account at a provider, with its secrets opened. Never logged, never kept. */
export interface RelayAccount {
  readonly tenantId: string
  readonly kind: RelayKind
  readonly apiKey: string
  /** Without a slash at its end. */
  readonly apiBase: string
  /** Grows when key or address change: connections and verdicts of an older one are not used. */
  readonly configVersion: number
}

export interface RelayMailbox {
  /** In wire form. */
  readonly address: string
  readonly name?: string
}

export interface RelayAttachment {
  readonly filename: string
  /** Base64 without white space. */
  readonly content: string
  readonly type?: string
  readonly disposition?: 'attachment' | 'inline'
  readonly contentId?: string
}

/** One recipient's own copy of an email, final: tracked links are in place. */
export interface RelayMail {
  readonly refId: string
  /** The recipient's number within the email. */
  readonly n: number
  readonly from: RelayMailbox
  readonly to: RelayMailbox
  readonly type: RecipientType
  /** What the message shows, the same in every copy. */
  readonly shown: { readonly to: readonly RelayMailbox[]; readonly cc: readonly RelayMailbox[] }
  readonly replyTo?: RelayMailbox
  readonly subject: string
  readonly text?: string
  readonly html?: string
  /** Message-ID, the caller's own and those of RFC 8058. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly attachments: readonly RelayAttachment[]
  readonly campaignId?: string
}

/** Path and query are appended to the account's `apiBase`; the body is sent as JSON. */
export interface RelayRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly path: string
  /** Without those of the body. The key is in one of them. */
  readonly headers: Readonly<Record<string, string>>
  readonly body?: unknown
}

export interface RelayAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** The beginning of the body, as text. */
  readonly body: string
}

/** Why a provider did not take a mail, in the terms of every failed attempt. */
export interface RelayFailure {
  readonly category: FailureCategory
  readonly retryable: boolean
  /** The category's sentence; for `unknown` the provider's text. */
  readonly failedReason: string
  /** The provider's text as received; fit to be stored. */
  readonly providerError: string
  /** What the provider asks for. */
  readonly retryAfterMsMin?: number
  /** It refused the account's key: grounds for deactivation, once a second try has heard the same. */
  readonly authRejected: boolean
  /** A second try in a while would only hear the same. */
  readonly cannotHealByWaiting: boolean
}

export type RelaySendOutcome =
  | {
      readonly kind: 'accepted'
      /** The provider's own id for it; empty where it gives none. */
      readonly providerMessageId: string
    }
  | { readonly kind: 'failed'; readonly failure: RelayFailure }

/** What is published, and what the provider says of it. Names are fully qualified, without a final dot. */
export interface RelayRecord {
  readonly type: 'TXT' | 'CNAME' | 'MX'
  readonly name: string
  readonly value: string
  readonly priority?: number
  readonly purpose: 'ownership' | 'dkim' | 'return_path' | 'spf' | 'dmarc' | 'mx'
  readonly required: boolean
}

export interface RelayDomain {
  /** In wire form. */
  readonly domain: string
  /** Ours, where the provider signs with it: 2048 bits, PKCS#8 PEM and the base64 of the SPKI. */
  readonly dkim: {
    readonly selector: string
    readonly privateKey: string
    readonly publicKey: string
  }
  /** As given to addDomain. */
  readonly options: {
    readonly isTenantDomain?: boolean
    readonly isTenantSubdomain?: boolean
    readonly sharedWithSubaccounts?: boolean
    readonly ips?: readonly string[]
    readonly selector?: string
  }
  /** The provider's own id of it, once it is known. */
  readonly providerId?: string
}

export type RelayDomainOutcome =
  | {
      readonly kind: 'done'
      readonly providerId?: string
      /** The provider's part of what has to be published. */
      readonly records: readonly RelayRecord[]
      /** Whether the provider would send for it now. */
      readonly agrees: boolean
      /** Its words where it does not. */
      readonly detail?: string
      /** Of one to be created: the account had it before. */
      readonly wasThere?: true
    }
  /** It is not there (any more). */
  | { readonly kind: 'absent' }
  /** It is there already: of another account of the provider, or of this one. */
  | {
      readonly kind: 'taken'
      readonly isOwn: boolean
      readonly detail: string
      /** Of this account's, where the provider signs with given keys: those of the key that it has. */
      readonly records?: readonly RelayRecord[]
    }
  | { readonly kind: 'failed'; readonly failure: RelayFailure }

/** One step of what is done to a domain at the provider. */
export interface RelayDomainCall {
  readonly request: RelayRequest
  /** Another call where the answer is only a part of it; three in a row at the most. */
  read(answer: RelayAnswer): RelayDomainOutcome | RelayDomainCall
}

export interface RelayDomains {
  /** Whether the provider signs with the key that it is given; else it has keys, and records, of its own. */
  readonly takesKeys: boolean
  create(account: RelayAccount, domain: RelayDomain): RelayDomainCall
  verify(account: RelayAccount, domain: RelayDomain): RelayDomainCall
  /** Signs with another key from then on; absent where `takesKeys` is false. */
  changeKey?(account: RelayAccount, domain: RelayDomain): RelayDomainCall
  delete(account: RelayAccount, domain: RelayDomain): RelayDomainCall
}

export type RelayFactKind =
  /** The provider has taken it up: nothing but its ids is learnt. */
  | 'processed'
  | 'delivered'
  /** It goes on trying. */
  | 'deferred'
  | 'bounced'
  | 'complained'
  | 'unsubscribed'
  | 'policy_rejected'
  | 'generation_failed'
  | 'generation_rejected'
  /** Known and of no consequence, or not known. */
  | 'other'

/** What a provider reports of one recipient. */
export interface RelayFact {
  /** The provider's id of the report, the same whenever it is repeated; else a digest of its content. */
  readonly factId: string
  readonly kind: RelayFactKind
  /** The provider's own word for it. */
  readonly type: string
  /** Microseconds since 1970; undefined where it says nothing usable. */
  readonly atMicros: bigint | undefined
  /** As we gave it along; undefined where it is missing or not one of ours. */
  readonly ref: { readonly refId: string; readonly n: number } | undefined
  /** By which reports without a `ref` are joined to those with one. */
  readonly providerMessageId?: string
  /** The id of its answer when it took the mail. */
  readonly providerSendId?: string
  /** The recipient's address as the provider writes it. */
  readonly email?: string
  /** The remote server's words as far as the provider passes them on; empty without. */
  readonly reason: string
  /** Of a bounce: whether it is for good. */
  readonly isHard?: boolean
  /** The address must not be sent to any more, and why. */
  readonly suppresses?: 'bounced' | 'complained' | 'unsubscribed'
  /** Of a bounce, where the provider has one beside its words: RFC 3463, such as `5.1.1`. */
  readonly status?: string
  /** Of a bounce: the provider's own name for an address that is wrong, where it calls this one so. */
  readonly providerSays?: string
  /** Of a bounce: what it rests on. Left out by a provider's adapter, whose bounces are judged when they are applied. */
  readonly classified?: Classified
  /** As received, of the providers that have them (docs/reference/events.md#fields). */
  readonly errorCode?: string
  readonly numRetries?: string
  /** Of an unsubscription. */
  readonly ip?: string
  readonly userAgent?: string
  /** The report itself, as JSON. */
  readonly raw: string
}

export interface CallbackRequest {
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Buffer
}

/** What the account says about who may call back. */
export interface CallbackSecrets {
  readonly callbackSecret?: string
  readonly verificationKey?: string
}

/** Takes a callback as if the provider had made it; resolves when it is stored. */
export type DeliverCallback = (callback: {
  readonly tenantId: string
  readonly kind: RelayKind
  readonly body: string
}) => Promise<void>

export interface RelayCallbacks {
  /** What is wrong with them, if anything: with such no callback would ever be authentic. */
  checkSecrets?(secrets: CallbackSecrets): string | undefined
  /** In constant time. The path's token has been checked before. `nowMs`: by a clock that may be set. */
  isAuthentic(request: CallbackRequest, secrets: CallbackSecrets, nowMs: number): boolean
  /** Undefined when it is not what this provider sends; of a ping, no facts. */
  read(body: string): readonly RelayFact[] | undefined
}

/** A provider behind an HTTP API. */
export interface RelayProvider {
  readonly kind: Exclude<RelayKind, 'simulator'>
  readonly apiBaseDefault: string
  /** Why it is not even asked, since it is known to refuse such a mail. */
  refuse?(mail: RelayMail): RelayFailure | undefined
  send(account: RelayAccount, mail: RelayMail): RelayRequest
  readSent(answer: RelayAnswer): RelaySendOutcome
  readonly domains: RelayDomains
  readonly callbacks: RelayCallbacks
}

/** What becomes of a mail, decided by its recipient's address alone. */
export interface RelaySimulation {
  readonly outcome: RelaySendOutcome
  /** What it reports of it, in order, as `callbacks.read` has it. */
  readonly callback?: string
}

/** Plays a provider without a request: nothing leaves the process. */
export interface RelaySimulator {
  readonly kind: 'simulator'
  /** `nowMs`: by a clock that may be set. */
  simulate(mail: RelayMail, nowMs: number): RelaySimulation
  readonly callbacks: RelayCallbacks
}

export type RelayAdapter = RelayProvider | RelaySimulator
