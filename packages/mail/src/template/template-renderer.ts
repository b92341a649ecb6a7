/** Templates, rendered in threads with limits: a hostile one costs its tenant time and nobody else. */

import type { Service } from '@postrider/runtime/service'
import type { ThreadJobsObserver } from '@postrider/runtime/thread-observer'
import { createThreadPool, type ThreadPool } from '@postrider/runtime/thread-pool'
import type { RenderedTemplate, TemplateFailure, TemplateInput } from './render-template.ts'

export interface TemplateRenderer extends Service {
  /**
   * Callers take turns. Throws 429 `rate_limited` when too much of one caller's waits, and 503 when
   * stopped.
   */
  render(caller: string, input: TemplateInput): Promise<RenderedTemplate>
}

const THREADS = 2
const CPU_MS = 1_500
/** A caller of the API waits for the answer. */
const TIME_MS = 10_000
const WAITING_PER_CALLER_MAX = 1_000
/** A machine may be suspended for a moment, which is no fault of the template. */
const TRIES = 2

type Pool = ThreadPool<TemplateInput, RenderedTemplate>

function createPool(observer: ThreadJobsObserver | undefined): Pool {
  return createThreadPool({
    name: 'templates',
    module: new URL('./render-main.ts', import.meta.url),
    threads: THREADS,
    cpuMs: CPU_MS,
    timeMs: TIME_MS,
    resourceLimits: { maxOldGenerationSizeMb: 192, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 },
    waitingPerCallerMax: WAITING_PER_CALLER_MAX,
    observer,
  })
}

export function createTemplateRenderer(
  o: { readonly observer?: ThreadJobsObserver; readonly pool?: Pool } = {},
): TemplateRenderer {
  const pool = o.pool ?? createPool(o.observer)
  async function renderOnce(caller: string, input: TemplateInput): Promise<RenderedTemplate> {
    const outcome = await pool.run(caller, input)
    if (outcome.kind === 'done') return outcome.output
    return outcome.limit === 'memory'
      ? failed('takes too much memory', false)
      : failed('takes too long', outcome.limit === 'time')
  }

  return {
    ...pool,
    async render(caller, input) {
      let rendered = await renderOnce(caller, input)
      for (let i = 1; i < TRIES && !rendered.ok && rendered.isTime; i++)
        rendered = await renderOnce(caller, input)
      return rendered
    },
  }
}

function failed(problem: string, isTime: boolean): TemplateFailure {
  return { ok: false, problem, isTime }
}
