/**
 * Accepts many emails of one request (docs/reference/sending.md#batches): each as sendEmail would have
 * accepted or refused it, or all of them in one transaction.
 *
 * Messages wait for a commit beside those of other tenants, who take turns with them; only one group of a batch
 * waits at a time.
 */
import type { AcceptedMessage, FieldError, RefusedMessage } from '@postrider/contract'
import { ApiError } from '../../platform/errors.ts'
import { toApiError } from '../../platform/http/error-answer.ts'
import type { Logger } from '../../platform/log.ts'
import type { AcceptEmails, Accepted } from '../accept/accept-email.ts'
import { listRecipients, noteLeftOut, wokenBy } from '../accept/ready-email.ts'
import type { QueueWakeups, WokenQueue } from '../queue/queue-wakeups.ts'
import { type Batch, type ReadyGroup, type ReadyGroupDeps, readyGroup } from './ready-group.ts'

export interface SendBatchDeps extends ReadyGroupDeps {
  readonly emails: Pick<AcceptEmails, 'accept' | 'acceptTogether'>
  readonly wakeups: Pick<QueueWakeups, 'wake'>
  readonly log: Logger
}

export type MessageResult = AcceptedMessage | RefusedMessage
type Outcome = Accepted | ApiError

/** Throws `batch_refused` of an atomic batch, and what failed when nothing at all was accepted. */
export async function sendBatch(deps: SendBatchDeps, batch: Batch): Promise<MessageResult[]> {
  const results: MessageResult[] = []
  let failure: ApiError | undefined
  while (results.length < batch.messages.length) {
    // Nobody waits for one time-out after another.
    if (failure?.code === 'unavailable') {
      results.push(showRefused(results.length, failure))
      continue
    }
    const group = await readyGroup(deps, batch, results.length)
    try {
      const outcomes = await (batch.isAtomic ? acceptAll : acceptEach)(deps, group)
      failure ??= outcomes.find(isFailure)
      results.push(...finish(deps, batch, { group, outcomes, from: results.length }))
    } finally {
      group.releaseKeys()
    }
  }
  if (failure === undefined) return results
  if (!results.some((result) => 'ref_id' in result)) throw failure
  const { code, cause } = failure
  deps.log.error({ tenant_id: batch.tenantId, code, err: cause }, 'batch.failed_in_part')
  return results
}

const FAILURE_STATUS_MIN = 500

function isFailure(outcome: Outcome): outcome is ApiError {
  return outcome instanceof ApiError && outcome.status >= FAILURE_STATUS_MIN
}

async function acceptEach(deps: SendBatchDeps, group: ReadyGroup): Promise<Outcome[]> {
  return Promise.all(
    group.messages.map(async (message): Promise<Outcome> => {
      if (message instanceof ApiError) return message
      if (!('request' in message)) throw new Error('a message repeats another of its group')
      return deps.emails.accept(message.request).catch(toApiError)
    }),
  )
}

async function acceptAll(deps: SendBatchDeps, group: ReadyGroup): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  const refused = group.messages.map((one) => (one instanceof ApiError ? one : undefined))
  refuseBatch(refused)
  const requests = group.messages.flatMap((one) => ('request' in one ? [one.request] : []))
  const accepted = [...(await deps.emails.acceptTogether(requests))]
  for (const message of group.messages) {
    const outcome = 'repeats' in message ? outcomes[message.repeats] : accepted.shift()
    if (outcome === undefined) throw new Error('a commit told nothing of a message')
    outcomes.push(outcome)
  }
  refuseBatch(outcomes)
  return outcomes
}

const ERRORS_MAX = 500
/** Their paths are those of fields of the message. */
const OF_FIELDS = new Set(['validation_failed', 'duplicate_recipient'])

/** Throws the one refusal of them all, if there is any; a failure as it is, as the batch may be sent again. */
function refuseBatch(outcomes: readonly (Outcome | undefined)[]): void {
  const errors: FieldError[] = []
  for (const [i, outcome] of outcomes.entries()) {
    if (!(outcome instanceof ApiError) || outcome.code === 'batch_refused') continue
    if (outcome.status >= FAILURE_STATUS_MIN) throw outcome
    const path = `/messages/${i}`
    if (OF_FIELDS.has(outcome.code) && outcome.errors !== undefined)
      errors.push(...outcome.errors.map((one) => ({ ...one, path: path + one.path })))
    else errors.push({ path, message: `${outcome.code}: ${outcome.message}` })
  }
  if (errors.length > 0)
    throw new ApiError('batch_refused', { errors: errors.slice(0, ERRORS_MAX) })
}

function finish(
  deps: SendBatchDeps,
  { tenantId }: Batch,
  o: {
    readonly group: ReadyGroup
    readonly outcomes: readonly Outcome[]
    readonly from: number
  },
): MessageResult[] {
  const woken = new Map<string, WokenQueue>()
  const results = o.group.messages.map((message, i): MessageResult => {
    const outcome = o.outcomes[i]
    const index = o.from + i
    if (outcome === undefined) throw new Error('a message has no outcome')
    if (outcome instanceof ApiError) return showRefused(index, outcome)
    if (message instanceof ApiError) return showRefused(index, message)
    if ('request' in message) {
      noteLeftOut(deps.log, tenantId, { accepted: outcome, leftOut: message.leftOut })
      for (const queue of wokenBy(tenantId, message.request.email, outcome))
        woken.set(`${queue.mailerId} ${queue.isBulk}`, queue)
    }
    return { index, ref_id: outcome.refId, recipients: listRecipients(message.body, outcome) }
  })
  deps.wakeups.wake([...woken.values()])
  return results
}

function showRefused(index: number, { code, message, errors }: ApiError): RefusedMessage {
  return { index, code, message, ...(errors === undefined ? {} : { errors: [...errors] }) }
}
