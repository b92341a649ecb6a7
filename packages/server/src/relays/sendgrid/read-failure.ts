/**
 * What it means that SendGrid refuses, as data; alike for all of its API.
 *
 * The status alone does not tell: 401 is a refused key or a spent quota, 403 a key without the right,
 * a sender that is not verified, or a block that passes. So words come first, and only those in
 * SendGrid's own form, `{"errors":[{"message","field"}]}`: a page of something on the way is no
 * verdict on the account, except that a 401 is always one.
 */
import type { FailureCategory } from '@postrider/mail'
import { memberOf, parseJson } from '../../platform/values/json.ts'
import { storable, textOf } from '../callbacks/report-fields.ts'
import { headerOf, relayFailure, retryAfterMsOf, waitUntil } from '../failure.ts'
import type { RelayAnswer, RelayFailure } from '../relay.ts'

interface Verdict {
  readonly category: FailureCategory
  readonly retryable: boolean
  readonly authRejected?: true
}

interface Rule extends Verdict {
  readonly status: readonly number[]
  /** Of all messages together, in lower case; without it the status suffices. */
  readonly words?: RegExp
  /** Of any of them. */
  readonly field?: RegExp
}

const permanent = (category: FailureCategory): Verdict => ({ category, retryable: false })
const passing = (category: FailureCategory): Verdict => ({ category, retryable: true })
const keyRefused = (category: FailureCategory): Verdict => ({
  ...permanent(category),
  authRejected: true,
})

/** The first that matches; those that want words or fields are for SendGrid's own form only. */
const RULES: readonly Rule[] = [
  { ...passing('sender_rate_limited'), status: [429] },
  {
    ...permanent('sender_quota_exhausted'),
    status: [400, 401, 403],
    words:
      /maximum credits|credits? (limit )?(exceeded|exhausted)|exceeded your (messaging|sending|email) limit/,
  },
  {
    ...passing('sender_blocked'),
    status: [403],
    words: /temporar(y|ily) block|temporarily blocked|too many bad requests|repeated bad requests/,
  },
  {
    ...permanent('sender_blocked'),
    status: [400, 403],
    words: /account .{0,40}(suspended|disabled|deactivated|banned|frozen|under review|terminated)/,
  },
  {
    ...permanent('sender_not_allowed'),
    status: [400, 403],
    words: /sender identity|from address|send from that|from email does not/,
  },
  { ...permanent('sender_not_allowed'), status: [400, 403], field: /^from(\.|$)/ },
  // Where it may be used from is not what the key is.
  {
    ...permanent('sender_not_authorized'),
    status: [403],
    words: /\bip address|whitelist|allow ?list/,
  },
  { ...keyRefused('auth_rejected'), status: [401] },
  {
    ...keyRefused('sender_not_authorized'),
    status: [403],
    words: /access forbidden|api[ _-]?key|authori[sz]|credential|permission|\bscopes?\b/,
  },
  { ...permanent('message_too_large'), status: [413] },
  {
    ...permanent('message_too_large'),
    status: [400],
    words:
      /too large|exceeds? the (maximum|total) .{0,40}(size|length|bytes)|(size|bytes) .{0,30}exceed/,
  },
  {
    ...permanent('invalid_recipient'),
    status: [400],
    field: /^personalizations(\.\d+)?\.(to|cc|bcc)(\.|$)/,
  },
  {
    ...permanent('content_rejected'),
    status: [400],
    field: /^(content|subject|attachments|headers|categories|reply_to)(\.|$)/,
  },
  { ...permanent('protocol_error'), status: [404, 405, 406, 410, 415], words: /./ },
  { ...passing('temporary'), status: [408, 425] },
]

export function readFailure(answer: RelayAnswer): RelayFailure {
  const said = readErrors(answer.body)
  const found = verdictOn(answer, said)
  const words = said?.flatMap(({ message }) => message || []).join('; ')
  const retryAfterMsMin = found.retryable ? waitOf(answer) : undefined
  return relayFailure(found.category, { ...found, words, answer, retryAfterMsMin })
}

interface SaidError {
  readonly message: string
  readonly field: string
}

/** Undefined where it is not SendGrid's form. */
function readErrors(body: string): readonly SaidError[] | undefined {
  const errors = memberOf(parseJson(body), 'errors')
  if (!Array.isArray(errors) || errors.length === 0) return undefined
  return errors.map((one: unknown) => ({
    // An older form has bare texts.
    message: typeof one === 'string' ? storable(one) : (textOf(one, 'message', 2_000) ?? ''),
    field: textOf(one, 'field') ?? '',
  }))
}

function verdictOn(answer: RelayAnswer, said: readonly SaidError[] | undefined): Verdict {
  const { status } = answer
  const text = (said ?? [])
    .map(({ message }) => message)
    .join(' ')
    .toLowerCase()
    .slice(0, 4_000)
  const found = RULES.find(
    (rule) =>
      rule.status.includes(status) &&
      (rule.words?.test(text) ?? true) &&
      (rule.field === undefined || (said?.some(({ field }) => rule.field?.test(field)) ?? false)),
  )
  if (found !== undefined) return found
  if (status >= 500) return passing('temporary')
  if (said !== undefined) return permanent('unknown')
  // A success that is none: in sandbox mode 200 is answered, and nothing is sent.
  if (status < 300 && !isPage(answer)) return permanent('protocol_error')
  // What is not of its API may be gone in a moment, and has sent nothing.
  return passing('temporary')
}

/** Of something on the way, whatever it is about. */
export function isPage({ body }: RelayAnswer): boolean {
  return /^\s*</.test(body)
}

/** Rate limits name the second at which they end. */
function waitOf(answer: RelayAnswer): number | undefined {
  const asked = retryAfterMsOf(answer)
  if (asked !== undefined || answer.status !== 429) return asked
  const reset = headerOf(answer, 'x-ratelimit-reset') ?? ''
  return /^\d{9,10}$/.test(reset) ? waitUntil(answer, Number(reset) * 1_000) : undefined
}
