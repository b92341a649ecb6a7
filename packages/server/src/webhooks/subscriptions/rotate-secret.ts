/**
 * rotateSigningSecret (docs/reference/webhooks.md#signatures): a new secret signs from the next request on, the
 * old one beside it for 24 hours. Of two calls at once the second replaces what the first has made.
 */
import type { Clock } from '../../platform/clock.ts'
import type { Db } from '../../platform/db/index.ts'
import { ApiError } from '../../platform/errors.ts'
import type { KeyRing } from '../../platform/secrets/index.ts'
import type { StreamKey } from '../dispatch/stream-store.ts'
import { openSigning, rotateSigning, sealSigning } from './signing.ts'
import { lockSigning, saveSigning } from './subscription-store.ts'

export interface RotateDeps {
  readonly db: Db
  readonly clock: Clock
  readonly keyRing: KeyRing
}

export interface RotatedSecret {
  readonly signingSecret: string
  /** Until when the one before signs, too. */
  readonly formerUntil: Date
}

export function rotateSigningSecret(
  { db, clock, keyRing }: RotateDeps,
  key: StreamKey,
): Promise<RotatedSecret> {
  return db.transaction(async (tx) => {
    const sealed = await lockSigning(tx, key)
    if (sealed === undefined) throw new ApiError('webhook_not_found')
    if (sealed === null)
      throw new ApiError('conflict', {
        message: 'The webhook is not signed: it has no secret. Update it with signing: true first',
      })
    const nowMs = clock.now().getTime()
    const signing = rotateSigning(openSigning(keyRing, key, sealed), nowMs)
    await saveSigning(tx, key, sealSigning(keyRing, key, signing))
    const formerUntil = new Date(signing.former[0]?.untilMs ?? nowMs)
    return { signingSecret: signing.secret, formerUntil }
  })
}
