/** The thread in which places of long HTML are found: answers each body with them. */
import { answerJobs } from '../../platform/thread-jobs.ts'
import { findLinkOffsets } from './find-link-offsets.ts'

answerJobs((html: string) => ({ output: findLinkOffsets(html) }))
