/** The thread in which long callbacks are read. */
import { answerJobs } from '@postrider/runtime/thread-jobs'
import { adapterOf } from '../adapters.ts'
import { type CallbackJob, readCallback } from './callback-reader.ts'

answerJobs((job: CallbackJob) => {
  const output = readCallback(job, adapterOf)
  return { output, handedOver: output?.parts.map(({ buffer }) => buffer) ?? [] }
})
