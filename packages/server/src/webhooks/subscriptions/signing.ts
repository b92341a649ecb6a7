/**
 * The secrets by which a webhook's requests are signed (docs/reference/webhooks.md#signatures).
 *
 * A webhook has none unless it asks to be signed. One secret is current; a secret that was replaced signs
 * beside it for 24 hours, so that a receiver can change its own at any time in between. They are sealed
 * together, bound to their tenant and webhook, and each is shown once: in the answer that makes it.
 */
import { randomBytes } from 'node:crypto'
import { signingSecretPrefix, signingSecretsMax } from '@postrider/contract'
import { ApiError } from '../../platform/errors.ts'
import type { KeyRing } from '../../platform/secrets/index.ts'

/** Of the secrets, in bytes: what HMAC-SHA256 makes use of. */
const SECRET_BYTES = 32
const FORMER_MS = 24 * 3_600_000

export interface Signing {
  readonly secret: string
  /** The newest first, each until that time, in milliseconds. */
  readonly former: readonly { readonly secret: string; readonly untilMs: number }[]
}

export interface SigningOwner {
  readonly tenantId: string
  readonly webhookId: string
}

export function newSigning(): Signing {
  return { secret: newSecret(), former: [] }
}

function newSecret(): string {
  return signingSecretPrefix + randomBytes(SECRET_BYTES).toString('base64')
}

/** Refused when so many secrets sign already that a request would carry more signatures than allowed. */
export function rotateSigning(signing: Signing, nowMs: number): Signing {
  const former = signing.former.filter(({ untilMs }) => untilMs > nowMs)
  const oldest = former.at(-1)
  if (oldest !== undefined && former.length + 2 > signingSecretsMax)
    throw new ApiError('conflict', {
      message: `${signingSecretsMax} secrets of this webhook sign already. The oldest ends at ${new Date(oldest.untilMs).toISOString()}: try again then`,
    })
  return {
    secret: newSecret(),
    former: [{ secret: signing.secret, untilMs: nowMs + FORMER_MS }, ...former],
  }
}

/** Those that sign now, the current one first. */
export function secretsAt({ secret, former }: Signing, nowMs: number): string[] {
  return [secret, ...former.filter(({ untilMs }) => untilMs > nowMs).map((one) => one.secret)]
}

export function sealSigning(keyRing: KeyRing, owner: SigningOwner, signing: Signing): string {
  return keyRing.encrypt(JSON.stringify(signing), signingPlaceOf(owner))
}

export function openSigning(keyRing: KeyRing, owner: SigningOwner, sealed: string): Signing {
  return JSON.parse(keyRing.decrypt(sealed, signingPlaceOf(owner))) as Signing
}

export function signingPlaceOf({ tenantId, webhookId }: SigningOwner): string {
  return `webhooks|${tenantId}|${webhookId}|signing`
}

export const SIGNATURE_HEADERS = ['webhook-id', 'webhook-timestamp', 'webhook-signature'] as const
