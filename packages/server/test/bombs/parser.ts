/** A parser that a stranger's bytes reach, as a function of these bytes. */
import type { BombKind } from '@postrider/testkit'
import { ApiError } from '../../src/platform/errors.ts'

export interface Parser {
  readonly name: string
  readonly kinds: readonly BombKind[]
  /** The most that its door lets through. */
  readonly bytesMax: number
  /** `main`: on the thread of the event loop. `pool`: in a thread with limits. */
  readonly thread: 'main' | 'pool'
  /** @param text bytes, as latin1 */
  run(text: string): unknown
}

export const bytes = (text: string): Buffer => Buffer.from(text, 'latin1')
/** As a decoder hands it on. */
export const utf8 = (text: string): string => bytes(text).toString('utf8')

/** A refusal is an answer, any other error is a defect. */
export function refusing(work: () => unknown): unknown {
  try {
    return work()
  } catch (error) {
    if (error instanceof ApiError) return error.code
    throw error
  }
}
