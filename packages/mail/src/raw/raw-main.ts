/** The thread in which long messages of programs are read: answers each with what is in it. */
import { answerJobs } from '@postrider/runtime/thread-jobs'
import type { RawJob, RawOutput } from './raw-reader.ts'
import { readRaw } from './read-raw.ts'

answerJobs<RawJob, RawOutput>(({ raw, options }) => {
  const reading = readRaw(raw, options)
  if (reading.kind === 'refused') return { output: reading }
  const { message: bytes, ...message } = reading.message
  // Its memory is handed over; a short one is out of a pool, which must not be.
  const owned = new Uint8Array(bytes)
  return { output: { kind: 'read', message, raw: owned }, handedOver: [owned.buffer] }
})
