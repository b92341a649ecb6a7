/** Reads one message of a batch: its own refusal, where a schema of the whole body would refuse them all. */
import { type BatchMessageBody, batchMessageBody, type SendEmailBody } from '@postrider/contract'
import { compileSchema } from '../../platform/http/body/validation.ts'
import { readIdempotencyKey } from '../accept/idempotency.ts'

export interface ReadMessage {
  /** As sendEmail would have got it, so that a key means the same there and here. */
  readonly body: SendEmailBody
  readonly key: string | undefined
}

/** Throws the refusals of its fields. */
export type MessageReader = (message: unknown) => ReadMessage

export function createMessageReader(): MessageReader {
  const check = compileSchema(batchMessageBody, 'body')
  return (message) => {
    const checked = check(message)
    if (checked !== true) throw checked.error
    // The schema has made the message what its type says.
    const { idempotency_key: given, ...body } = message as BatchMessageBody
    return { body, key: readIdempotencyKey(given, '/idempotency_key') }
  }
}
