/** A hit, of what a request says. */
import type { IncomingHttpHeaders } from 'node:http'
import { userAgentCharactersMax } from '@postrider/mail'
import { newUlid } from '../../platform/ids.ts'
import type { TokenKind, TrackedRecipient } from '../tokens.ts'
import type { Hit } from './hit.ts'

/** By which programs say that nobody has asked yet. */
const PURPOSES = ['sec-purpose', 'purpose', 'x-purpose', 'x-moz']
const PURPOSE_CHARACTERS_MAX = 64

export function readHit(o: {
  readonly who: TrackedRecipient
  readonly kind: TokenKind
  readonly headers: IncomingHttpHeaders
  readonly ip: string
  readonly atMicros: bigint
}): Hit {
  const { who, kind, headers, ip, atMicros } = o
  const purpose = PURPOSES.flatMap((name) => headers[name] ?? []).join(' ')
  return {
    ...who,
    hitId: newUlid(),
    kind,
    atMicros,
    ip,
    userAgent: (headers['user-agent'] ?? '').slice(0, userAgentCharactersMax),
    purpose: purpose.slice(0, PURPOSE_CHARACTERS_MAX).toLowerCase(),
  }
}
