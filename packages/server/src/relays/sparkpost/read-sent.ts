/**
 * What became of a transmission of one recipient.
 *
 * A 200 may hold refusals ("transmission created, but with validation errors"), so the counts decide.
 * One that cannot be read is neither taken for sent, for then a wrong `api_base` would swallow mail,
 * nor for refused: it may have been delivered.
 */
import { memberOf, parseJson } from '../../platform/values/json.ts'
import { textOf } from '../callbacks/report-fields.ts'
import { isUnanswered, uncertain } from '../failure.ts'
import type { RelayAnswer, RelayFailure, RelaySendOutcome } from '../relay.ts'
import { failureBy, failureOf, verdictOfCode } from './classify-errors.ts'
import { errorsOf, readErrors } from './read-errors.ts'

/** Whatever it is of, no transmission was made by it. */
const PAGE = /^\s*</

export function readSent(answer: RelayAnswer): RelaySendOutcome {
  if (isUnanswered(answer)) return failed(uncertain(answer))
  if (answer.status < 200 || answer.status > 299) return failed(failureOf(answer))
  const body = parseJson(answer.body)
  const results = memberOf(body, 'results')
  const accepted = countOf(results, 'total_accepted_recipients')
  const rejected = countOf(results, 'total_rejected_recipients')
  const id = textOf(results, 'id')
  if (accepted === 0 || (rejected ?? 0) > 0) return failed(refusedRecipient(answer, results))
  if (accepted !== undefined || id !== undefined)
    return { kind: 'accepted', providerMessageId: id ?? '' }
  const errors = readErrors(answer.body)
  if (errors !== undefined)
    return failed(failureBy({ is: 'unknown', retryable: false }, answer, errors))
  if (!PAGE.test(answer.body)) return failed(uncertain(answer))
  return failed(failureBy({ is: 'temporary', retryable: true }, answer, undefined))
}

/** There is one recipient, so what is wrong with the list is wrong with it. */
function refusedRecipient(answer: RelayAnswer, results: unknown): RelayFailure {
  const errors = [
    ...errorsOf(memberOf(results, 'rcpt_to_errors')),
    ...(readErrors(answer.body) ?? []),
  ]
  const known = errors.flatMap(({ code }) => verdictOfCode(code) ?? [])
  return failureBy(known[0] ?? { is: 'invalid_recipient', retryable: false }, answer, errors)
}

function failed(failure: RelayFailure): RelaySendOutcome {
  return { kind: 'failed', failure }
}

function countOf(results: unknown, name: string): number | undefined {
  const count = textOf(results, name)
  return count !== undefined && /^\d{1,9}$/.test(count) ? Number(count) : undefined
}
