/**
 * The mails of a round and what the SMTP server does to each: all of it follows from the seed.
 * Every address occurs once, so that the SMTP server's log tells which email a copy is of.
 */
import type { Random, SmtpScriptTable } from '@postrider/testkit'
import type { SendRequest } from './history.ts'

export interface Mail {
  readonly key: string
  readonly tenant: string
  readonly traceparent: string
  readonly request: SendRequest & Readonly<Record<string, unknown>>
}

interface Fate {
  readonly name: string
  readonly weight: number
  readonly attempts: number
  readonly script: readonly string[]
  /** Its events are what the webhook receiver refuses until it is healed. */
  readonly isPoison?: boolean
}

/** In the `custom_args` of a mail, and so in each of its events. */
export const poison = { poison: true }

export const lingering = 'lingering'

const ENOUGH = 12
const fates: readonly Fate[] = [
  {
    // In flight for a good while, and then in the queue for long: a sender that was suspended with it
    // comes back to find that another is still at it.
    name: lingering,
    weight: 6,
    attempts: ENOUGH,
    script: ['dot: delay 1200 451 4.3.0 Not now', ...Array(7).fill('450 4.2.0 Not yet'), 'ok'],
  },
  { name: 'slow', weight: 12, attempts: ENOUGH, script: ['dot: delay 600 250 2.0.0 Taken'] },
  { name: 'taken', weight: 35, attempts: ENOUGH, script: ['ok'] },
  { name: 'later', weight: 14, attempts: ENOUGH, script: ['450 4.2.0 Try again later', 'ok'] },
  {
    name: 'much-later',
    weight: 8,
    attempts: ENOUGH,
    script: ['451 4.3.0 Not now', 'dot: 452 4.3.1 Insufficient system storage', 'ok'],
  },
  { name: 'never', weight: 8, attempts: ENOUGH, script: ['550 5.1.1 No such user here'] },
  { name: 'refused', weight: 5, attempts: ENOUGH, script: ['dot: 554 5.7.1 Rejected as spam'] },
  { name: 'exhausted', weight: 5, attempts: 3, script: ['450 4.2.0 Try again later'] },
  { name: 'cut-short', weight: 5, attempts: ENOUGH, script: ['body: fin', 'ok'] },
  { name: 'unanswered', weight: 5, attempts: ENOUGH, script: ['dot: fin', 'ok'] },
  { name: 'reset', weight: 3, attempts: ENOUGH, script: ['dot: rst', 'ok'] },
  // Few: each is refused again every second, and a webhook has one request in flight.
  { name: 'poison', weight: 2, attempts: ENOUGH, script: ['ok'], isPoison: true },
  {
    name: 'poison-later',
    weight: 1,
    attempts: ENOUGH,
    script: ['450 4.2.0 Try again later', 'ok'],
    isPoison: true,
  },
  { name: 'hung', weight: 2, attempts: ENOUGH, script: ['dot: hang', 'ok'] },
]

export const senderOf = (tenant: string): string => `${tenant}@sender.test`

export function makeMails(o: {
  readonly random: Random
  readonly count: number
  /** Names with their canaries. */
  readonly tenants: ReadonlyMap<string, string>
}): { readonly mails: readonly Mail[]; readonly script: SmtpScriptTable } {
  const { random } = o
  const script: Record<string, readonly string[]> = {}
  const mails = Array.from({ length: o.count }, (_, n): Mail => {
    const tenant = random.pick([...o.tenants.keys()])
    const canary = o.tenants.get(tenant) ?? ''
    const fate = pickFate(random)
    const address = (part: string): { email: string } => {
      const email = `${fate.name}-${n}-${part}@recipient.test`
      script[email] = fate.script
      return { email }
    }
    const others = random.below(10) === 0 ? { cc: [address('cc')], bcc: [address('bcc')] } : {}
    return {
      key: `key-${n}`,
      tenant,
      traceparent: `00-${random.hex(31)}1-${random.hex(15)}1-01`,
      request: {
        from: { email: senderOf(tenant) },
        to: [address('to')],
        ...others,
        subject: `Mail ${n} ${canary}`,
        content: [
          { type: 'text/plain', value: `${canary}\n.\n${'line\n'.repeat(random.below(200))}` },
        ],
        custom_args: { n, canary, ...(fate.isPoison === true ? poison : {}) },
        settings: { max_attempts: fate.attempts },
      },
    }
  })
  return { mails, script }
}

function pickFate(random: Random): Fate {
  let left = random.below(fates.reduce((sum, fate) => sum + fate.weight, 0))
  for (const fate of fates) {
    left -= fate.weight
    if (left < 0) return fate
  }
  throw new Error('the weights do not add up')
}
