/**
 * A DKIM key of our own (RFC 6376, RFC 8301): RSA of 2048 bits, which every receiver checks and most
 * name servers take. It is made in a thread of libuv, in a tenth of a second or more.
 */
import { generateKeyPair, randomInt } from 'node:crypto'
import { promisify } from 'node:util'
import type { KeyRing } from '../../platform/secrets/index.ts'
import { type DkimKey, type NewDomain, sealPrivateKey } from '../domain.ts'

export interface NewKey {
  readonly selector: string
  /** Base64 of the SPKI. */
  readonly publicKey: string
  /** PKCS#8, PEM. */
  readonly privateKey: string
}

const BITS = 2048
const SELECTOR_SYMBOLS = 'abcdefghijkmnpqrstuvwxyz23456789'
const SELECTOR_LENGTH = 8

const generate = promisify(generateKeyPair)

export async function makeKey(selector = newSelector()): Promise<NewKey> {
  const { publicKey, privateKey } = await generate('rsa', { modulusLength: BITS })
  return {
    selector,
    publicKey: publicKey.export({ type: 'spki', format: 'der' }).toString('base64'),
    privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}

export function sealKey(
  keyRing: KeyRing,
  owner: Pick<NewDomain, 'tenantId' | 'mailerId'>,
  { selector, publicKey, privateKey }: NewKey,
  turn: DkimKey['turn'],
): DkimKey {
  const sealed = sealPrivateKey(keyRing, owner, selector, privateKey)
  return { selector, publicKey, privateKey: sealed, turn }
}

/** Two tenants may try for one domain, and a key comes after a key: no two have the same. */
function newSelector(): string {
  const symbols = Array.from({ length: SELECTOR_LENGTH }, () =>
    SELECTOR_SYMBOLS.charAt(randomInt(SELECTOR_SYMBOLS.length)),
  )
  return `pr-${symbols.join('')}`
}
