/**
 * Reads messages of others in threads with limits of time and memory. A message always yields a
 * result: of one that overruns them the headers, read by a thread with limits of its own, and if even
 * these do, nothing but the problem. Callers take turns; each has one message read at a time.
 */
import type { Service } from '../../platform/service.ts'
import { createThreadPool, type ThreadPool } from '../../platform/thread-pool.ts'
import { FALLBACK_LIMITS, type ParseJob } from './parse-job.ts'
import type { ParsedMessage } from './parsed-message.ts'

export interface MessageParser extends Service {
  /** Throws 429 `rate_limited` when too much of one caller's waits, and 503 when stopped. */
  parse(caller: string, raw: Uint8Array): Promise<ParsedMessage>
}

type Pool = ThreadPool<ParseJob, ParsedMessage>

const NAME = 'message-parser'
const THREADS = 2
const WAITING_PER_CALLER_MAX = 1_000
/** 25 MiB of anything take a twentieth of it. */
const TIMEOUT_MS = 10_000
const FALLBACK_TIMEOUT_MS = 3_000

function createPools(): { readonly whole: Pool; readonly headers: Pool } {
  const common = {
    module: new URL('./parse-main.ts', import.meta.url),
    threads: THREADS,
    waitingPerCallerMax: WAITING_PER_CALLER_MAX,
  }
  return {
    whole: createThreadPool({
      ...common,
      name: NAME,
      timeoutMs: TIMEOUT_MS,
      resourceLimits: { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32 },
    }),
    headers: createThreadPool({
      ...common,
      name: `${NAME}-headers`,
      timeoutMs: FALLBACK_TIMEOUT_MS,
      resourceLimits: { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 16 },
    }),
  }
}

export function createMessageParser({ whole, headers } = createPools()): MessageParser {
  return {
    name: NAME,
    async start() {
      await Promise.all([whole.start(), headers.start()])
    },
    async stop() {
      await Promise.all([whole.stop(), headers.stop()])
    },
    async parse(caller, raw) {
      const outcome = await whole.run(caller, { raw: alone(raw) })
      if (outcome.kind === 'done') return outcome.output
      const problem = `The message takes too much ${outcome.limit} to read`
      const beginning = raw.slice(0, FALLBACK_LIMITS.headerBytesMax * 2)
      const fallback = await headers.run(caller, { raw: alone(beginning), problem })
      return fallback.kind === 'done' ? fallback.output : unread(problem)
    },
  }
}

/** A view would be sent with everything around it. */
function alone(raw: Uint8Array): Uint8Array {
  return raw.byteLength === raw.buffer.byteLength ? raw : new Uint8Array(raw)
}

function unread(problem: string): ParsedMessage {
  return {
    messageId: '',
    inReplyTo: '',
    references: [],
    from: { email: '', name: '' },
    to: [],
    cc: [],
    replyTo: [],
    subject: '',
    text: '',
    html: '',
    headers: [],
    attachments: [],
    isAutoReply: false,
    reports: [],
    problem,
  }
}
