/** The thread in which templates are rendered: answers each input with what came of it. */
import { parentPort } from 'node:worker_threads'
import { threadReady } from '../../platform/thread-pool.ts'
import { createRenderTemplate, type TemplateInput } from './render-template.ts'

const render = createRenderTemplate()
parentPort?.on('message', (input: TemplateInput) => parentPort?.postMessage(render(input)))
parentPort?.postMessage(threadReady)
