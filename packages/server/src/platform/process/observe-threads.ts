/**
 * What comes of jobs in threads, for operators: a counter by pool and outcome with zeros from the start,
 * and a line for what a limit has ended. The lines of one pool and outcome are summed up: content that
 * ends jobs comes in numbers.
 */

import { type ThreadJobsObserver, threadOutcomes } from '@postrider/runtime/thread-observer'
import type { Logger } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import { createSummedLog } from '../summed-log.ts'

export function createThreadJobsObserver(deps: {
  readonly metrics: Metrics
  readonly log: Logger
}): ThreadJobsObserver {
  const { metrics, log } = deps
  const jobs = metrics.counter(
    'thread_jobs_total',
    'Jobs of content from outside that ran in threads, by pool and what came of them; cpu, memory and time name the limit that ended a job',
    ['pool', 'outcome'],
  )
  return {
    of(pool) {
      for (const outcome of threadOutcomes) jobs.inc({ pool, outcome }, 0)
      const logs = new Map(
        threadOutcomes.map((outcome) => [
          outcome,
          createSummedLog({ log, level: 'warn', message: 'thread_job.ended' }),
        ]),
      )
      return (caller, outcome) => {
        jobs.inc({ pool, outcome })
        if (outcome !== 'done') logs.get(outcome)?.note({ pool, outcome, tenant_id: caller })
      }
    },
  }
}
