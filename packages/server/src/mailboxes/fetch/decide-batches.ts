/**
 * Which messages are fetched with one command: bounded in number and bytes, so that what is held in
 * memory is, and in the order of their UIDs, so that all up to the last of one have been dealt with.
 */
export interface SizedMessage {
  readonly uid: number
  /** As the server says; 0 where it does not: such a message is fetched by itself. */
  readonly bytes: number
}

const MESSAGES_MAX = 50
const BYTES_MAX = 4 * 1024 * 1024

export function decideBatches<M extends SizedMessage>(messages: readonly M[]): M[][] {
  const batches: M[][] = []
  let last: M[] = []
  let bytes = 0
  for (const message of messages) {
    const size = message.bytes || BYTES_MAX
    if (last.length > 0 && (last.length === MESSAGES_MAX || bytes + size > BYTES_MAX)) {
      batches.push(last)
      last = []
      bytes = 0
    }
    last.push(message)
    bytes += size
  }
  if (last.length > 0) batches.push(last)
  return batches
}
