/** The thread that scans for phishing: answers each content with what is in it. */
import { workerData } from 'node:worker_threads'
import { answerJobs } from '@postrider/runtime/thread-jobs'
import { lowerPriority } from '@postrider/runtime/thread-priority'
import type { ScannedContent } from './content.ts'
import { createKnownHosts } from './known-hosts.ts'
import { scanContent } from './scan-content.ts'

/** Of a thread. */
export interface ScanThreadData {
  /** Threads that are not lowered have the processor first. */
  readonly isLowered: boolean
}

const { isLowered }: ScanThreadData = workerData
if (isLowered) lowerPriority()

const knownHosts = createKnownHosts()
answerJobs((content: ScannedContent) => ({ output: scanContent(knownHosts, content) }))
