import { expect, it } from 'vitest'
import { createLogger } from '../log.ts'
import { createMetrics } from '../metrics.ts'
import { createThreadJobsObserver } from './observe-threads.ts'

it('counts jobs by pool and outcome, and logs the name of an exceeded limit', async () => {
  const metrics = createMetrics()
  const lines: string[] = []
  const destination = { write: (line: string) => void lines.push(line) }
  const log = createLogger({ level: 'info', destination })
  const observe = createThreadJobsObserver({ metrics, log }).of('mail')
  observe('tn_a', 'done')
  for (let i = 0; i < 3; i += 1) observe('tn_b', 'cpu')
  const text = await metrics.registry.metrics()
  expect(text).toContain('postrider_thread_jobs_total{pool="mail",outcome="done"} 1')
  expect(text).toContain('postrider_thread_jobs_total{pool="mail",outcome="cpu"} 3')
  expect(text).toContain('postrider_thread_jobs_total{pool="mail",outcome="memory"} 0')
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    expect.objectContaining({
      msg: 'thread_job.ended',
      pool: 'mail',
      outcome: 'cpu',
      tenant_id: 'tn_b',
      count: 1,
    }),
  ])
})
