/**
 * The thread's side of `thread-pool.ts`: takes one job after another and answers each. With each answer
 * goes what the thread has used of the processor so far, so that the pool knows where the next job began.
 */
import { parentPort, type Transferable } from 'node:worker_threads'

/** What a thread says: first that it is ready, then the output of each job. */
export interface ThreadMessage<Output> {
  readonly cpuUs: number
  /** Absent in the first message. */
  readonly answer?: { readonly output: Output }
}

export interface JobAnswer<Output> {
  readonly output: Output
  /** Parts of the output that are handed over, not copied. */
  readonly handedOver?: readonly Transferable[]
}

export function answerJobs<Input, Output>(
  work: (input: Input) => JobAnswer<Output> | Promise<JobAnswer<Output>>,
): void {
  const say = (
    message: Omit<ThreadMessage<Output>, 'cpuUs'>,
    handedOver?: readonly Transferable[],
  ) => parentPort?.postMessage({ ...message, cpuUs: totalUs(process.threadCpuUsage()) }, handedOver)
  parentPort?.on('message', async (input: Input) => {
    const { output, handedOver } = await work(input)
    say({ answer: { output } }, handedOver)
  })
  say({})
}

export function totalUs({ user, system }: NodeJS.CpuUsage): number {
  return user + system
}
