/** Tells dispatchers that a stream has something to do. */
import {
  type Wakeups as BucketWakeups,
  createWakeups as createBucketWakeups,
  type Others,
} from '../../../platform/db/index.ts'
import type { BucketedStream } from '../stream-store.ts'

export type Wakeups = BucketWakeups<BucketedStream>

export const createWakeups = (others?: Others): Wakeups => createBucketWakeups(others)
