/**
 * Attempts that found their mailer's login rejected (docs/reference/mailers.md#deactivation): in the
 * transaction that ends them, the first of each mailer deactivates it and is final. The others, and those
 * that come after somebody else's, are undone: their mail is held and leaves no event.
 */
import { type Deactivated, type RejectedLogin, settleRejectedLogins } from '../../mailers/index.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Tx } from '../../platform/db/index.ts'
import type { NewEvent } from '../../webhooks/index.ts'
import { holdClaims } from '../queue/queue-store.ts'
import type { Ending, Finish, Rejection } from './ending.ts'

type Rejected = Finish & { readonly rejection: Rejection }

interface Settled {
  /** In their order, as they are to be written. */
  readonly endings: readonly Ending[]
  /** Of deactivations. */
  readonly events: readonly NewEvent[]
  readonly deactivated: readonly Deactivated[]
}

export async function settleRejections(
  tx: Tx,
  clock: Clock,
  endings: readonly Ending[],
): Promise<Settled> {
  const rejected = endings.filter(isRejected)
  if (rejected.length === 0) return { endings, events: [], deactivated: [] }
  const isHeld = await holdClaims(
    tx,
    rejected.map(({ claim }) => claim),
  )
  // One that has lost its claim writes nothing, so that nothing may follow from it.
  const held = rejected.filter((_, i) => isHeld[i])
  const finders = [...Map.groupBy(held, mailerOf).values()].flatMap(([first]) => first ?? [])
  const verdicts = await settleRejectedLogins(tx, clock, finders.map(toRejectedLogin))
  const verdictOf = new Map(finders.map((one, i) => [mailerOf(one), verdicts[i]]))
  const settled = new Map<Ending, Ending>()
  for (const one of held) {
    const kind = verdictOf.get(mailerOf(one))?.kind
    if (kind === 'doubted') settled.set(one, one.rejection.ifDoubted)
    else if (kind !== 'deactivated' || !finders.includes(one))
      settled.set(one, { kind: 'undone', claim: one.claim, undo: { kind: 'undone', waitMs: 0 } })
  }
  const deactivations = verdicts.filter((verdict) => verdict.kind === 'deactivated')
  return {
    endings: endings.map((ending) => settled.get(ending) ?? ending),
    events: deactivations.map(({ event }) => event),
    deactivated: deactivations.map(({ deactivated }) => deactivated),
  }
}

function isRejected(ending: Ending): ending is Rejected {
  return ending.kind === 'finished' && ending.rejection !== undefined
}

/** Of one configuration: what was found of another is no news of this one. */
function mailerOf({ claim, rejection }: Rejected): string {
  return `${claim.tenantId} ${claim.mailerId} ${rejection.configVersion}`
}

function toRejectedLogin({ claim, rejection, result, traceparent }: Rejected): RejectedLogin {
  const { tenantId, mailerId } = claim
  const { configVersion, isBeyondDoubt } = rejection
  const evidence = result.kind === 'failed' ? result.providerError : ''
  return { tenantId, mailerId, configVersion, isBeyondDoubt, evidence, traceparent }
}
