/** Who is told what came of jobs in threads. */
export const threadOutcomes = ['done', 'cpu', 'memory', 'time', 'failed'] as const
export type ObservedOutcome = (typeof threadOutcomes)[number]

export interface ThreadJobsObserver {
  /** For one pool, by its name. */
  of(pool: string): (caller: string, outcome: ObservedOutcome) => void
}

export const ignoreThreadJobs: ThreadJobsObserver = { of: () => () => undefined }
