/** The thread in which templates are rendered: answers each job with what came of its first data, as many as a turn takes. */
import { answerJobs, totalUs } from '@postrider/runtime/thread-jobs'
import { createRenderTemplate, type RenderedTemplate } from './render-template.ts'
import type { RenderedTurn, TemplateJob } from './template-renderer.ts'

/** Others wait for the thread meanwhile. */
const TURN_MS = 100
/** What is rendered is in memory until the turn ends. */
const TURN_CHARS = 4_000_000

const render = createRenderTemplate()

answerJobs(({ each = [{}], ...input }: TemplateJob): { readonly output: RenderedTurn } => {
  const startedUs = totalUs(process.threadCpuUsage())
  const usedMs = () => (totalUs(process.threadCpuUsage()) - startedUs) / 1000
  const rendered: RenderedTemplate[] = []
  let chars = 0
  for (const own of each) {
    const data = input.data === undefined ? {} : { data: { ...input.data, ...own } }
    const one = render({ ...input, ...data })
    rendered.push(one)
    if (one.ok) chars += (one.text?.length ?? 0) + (one.html?.length ?? 0)
    if (usedMs() >= TURN_MS || chars >= TURN_CHARS) break
  }
  return { output: { rendered, cpuMs: usedMs() } }
})
