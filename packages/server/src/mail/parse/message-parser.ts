/**
 * Reads messages of others in threads with limits of time and memory. A message always yields a
 * result: of one that overruns them, or meets a defect, the headers, read by a thread with limits of its
 * own, and if even these do, nothing but the problem. Callers take turns; each has one message read at a time.
 */
import { ApiError } from '../../platform/errors.ts'
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
      const message = await attempt(whole, caller, { raw: alone(raw) })
      if (typeof message !== 'string') return message
      const beginning = raw.slice(0, FALLBACK_LIMITS.headerBytesMax * 2)
      const job = { raw: alone(beginning), problem: message }
      const fallback = await attempt(headers, caller, job)
      return typeof fallback === 'string' ? unread(message) : fallback
    },
  }
}

/** The message, or why there is none. */
async function attempt(pool: Pool, caller: string, job: ParseJob): Promise<ParsedMessage | string> {
  try {
    const outcome = await pool.run(caller, job)
    if (outcome.kind === 'done') return outcome.output
    return `The message takes too much ${outcome.limit} to read`
  } catch (error) {
    // Refused, not failed: the caller may come again.
    if (error instanceof ApiError) throw error
    return 'The message could not be read'
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
