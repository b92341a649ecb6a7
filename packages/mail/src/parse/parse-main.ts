/** The thread in which messages are read: answers each with what is in it, its attachments handed over. */
import { workerData } from 'node:worker_threads'
import { answerJobs } from '@postrider/runtime/thread-jobs'
import { lowerPriority } from '@postrider/runtime/thread-priority'
import { FALLBACK_LIMITS, type ParseJob, type ParseThreadData } from './parse-job.ts'
import { parseHeadersOnly, parseMessage } from './parse-message.ts'

const { isLowered }: ParseThreadData = workerData
if (isLowered) lowerPriority()

answerJobs(({ raw, problem }: ParseJob) => {
  const message =
    problem === undefined ? parseMessage(raw) : parseHeadersOnly(raw, FALLBACK_LIMITS, problem)
  const buffers = new Set(message.attachments.map(({ content }) => content.buffer))
  return { output: message, handedOver: [...buffers] }
})
