/** Makes the threads that work on mail for every role: templates, links in HTML, received and submitted messages. */
import type { ThreadJobsObserver } from '@postrider/runtime/thread-observer'
import { createMessageParser } from './parse/message-parser.ts'
import { createRawReader } from './raw/raw-reader.ts'
import { createLinkFinder } from './rewrite/link-finder.ts'
import { createTemplateRenderer } from './template/template-renderer.ts'

export function createMail(deps: { readonly threadJobs: ThreadJobsObserver }) {
  const observer = deps.threadJobs
  const templates = createTemplateRenderer({ observer })
  const links = createLinkFinder({ observer })
  const parser = createMessageParser({ observer })
  const rawReader = createRawReader({ observer })
  // Threads that few processes need are started by those who do.
  return { templates, links, parser, rawReader, services: [templates, links, parser] }
}
