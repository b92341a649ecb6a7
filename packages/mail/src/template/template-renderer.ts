/** Templates, rendered in threads with limits: a hostile one costs its tenant time and nobody else. */

import type { Service } from '@postrider/runtime/service'
import type { ThreadJobsObserver } from '@postrider/runtime/thread-observer'
import { createThreadPool, type ThreadLimit, type ThreadPool } from '@postrider/runtime/thread-pool'
import type { RenderedTemplate, TemplateFailure, TemplateInput } from './render-template.ts'

type Data = NonNullable<TemplateInput['data']>

/** What one turn of a thread came to. */
export interface RenderedTurn {
  /** Of the first data of the job, in their order. */
  readonly rendered: readonly RenderedTemplate[]
  /** Of the processor, the wait for the turn left out. */
  readonly cpuMs: number
}

export interface TemplateJob extends TemplateInput {
  /** Laid over `data` by top-level key, one after another. Left out: `data` alone. */
  readonly each?: readonly Data[]
}

export interface TemplateRenderer extends Service {
  /**
   * Callers take turns. Throws 429 `rate_limited` when too much of one caller's waits, and 503 when
   * stopped.
   */
  render(caller: string, input: TemplateInput): Promise<RenderedTemplate>
  /**
   * The same templates with each of many data, which are laid over those of `input` by top-level key. A turn renders
   * as many as it has time for, so that a caller with many data waits for few turns of others.
   */
  renderEach(
    caller: string,
    input: TemplateInput,
    each: readonly Data[],
  ): AsyncGenerator<RenderedTurn>
}

const THREADS = 2
const CPU_MS = 1_500
/** A caller of the API waits for the answer. */
const TIME_MS = 10_000
const WAITING_PER_CALLER_MAX = 1_000
/** A machine may be suspended for a moment, which is no fault of the template. */
const TRIES = 2
/** They are copied to the thread, also those that the turn has no time for. */
const EACH_MAX = 100

type Pool = ThreadPool<TemplateJob, RenderedTurn>

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

  async function renderOne(caller: string, job: TemplateJob): Promise<RenderedTurn> {
    let cpuMs = 0
    for (let i = 1; ; i++) {
      const outcome = await pool.run(caller, job)
      const turn = outcome.kind === 'done' ? outcome.output : failedBy(outcome.limit)
      cpuMs += turn.cpuMs
      const isTime = turn.rendered.some((one) => !one.ok && one.isTime)
      if (!isTime || i >= TRIES) return { ...turn, cpuMs }
    }
  }

  async function renderMany(caller: string, job: TemplateJob): Promise<RenderedTurn> {
    const outcome = await pool.run(caller, job)
    if (outcome.kind !== 'done') return { rendered: [], cpuMs: CPU_MS }
    const { rendered, cpuMs } = outcome.output
    const late = rendered.findIndex((one) => !one.ok && one.isTime)
    return { rendered: late < 0 ? rendered : rendered.slice(0, late), cpuMs }
  }

  return {
    ...pool,
    async render(caller, input) {
      const { rendered } = await renderOne(caller, input)
      const [one] = rendered
      if (one === undefined) throw new Error('a turn rendered nothing')
      return one
    },
    async *renderEach(caller, input, each) {
      let [from, atOnce] = [0, EACH_MAX]
      while (from < each.length) {
        const job = { ...input, each: each.slice(from, from + atOnce) }
        const turn = await (atOnce > 1 ? renderMany : renderOne)(caller, job)
        yield turn
        from += turn.rendered.length
        // One of them took too long or too much. When each is alone, it is known which.
        if (turn.rendered.length === 0) atOnce = 1
      }
    },
  }
}

function failedBy(limit: ThreadLimit): RenderedTurn {
  const failure =
    limit === 'memory'
      ? failed('takes too much memory', false)
      : failed('takes too long', limit === 'time')
  return { rendered: [failure], cpuMs: CPU_MS }
}

function failed(problem: string, isTime: boolean): TemplateFailure {
  return { ok: false, problem, isTime }
}
