/**
 * Watches one job of a thread: ends it when it has used too much of the processor, or when too much time
 * has passed. On a busy machine a job waits; waiting uses no processor time.
 *
 * A thread cannot use more processor time than passes. So the first look is after the whole limit, and
 * an ordinary job is never looked at. A thread inside a long built-in function answers no look: then the
 * limit of time ends the job.
 */
export interface JobLimits {
  readonly cpuMs: number
  readonly timeMs: number
}

/** Between two looks at least. */
const LOOK_MS_MIN = 20

/** Calls `over` once at most. Answers what stops the watch. */
export function watchJob(
  { cpuMs, timeMs }: JobLimits,
  o: {
    /** What this job has used so far. Rejects when the thread has ended. */
    readonly readCpuMs: () => Promise<number>
    readonly over: (limit: 'cpu' | 'time') => void
  },
): () => void {
  let isStopped = false
  let nextLook: NodeJS.Timeout | undefined
  const lastResort = setTimeout(() => end('time'), timeMs)

  function stop(): void {
    isStopped = true
    clearTimeout(nextLook)
    clearTimeout(lastResort)
  }

  function end(limit: 'cpu' | 'time'): void {
    stop()
    o.over(limit)
  }

  function lookIn(ms: number): void {
    nextLook = setTimeout(look, Math.max(ms, LOOK_MS_MIN))
  }

  function look(): void {
    o.readCpuMs().then(
      (usedMs) => {
        if (isStopped) return
        if (usedMs >= cpuMs) end('cpu')
        else lookIn(cpuMs - usedMs)
      },
      // Its end is told elsewhere.
      () => undefined,
    )
  }

  lookIn(cpuMs)
  return stop
}
