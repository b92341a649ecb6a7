/**
 * Tells whose received messages are. What content from outside can make long runs in threads with limits
 * (`authenticate-step.ts`); name servers are asked here, between one run and the next, and nobody else is.
 * A run that is cheap whatever its content (`is-cheap.ts`) takes no thread.
 *
 * Every message has a result. What name servers do not say in time is `temperror`. A message that takes
 * too much processor time or memory can never be verified: its signatures are `permerror`, and its client
 * is checked without it. Callers take turns, and each has one message at a time in a thread; large
 * messages have threads of their own, which leave the processor to others.
 */

import type { DnsAnswer } from '@postrider/runtime/dns'
import { RefusedError } from '@postrider/runtime/refused-error'
import type { Service } from '@postrider/runtime/service'
import type { ThreadJobsObserver } from '@postrider/runtime/thread-observer'
import {
  createThreadPool,
  type ThreadOutcome,
  type ThreadPool,
} from '@postrider/runtime/thread-pool'
import { createNameServerQuestions, type LookupResolver } from './ask-name-servers.ts'
import type { AuthenticateThreadData, MeasuredStep } from './authenticate-main.ts'
import type { AuthenticationJob, Client, Signatures } from './authenticate-step.ts'
import { expectedQuestions, withWalks } from './expected-questions.ts'
import type { Answers } from './lookups.ts'
import type { Authentication } from './result.ts'

export interface AuthenticationInput {
  readonly raw: Uint8Array
  /** Absent for mail of a mailbox. */
  readonly client?: Client | undefined
  /** What its parser has read of it: the first questions follow from that. */
  readonly author: string
  readonly headers: readonly { readonly name: string; readonly value: string }[]
  /** How long name servers are waited for. */
  readonly timeoutMs: number
}

export interface MailAuthenticator extends Service {
  /** Throws 429 `rate_limited` when too much of one caller's waits, and 503 when stopped. */
  authenticate(caller: string, input: AuthenticationInput): Promise<Authentication>
}

type Pool = ThreadPool<AuthenticationJob, MeasuredStep>

interface Pools {
  readonly small: Pool
  readonly large: Pool
}

const NAME = 'mail-authenticator'
const THREADS = 2
const WAITING_PER_CALLER_MAX = 1_000
const LARGE_BYTES = 512 * 1024
/** Large messages have the processor last. */
const LARGE_TIME_MS = 60_000
/** SPF may take ten and their addresses, each signature one, a walk up the author's domain eight. */
const QUESTIONS_MAX = 100
/** Includes within includes have one each. */
const RUNS_MAX = 30
/** For all runs of one message. */
const CPU_MS_MAX = 2_000

function createPools(observer: ThreadJobsObserver | undefined): Pools {
  const create = (name: string, data: AuthenticateThreadData, timeMs?: number): Pool =>
    createThreadPool({
      ...{ name, data, observer },
      ...(timeMs === undefined ? {} : { timeMs }),
      module: new URL('./authenticate-main.ts', import.meta.url),
      threads: THREADS,
      resourceLimits: { maxOldGenerationSizeMb: 192, maxYoungGenerationSizeMb: 32 },
      waitingPerCallerMax: WAITING_PER_CALLER_MAX,
    })
  return {
    small: create(NAME, { isLowered: false }),
    large: create(`${NAME}-large`, { isLowered: true }, LARGE_TIME_MS),
  }
}

export function createMailAuthenticator(o: {
  /** This service, as it greets. */
  readonly name: string
  readonly resolver: LookupResolver
  readonly observer?: ThreadJobsObserver
  readonly pools?: Pools
  readonly monotonicMs?: () => number
}): MailAuthenticator {
  const { name, resolver, monotonicMs = () => performance.now() } = o
  const { small, large } = o.pools ?? createPools(o.observer)
  const all = [small, large]

  async function authenticate(caller: string, input: AuthenticationInput): Promise<Authentication> {
    const { client, timeoutMs: waitMsMax } = input
    const limits = { questionsMax: QUESTIONS_MAX, waitMsMax, monotonicMs }
    const questions = createNameServerQuestions({ resolver, ...limits })
    await questions.ask(expectedQuestions({ ...input, senderDomain: senderDomainOf(client) }))
    let signatures: Signatures | undefined
    let known: Authentication | undefined
    let cpuMs = 0
    for (let run = 0; run < RUNS_MAX && cpuMs < CPU_MS_MAX; run += 1) {
      const message = signatures ?? ({ kind: 'raw', raw: input.raw } as const)
      const pool = message.kind === 'raw' && message.raw.length >= LARGE_BYTES ? large : small
      const job = { client, name, message, answers: questions.answers }
      const outcome = isCheap(job) ? await runHere(job) : await attempt(pool, caller, job)
      if (outcome.kind === 'done') {
        const { authentication, open } = outcome.output
        known = authentication
        signatures = outcome.output.signatures
        cpuMs += outcome.output.cpuMs
        if (open.length === 0) return authentication
        await questions.ask(withWalks(open))
      } else if (message.kind === 'raw') signatures = endedBy(outcome)
      else break
    }
    return known ?? UNKNOWN
  }

  return {
    name: NAME,
    async start() {
      // Not with the first message, when others wait for the event loop.
      await Promise.all([loadStep(), ...all.map((pool) => pool.start())])
    },
    async stop() {
      await Promise.all(all.map((pool) => pool.stop()))
    },
    authenticate,
  }
}

/** Only where mail is received: it brings much of others. */
const loadStep = () => import('./authenticate-step.ts')

async function runHere(job: AuthenticationJob): Promise<ThreadOutcome<MeasuredStep>> {
  const { authenticateStep } = await loadStep()
  return { kind: 'done', output: { ...(await authenticateStep(job)), cpuMs: 0 } }
}

type Ended = { readonly kind: 'failed' } | Exclude<ThreadOutcome<never>, { kind: 'done' }>

async function attempt(
  pool: Pool,
  caller: string,
  job: AuthenticationJob,
): Promise<ThreadOutcome<MeasuredStep> | Ended> {
  try {
    if (job.message.kind !== 'raw') return await pool.run(caller, job)
    const raw = new Uint8Array(job.message.raw)
    return await pool.run(caller, { ...job, message: { kind: 'raw', raw } }, [raw.buffer])
  } catch (error) {
    // Refused, not failed: the caller may come again.
    if (error instanceof RefusedError) throw error
    return { kind: 'failed' }
  }
}

function endedBy(ended: Ended): Signatures {
  if (ended.kind === 'failed' || ended.limit === 'time') return { kind: 'temporary' }
  const what = ended.limit === 'cpu' ? 'processor time' : 'memory'
  return { kind: 'unverifiable', why: `it takes too much ${what} to verify` }
}

/** Of the greeting where there is no sender (RFC 7208 §2.4). */
function senderDomainOf(client: Client | undefined): string | undefined {
  if (client === undefined) return undefined
  const { mailFrom, helo } = client
  return mailFrom === '' ? helo : mailFrom.slice(mailFrom.lastIndexOf('@') + 1)
}

const TEMPERROR = { result: 'temperror' } as const
const UNKNOWN: Authentication = {
  spf: TEMPERROR,
  dkim: [{ ...TEMPERROR, domain: '', selector: '' }],
  dmarc: TEMPERROR,
  arc: TEMPERROR,
}

const HEADER_BYTES_MAX = 4 * 1024
/** Of all records together. */
const RECORDS_CHARS_MAX = 2 * 1024
const RECORDS_MAX = 40
const NAMES_SIGNATURE = /dkim-signature|arc-(?:seal|message|authentication)/i

/**
 * Whether a message is authenticated as fast where it is as it is handed to a thread: it has no signature,
 * and little else that its sender has chosen. Then the worst takes a few milliseconds, whatever is in it.
 * The work that grows with the square of something is bounded by the square of the limits here.
 */
export function isCheap({ message, answers }: AuthenticationJob): boolean {
  const isSmall = message.kind !== 'raw' || isPlain(message.raw)
  return isSmall && areShort(answers)
}

/** It has a whole header that is short, and names no signature, however its name is folded. */
function isPlain(raw: Uint8Array): boolean {
  const bytes = Buffer.from(raw.buffer, raw.byteOffset, Math.min(raw.length, HEADER_BYTES_MAX))
  const start = bytes.toString('latin1')
  const end = start.search(/\n\r?\n/)
  return end >= 0 && !NAMES_SIGNATURE.test(start.slice(0, end).replaceAll(/[\r\n]/g, ''))
}

/** A macro repeats what it stands for. */
function areShort(answers: Answers): boolean {
  let chars = 0
  let count = 0
  for (const answer of answers.values())
    for (const record of recordsOf(answer)) {
      const text = typeof record === 'string' ? record : JSON.stringify(record)
      chars += text.length
      count += 1
      if (chars > RECORDS_CHARS_MAX || count > RECORDS_MAX || text.includes('%')) return false
    }
  return true
}

function recordsOf(answer: DnsAnswer<unknown>): readonly unknown[] {
  return answer.kind === 'found' ? answer.records : []
}
