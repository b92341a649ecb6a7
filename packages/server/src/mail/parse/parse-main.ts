/** The thread in which messages are read: answers each with what is in it, its attachments handed over. */
import { parentPort } from 'node:worker_threads'
import { threadReady } from '../../platform/thread-pool.ts'
import { FALLBACK_LIMITS, type ParseJob } from './parse-job.ts'
import { parseHeadersOnly, parseMessage } from './parse-message.ts'

parentPort?.on('message', ({ raw, problem }: ParseJob) => {
  const message =
    problem === undefined ? parseMessage(raw) : parseHeadersOnly(raw, FALLBACK_LIMITS, problem)
  const buffers = new Set(message.attachments.map(({ content }) => content.buffer))
  parentPort?.postMessage(message, [...buffers])
})
parentPort?.postMessage(threadReady)
