/**
 * Scans content for phishing: small content where it is, the rest in a thread.
 *
 * Ordinary content costs some 50 µs and 5 µs more for each link, which is what passing it to a thread
 * and back costs as well; the worst that is scanned in place, a new host name every six characters,
 * takes under 10 ms. What a thread does not manage is tried once more in a fresh one; content that
 * it does not manage twice cannot be checked, which is a result and never a pass.
 */
import type { Service } from '../../platform/service.ts'
import type { ScannedContent, ScanResult } from './content.ts'
import { createKnownHosts } from './known-hosts.ts'
import { scanContent } from './scan-content.ts'
import { createScanThreads, type ThreadResult } from './scan-threads.ts'

export interface PhishingScanner extends Service {
  /** Rejects when nothing can be found out now: no thread to be had, or stopped. */
  scan(content: ScannedContent): Promise<ScanResult>
}

const IN_PLACE_CHARS_MAX = 16 * 1024
const THREADS_MAX = 2
const TIMEOUT_MS = 5_000
/**
 * A last resort: V8 may end the process instead of the thread when memory runs out at a bad moment.
 * The most that a request body can bring, 30 MB of two-byte text, takes under half of it.
 */
const HEAP_MB_MAX = 512
const TRIES = 2

export function createPhishingScanner(o: { readonly timeoutMs?: number } = {}): PhishingScanner {
  const knownHosts = createKnownHosts()
  const threads = createScanThreads({
    threadsMax: THREADS_MAX,
    timeoutMs: o.timeoutMs ?? TIMEOUT_MS,
    heapMbMax: HEAP_MB_MAX,
  })

  return {
    name: 'phishing-scanner',
    start: async () => undefined,
    stop: () => threads.stop(),
    async scan(content) {
      if (charsOf(content) <= IN_PLACE_CHARS_MAX) return scanContent(knownHosts, content)
      let result: ThreadResult = { kind: 'overran' }
      for (let n = 0; n < TRIES && result.kind === 'overran'; n += 1)
        result = await threads.scan(content)
      return result.kind === 'overran' ? { kind: 'too-much' } : result
    },
  }
}

function charsOf({ subject, text = '', html }: ScannedContent): number {
  return html.reduce((sum, one) => sum + one.length, subject.length + text.length)
}
