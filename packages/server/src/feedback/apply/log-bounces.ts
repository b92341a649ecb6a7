/** The log line of a bounce: what it rests on, and whether its address is suppressed. Never a local part. */
import type { RelayKind } from '@postrider/contract'
import { type Classified, hideAddresses } from '@postrider/mail'
import type { Logger } from '../../platform/log.ts'
import type { RelayFact } from '../../relays/index.ts'

export interface LoggedBounce {
  readonly tenantId: string
  readonly refId: string
  readonly n: number
  readonly email: string
  readonly mailerId: string
  readonly traceparent: string
  /** Undefined: a mail server, by mail. */
  readonly relay: RelayKind | undefined
  readonly isHard: boolean | undefined
  readonly suppresses: RelayFact['suppresses'] | undefined
  readonly classified: Classified | undefined
}

/** After the commit. */
export function logBounces(log: Logger, bounces: readonly LoggedBounce[]): void {
  for (const { email, classified, ...bounce } of bounces)
    log.info(
      {
        tenant_id: bounce.tenantId,
        ref_id: bounce.refId,
        n: bounce.n,
        mailer_id: bounce.mailerId,
        relay: bounce.relay,
        domain: email.slice(email.lastIndexOf('@') + 1),
        hard: bounce.isHard,
        suppressed: bounce.suppresses !== undefined,
        classified: classified && {
          ...classified,
          evidence: hideAddresses(classified.evidence, email),
        },
        traceparent: bounce.traceparent,
      },
      'bounce.reported',
    )
}
