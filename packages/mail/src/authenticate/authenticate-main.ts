/** The thread in which messages are authenticated: answers each job with what is known so far. */
import { workerData } from 'node:worker_threads'
import { answerJobs, totalUs } from '@postrider/runtime/thread-jobs'
import { lowerPriority } from '@postrider/runtime/thread-priority'
import {
  type AuthenticationJob,
  type AuthenticationStep,
  authenticateStep,
} from './authenticate-step.ts'

/** Of a thread. */
export interface AuthenticateThreadData {
  /** Threads that are not lowered have the processor first. */
  readonly isLowered: boolean
}

/** With what it took of the processor. */
export type MeasuredStep = AuthenticationStep & { readonly cpuMs: number }

const { isLowered }: AuthenticateThreadData = workerData
if (isLowered) lowerPriority()

answerJobs(async (job: AuthenticationJob) => {
  const before = process.threadCpuUsage()
  const step = await authenticateStep(job)
  return { output: { ...step, cpuMs: totalUs(process.threadCpuUsage(before)) / 1_000 } }
})
