/**
 * Makes messages of a batch ready to be accepted, one after another, with a turn of the event loop after
 * each: 500 at once would delay everybody else.
 *
 * The key of a message is held until its group is accepted, as sendEmail holds it. A key that the group has
 * already ends the group: it is judged after the outcome of the first. In an atomic batch, which is one group, the
 * same body repeats the first message, and another one is refused.
 */
import { setImmediate } from 'node:timers/promises'
import { atomicRecipientsMax } from '@postrider/contract'
import { ApiError, validationError } from '../../platform/errors.ts'
import { toApiError } from '../../platform/http/error-answer.ts'
import { type AcceptRequest, GROUP_MAX } from '../accept/accept-email.ts'
import { hashBody, type KeysInProgress, keyOfMode } from '../accept/idempotency.ts'
import { checkSend, type ReadyDeps, readyEmail } from '../accept/ready-email.ts'
import type { OwnBudget } from '../own-data/render-own-data.ts'
import type { PlannedEmail } from '../tracking/plan-tracking.ts'
import type { MessageReader, ReadMessage } from './read-message.ts'

export interface ReadyGroupDeps extends ReadyDeps {
  readonly readMessage: MessageReader
  readonly keysInProgress: Pick<KeysInProgress, 'hold'>
}

export interface Batch {
  readonly tenantId: string
  readonly isTest: boolean
  readonly traceparent: string
  readonly messages: readonly unknown[]
  readonly isAtomic: boolean
  /** Of all its messages. */
  readonly ownBudget: OwnBudget
}

export interface ReadyMessage extends ReadMessage {
  readonly request: AcceptRequest
  readonly leftOut: PlannedEmail['leftOut'] | undefined
}

/** The place, in the group, of the message that it is once more. */
export interface RepeatedMessage extends ReadMessage {
  readonly repeats: number
}

export interface ReadyGroup {
  readonly messages: readonly (ReadyMessage | RepeatedMessage | ApiError)[]
  releaseKeys(): void
}

/** All of it is held at once, and written as JSON when it is accepted. */
const GROUP_BYTES = 2 * 1024 * 1024
/** An atomic batch is held, and committed, as one: no more of it than a request may bring, templates rendered. */
const ATOMIC_BYTES_MAX = 40 * 1024 * 1024

/** The messages from this one on that are accepted at once: at least one. */
export async function readyGroup(
  deps: ReadyGroupDeps,
  batch: Batch,
  from: number,
): Promise<ReadyGroup> {
  const messages: (ReadyMessage | RepeatedMessage | ApiError)[] = []
  const holds = new Map<string, { readonly place: number; readonly release: () => void }>()
  let [bytes, recipients] = [0, 0]
  for (const message of batch.messages.slice(from)) {
    if (!batch.isAtomic && (messages.length === GROUP_MAX || bytes > GROUP_BYTES)) break
    try {
      const read = deps.readMessage(message)
      const first = read.key === undefined ? undefined : holds.get(read.key)
      if (first !== undefined && !batch.isAtomic) break
      if (read.key !== undefined && first === undefined) {
        const release = deps.keysInProgress.hold(batch.tenantId, keyOfMode(read.key, batch.isTest))
        holds.set(read.key, { place: messages.length, release })
      }
      const ready = await readyMessage(deps, batch, read)
      bytes += sizeOf(ready)
      recipients += ready.request.email.recipients.length
      if (batch.isAtomic) refuseTooMuch(bytes, recipients)
      const original = first && messages[first.place]
      // A refused message keeps no key: the next one with it is the first.
      messages.push(
        first === undefined || original === undefined || !('request' in original)
          ? ready
          : repeat(original, ready, first.place),
      )
    } catch (error) {
      messages.push(toApiError(error))
    }
    await setImmediate()
  }
  return {
    messages,
    releaseKeys() {
      for (const { release } of holds.values()) release()
    },
  }
}

async function readyMessage(
  deps: ReadyGroupDeps,
  { tenantId, isTest, traceparent, ownBudget }: Batch,
  { body, key }: ReadMessage,
): Promise<ReadyMessage> {
  const checked = await checkSend(deps, tenantId, body)
  const { email, leftOut } = await readyEmail(deps, tenantId, checked, ownBudget)
  const idempotency =
    key === undefined ? {} : { idempotency: { key, bodyHash: await hashBody(body) } }
  return { body, key, request: { tenantId, email, traceparent, isTest, ...idempotency }, leftOut }
}

/** Templates are small, and what they render to is not: what does not fit is not kept. */
function refuseTooMuch(bytes: number, recipients: number): void {
  const [path, most] =
    bytes > ATOMIC_BYTES_MAX
      ? ['/content', `${ATOMIC_BYTES_MAX} bytes of content and attachments, templates rendered`]
      : ['/to', `${atomicRecipientsMax} recipients`]
  if (bytes <= ATOMIC_BYTES_MAX && recipients <= atomicRecipientsMax) return
  const message = `makes more than ${most} in an atomic batch: send it in parts`
  throw validationError({ path, message })
}

function repeat(
  original: ReadyMessage,
  { body, key, request }: ReadyMessage,
  place: number,
): RepeatedMessage | ApiError {
  const [first, again] = [original.request.idempotency, request.idempotency]
  const isSame = first !== undefined && again?.bodyHash.equals(first.bodyHash) === true
  return isSame ? { body, key, repeats: place } : new ApiError('idempotency_mismatch')
}

function sizeOf({ request }: ReadyMessage): number {
  const { text, html, attachments } = request.email.content
  const ofAttachments = attachments.reduce((sum, { content }) => sum + content.length, 0)
  const { renderings = [] } = request.email.own ?? {}
  const ofRenderings = renderings.reduce((sum, { octets }) => sum + octets, 0)
  return (text?.length ?? 0) + (html?.length ?? 0) + ofAttachments + ofRenderings
}
