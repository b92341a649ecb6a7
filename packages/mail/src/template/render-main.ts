/** The thread in which templates are rendered: answers each input with what came of it. */
import { answerJobs } from '@postrider/runtime/thread-jobs'
import { createRenderTemplate, type TemplateInput } from './render-template.ts'

const render = createRenderTemplate()
answerJobs((input: TemplateInput) => ({ output: render(input) }))
