/**
 * Judges a round of received mail from what the webhooks were told: each letter once to each of its
 * webhooks, whole, apart from requests that are repeated byte for byte; and nothing else.
 */
import { type Letter, mailboxPath, pathsOf } from './letters.ts'

/** A request as the receiver has it. */
export interface Told {
  readonly path: string
  readonly body: string
  /** It was answered 2xx, and the answer was handed over. */
  readonly isTaken: boolean
}

export interface InboundReport {
  readonly violations: readonly string[]
  readonly counts: {
    readonly letters: number
    readonly expected: number
    /** Of those expected, how many were taken. */
    readonly taken: number
    readonly requests: number
    /** Taken more than once, with the same body. */
    readonly repeated: number
    /** Requests that tell of the mailbox's troubles, which are there. */
    readonly imapErrors: number
  }
}

interface Incoming {
  readonly event: string
  readonly details: { readonly message_id: string; readonly text: string }
}

export function checkInbound(letters: readonly Letter[], told: readonly Told[]): InboundReport {
  const expected: ReadonlyMap<string, Letter> = new Map(
    letters.flatMap((letter) =>
      pathsOf(letter).map((path) => [`${path} <${letter.id}@sender.test>`, letter] as const),
    ),
  )
  const bodies = new Map<string, Set<string>>()
  const taken = new Map<string, number>()
  const violations: string[] = []
  let imapErrors = 0
  for (const { path, body, isTaken } of told) {
    const { event, details } = JSON.parse(body) as Incoming
    if (event === 'IMAP_ERROR' && path === mailboxPath) {
      imapErrors += 1
      continue
    }
    const key = `${path} ${details.message_id}`
    const letter = expected.get(key)
    if (letter === undefined || event !== 'INCOMING_EMAIL') violations.push(`invented: ${key}`)
    else if (details.text !== letter.text) violations.push(`not what was sent: ${key}`)
    const known = bodies.get(key) ?? new Set()
    bodies.set(key, known.add(body))
    if (isTaken) taken.set(key, (taken.get(key) ?? 0) + 1)
  }
  for (const [key, known] of bodies)
    if (known.size > 1) violations.push(`reported ${known.size} times: ${key}`)
  for (const key of expected.keys()) if (!taken.has(key)) violations.push(`lost: ${key}`)
  const repeated = [...taken.values()].reduce((sum, count) => sum + count - 1, 0)
  return {
    violations,
    counts: {
      letters: letters.length,
      expected: expected.size,
      taken: [...expected.keys()].filter((key) => taken.has(key)).length,
      requests: told.length,
      repeated,
      imapErrors,
    },
  }
}
