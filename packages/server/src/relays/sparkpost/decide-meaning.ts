/**
 * What an event of SparkPost's means for its recipient, by its type and, of a bounce, its class.
 *
 * A soft bounce is the end of a mail, too: it comes when SparkPost has given up trying, and `delay`
 * before that. An address that SparkPost itself does not write to was once reported as a rejection
 * and is a bounce of class 25 now; in either form its words tell.
 */
import type { RelayFact, RelayFactKind } from '../relay.ts'
import { bounceCategoryOf } from './bounce-classes.ts'

export interface EventFacts {
  readonly type: string
  readonly bounceClass: string | undefined
  /** Of a complaint. */
  readonly feedbackType: string | undefined
  readonly reason: string
}

export type Meaning = Pick<
  RelayFact,
  'kind' | 'isHard' | 'suppresses' | 'providerSays' | 'classified'
>

const KINDS: ReadonlyMap<string, RelayFactKind> = new Map([
  ['injection', 'processed'],
  ['delivery', 'delivered'],
  ['delay', 'deferred'],
  ['bounce', 'bounced'],
  ['out_of_band', 'bounced'],
  ['spam_complaint', 'complained'],
  ['policy_rejection', 'policy_rejected'],
  ['generation_failure', 'generation_failed'],
  ['generation_rejection', 'generation_rejected'],
  ['list_unsubscribe', 'unsubscribed'],
  ['link_unsubscribe', 'unsubscribed'],
])
/** The other class that is for good says that no recipient was found, which may be the sender's fault. */
const INVALID_RECIPIENT = '10'
const SUPPRESSED = /address (was )?suppressed/i

export function decideMeaning(event: EventFacts): Meaning {
  const kind = KINDS.get(event.type) ?? 'other'
  switch (kind) {
    case 'bounced':
      return meaningOfBounce(event)
    case 'complained':
      // RFC 5965 §7.3: a reader takes a complaint back.
      return event.feedbackType === 'not-spam' ? { kind: 'other' } : { kind, suppresses: kind }
    case 'unsubscribed':
      return { kind, suppresses: kind }
    case 'policy_rejected':
    case 'generation_rejected':
      return { kind, ...suppression(event) }
    default:
      return { kind }
  }
}

function meaningOfBounce(event: EventFacts): Meaning {
  const category = bounceCategoryOf(event.bounceClass)
  switch (category) {
    case 'hard':
      return {
        kind: 'bounced',
        isHard: true,
        suppresses: 'bounced',
        ...(event.bounceClass === INVALID_RECIPIENT ? { providerSays: 'Invalid Recipient' } : {}),
      }
    case 'admin':
      return { kind: 'bounced', isHard: true, ...suppression(event) }
    case 'soft':
    case 'block':
    case 'undetermined':
      return { kind: 'bounced', isHard: false }
    case 'unsubscribe':
      return { kind: 'unsubscribed', suppresses: 'unsubscribed' }
    case 'auto-reply':
    case 'subscribe':
      return { kind: 'other' }
  }
}

function suppression({ reason }: EventFacts): Pick<RelayFact, 'suppresses' | 'classified'> {
  const [evidence] = SUPPRESSED.exec(reason) ?? []
  if (evidence === undefined) return {}
  return {
    suppresses: 'bounced',
    classified: { category: 'blocked_policy', by: 'words', evidence },
  }
}
