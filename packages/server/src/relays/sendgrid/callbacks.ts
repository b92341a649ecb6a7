/**
 * SendGrid's Event Webhook: who may call, and what is reported.
 *
 * A signature is of the time in its header and the bytes as sent (ECDSA P-256, SHA-256). SendGrid
 * says neither how old it may be nor whether a repetition, up to 24 h after the event, is signed
 * anew: the window is a little longer than that. Within it a repetition does nothing, for every
 * report has an id; and what another window refused would be lost for good. Nothing of a secret is
 * compared: who verifies knows the public key only.
 */
import { createPublicKey, createVerify, type KeyObject } from 'node:crypto'
import type { CallbackRequest, CallbackSecrets, RelayCallbacks } from '../relay.ts'
import { readFacts } from './read-facts.ts'

const SIGNATURE = 'x-twilio-email-event-webhook-signature'
const TIMESTAMP = 'x-twilio-email-event-webhook-timestamp'
const AGE_MS_MAX = 25 * 3_600_000
/** What our clock may be behind. */
const AHEAD_MS_MAX = 3_600_000

export const callbacks: RelayCallbacks = {
  checkSecrets({ verificationKey }) {
    if (verificationKey === undefined || readKey(verificationKey) !== undefined) return undefined
    return 'must be a public key of ECDSA P-256, in base64, as SendGrid shows it'
  },
  isAuthentic,
  read: readFacts,
}

/** Without a key the path alone tells. */
function isAuthentic(
  { headers, body }: CallbackRequest,
  { verificationKey }: CallbackSecrets,
  nowMs: number,
): boolean {
  if (verificationKey === undefined) return true
  const signature = headers[SIGNATURE]
  const timestamp = headers[TIMESTAMP]
  if (typeof signature !== 'string' || typeof timestamp !== 'string') return false
  if (!/^\d{9,10}$/.test(timestamp) || !/^[\w+/-]{1,200}={0,2}$/.test(signature)) return false
  const ageMs = nowMs - Number(timestamp) * 1_000
  if (ageMs > AGE_MS_MAX || ageMs < -AHEAD_MS_MAX) return false
  const key = readKey(verificationKey)
  if (key === undefined) return false
  const verify = createVerify('sha256').update(timestamp).update(body)
  return verify.verify(key, signature, 'base64')
}

/** Base64 of the SPKI, as SendGrid shows it; also with the lines of a PEM around it. */
function readKey(text: string): KeyObject | undefined {
  const base64 = text.replace(/-----(BEGIN|END) PUBLIC KEY-----/g, '').replace(/\s+/g, '')
  try {
    const key = createPublicKey({
      key: Buffer.from(base64, 'base64'),
      format: 'der',
      type: 'spki',
    })
    return key.asymmetricKeyDetails?.namedCurve === 'prime256v1' ? key : undefined
  } catch {
    return undefined // What OpenSSL has against it quotes nothing of use.
  }
}
