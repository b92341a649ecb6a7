/**
 * Idempotency-Key of sendEmail (contract §2, §5): the same key with the same JSON value gives the
 * first answer again; with another it is refused; while the first is under way it is told so.
 *
 * The row that keeps a key is written in the transaction that accepts the email, so a key is kept
 * exactly when its email is.
 */
import { createHash } from 'node:crypto'
import { idempotencyKeyLengthMax } from '@postrider/contract'
import { ApiError, validationError } from '../platform/errors.ts'

const KEY = /^[\x20-\x7e]+$/

/** The header's value, or undefined when there is none. */
export function readIdempotencyKey(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined
  if (typeof header !== 'string' || header.length > idempotencyKeyLengthMax || !KEY.test(header))
    throw validationError({
      path: 'Idempotency-Key',
      message: `must be 1 to ${idempotencyKeyLengthMax} visible ASCII characters`,
    })
  return header
}

/** SHA-256 of the value, whatever the order of its keys or its white space. */
export function hashBody(body: unknown): Buffer {
  return createHash('sha256').update(canonical(body)).digest()
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const entries = Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([key, item]) => `${JSON.stringify(key)}:${canonical(item)}`)
  return `{${entries.join(',')}}`
}

/** Keys whose first request this process is answering just now. */
export interface KeysInProgress {
  run<T>(tenantId: string, key: string | undefined, work: () => Promise<T>): Promise<T>
}

export function createKeysInProgress(): KeysInProgress {
  const running = new Set<string>()
  return {
    async run(tenantId, key, work) {
      if (key === undefined) return work()
      const id = `${tenantId} ${key}`
      if (running.has(id)) throw new ApiError('idempotency_in_progress', { retryAfterS: 1 })
      running.add(id)
      try {
        return await work()
      } finally {
        running.delete(id)
      }
    },
  }
}
