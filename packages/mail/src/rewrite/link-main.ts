/** The thread in which places of long HTML are found: answers each body with them. */
import { answerJobs } from '@postrider/runtime/thread-jobs'
import { findLinkOffsets } from './find-link-offsets.ts'

answerJobs((html: string) => ({ output: findLinkOffsets(html) }))
