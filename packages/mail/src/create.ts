/** Makes the threads that work on mail for every role: templates, links in HTML, received messages. */
import type { ThreadJobsObserver } from '@postrider/runtime/thread-observer'
import { createMessageParser } from './parse/message-parser.ts'
import { createLinkFinder } from './rewrite/link-finder.ts'
import { createTemplateRenderer } from './template/template-renderer.ts'

export function createMail(deps: { readonly threadJobs: ThreadJobsObserver }) {
  const observer = deps.threadJobs
  const templates = createTemplateRenderer({ observer })
  const links = createLinkFinder({ observer })
  const parser = createMessageParser({ observer })
  return { templates, links, parser, services: [templates, links, parser] }
}
