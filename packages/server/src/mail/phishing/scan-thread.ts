/** The thread that scans: one content in, one result out. Started by `scan-threads.ts`. */
import { parentPort } from 'node:worker_threads'
import type { ScannedContent } from './content.ts'
import { createKnownHosts } from './known-hosts.ts'
import { scanContent } from './scan-content.ts'

const knownHosts = createKnownHosts()
parentPort?.on('message', (content: ScannedContent) => {
  parentPort?.postMessage(scanContent(knownHosts, content))
})
