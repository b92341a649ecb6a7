/**
 * Scans content for phishing: small content where it is, the rest in threads with limits.
 *
 * Ordinary content costs some 50 µs and 5 µs more for each link, which is what passing it to a thread
 * and back costs as well; the worst that is scanned in place, a new host name every six characters,
 * takes under 10 ms. Content that overruns a limit cannot be checked, which is a result and never a pass.
 *
 * Tenants take turns, and each has one content scanned at a time. Large content has threads of its own,
 * which leave the processor to others: content of ordinary length does not wait for it.
 */
import type { Service } from '@postrider/runtime/service'
import type { ThreadJobsObserver } from '@postrider/runtime/thread-observer'
import { createThreadPool, type ThreadPool } from '@postrider/runtime/thread-pool'
import type { ScannedContent, ScanResult } from './content.ts'
import { createKnownHosts } from './known-hosts.ts'
import { scanContent } from './scan-content.ts'
import type { ScanThreadData } from './scan-main.ts'

export interface PhishingScanner extends Service {
  /**
   * Rejects when nothing can be found out now: no thread to be had, too much of this caller's waits, or
   * stopped.
   */
  scan(caller: string, content: ScannedContent): Promise<ScanResult>
}

const IN_PLACE_CHARS_MAX = 16 * 1024
const LARGE_CHARS = 512 * 1024
const THREADS = 2
/** Large content has the processor last. */
const LARGE_TIME_MS = 60_000
/**
 * V8 may end the process instead of the thread when memory runs out at a bad moment. The most that a
 * request body can bring, 30 MB of two-byte text, takes under half of it.
 */
const HEAP_MB_MAX = 512
const WAITING_PER_CALLER_MAX = 1_000
/** A machine may be suspended for a moment, which is no fault of the content. */
const TRIES = 2

type Pool = ThreadPool<ScannedContent, ScanResult>

interface Pools {
  readonly small: Pool
  readonly large: Pool
}

function createPools(observer: ThreadJobsObserver | undefined): Pools {
  const create = (name: string, data: ScanThreadData, timeMs?: number): Pool =>
    createThreadPool({
      ...{ name, data, observer },
      ...(timeMs === undefined ? {} : { timeMs }),
      module: new URL('./scan-main.ts', import.meta.url),
      threads: THREADS,
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB_MAX, maxYoungGenerationSizeMb: 16 },
      waitingPerCallerMax: WAITING_PER_CALLER_MAX,
    })
  return {
    small: create('phishing', { isLowered: false }),
    large: create('phishing-large', { isLowered: true }, LARGE_TIME_MS),
  }
}

export function createPhishingScanner(
  o: { readonly observer?: ThreadJobsObserver; readonly pools?: Pools } = {},
): PhishingScanner {
  const knownHosts = createKnownHosts()
  const { small, large } = o.pools ?? createPools(o.observer)
  const all = [small, large]

  return {
    name: 'phishing-scanner',
    async start() {
      await Promise.all(all.map((pool) => pool.start()))
    },
    async stop() {
      await Promise.all(all.map((pool) => pool.stop()))
    },
    async scan(caller, content) {
      const chars = charsOf(content)
      if (chars <= IN_PLACE_CHARS_MAX) return scanContent(knownHosts, content)
      const pool = chars < LARGE_CHARS ? small : large
      for (let i = 0; i < TRIES; i += 1) {
        const outcome = await pool.run(caller, content)
        if (outcome.kind === 'done') return outcome.output
        if (outcome.limit !== 'time') break
      }
      return { kind: 'too-much' }
    },
  }
}

function charsOf({ subject, text = '', html }: ScannedContent): number {
  return html.reduce((sum, one) => sum + one.length, subject.length + text.length)
}
