/**
 * Reports what was received, for as long as there is anything: reads several messages at once, and ends
 * those that are read many in one transaction. Told of what this process has stored; what others have
 * it finds by looking.
 *
 * A message whose process died is taken again; after a few times it is reported without being read, so
 * that none is lost and none stops the others. While the database is away nothing is counted against a
 * message.
 */

import type { Service } from '@postrider/runtime/service'
import { waitAtMost } from '@postrider/runtime/timeout'
import type { NoteReports } from '../../feedback/index.ts'
import {
  createGroupCommit,
  type Db,
  isConflict,
  isDatabaseAway,
  isStatementTimeout,
  planByIndex,
  readByIndex,
} from '../../platform/db/index.ts'
import { refusalOf } from '../../platform/errors.ts'
import type { Failpoints } from '../../platform/failpoints.ts'
import type { Logger } from '../../platform/log.ts'
import { createLoop } from '../../platform/work/loop.ts'
import { createPeriodicTask } from '../../platform/work/periodic-task.ts'
import type { Wakeups } from '../../webhooks/index.ts'
import {
  findMessage,
  type LoadedMessage,
  loadMessage,
  loadMessages,
} from '../messages/message-store.ts'
import { type AdmissionLimits, usualAdmission } from './admission-limiter.ts'
import { createMessageClaims } from './claim-messages.ts'
import {
  type FinishDeps,
  type FinishedMessage,
  type FinishResult,
  finishMessages,
} from './finish-messages.ts'
import type { ClaimedMessage } from './queue-store.ts'
import { type MessageReader, READ_TRIES_MAX } from './read-message.ts'

export const reportedResults = [
  'reported',
  /** With a problem. */
  'incomplete',
  /** Its reports alone, once more. */
  'looked_again',
  /** Somebody else has it. */
  'lost',
  /** It is tried again. */
  'failed',
  /** Its day was taken away before it was reported. */
  'gone',
] as const
export type ReportedResult = (typeof reportedResults)[number]

export interface InboundWorker extends Service {
  /** Until nothing is left that is due; answers how many messages that was. */
  runOnce(): Promise<number>
  wake(): void
}

export interface InboundWorkerDeps extends FinishDeps {
  readonly db: Db
  readonly log: Logger
  readonly failpoints: Failpoints
  readonly wakeups: Pick<Wakeups, 'wake'>
  /** After a commit. */
  readonly noteReports: NoteReports
  readonly reader: MessageReader
  /** What this process has just stored, without asking the database. */
  readonly takeStored: (claim: ClaimedMessage) => LoadedMessage | undefined
  readonly observe: (result: ReportedResult, outcomes: FinishResult['outcomes']) => void
  readonly admission?: AdmissionLimits
  readonly leaseMs?: number
}

const SWEEP_MS = 1_000
const LEASE_MS = 30_000
const GROUP_MAX = 32
const GROUP_BYTES_MAX = 4 * 1024 * 1024
/** Is asked of what is not to be read any more: it may be what cannot be had. */
const NOTHING = Buffer.alloc(0)
/** What is being read when a stop is asked for has so long to end. */
const STOP_MS = 10_000

export function createInboundWorker(deps: InboundWorkerDeps): InboundWorker {
  const { db, log, failpoints, observe, admission = usualAdmission, leaseMs = LEASE_MS } = deps
  const messageClaims = createMessageClaims({ db, admission, leaseMs })
  const finishes = createFinishes(deps)
  const load = createLoader({ ...deps, admission })
  const jobs = new Set<Promise<void>>()
  let served = 0

  async function serve(claim: ClaimedMessage): Promise<void> {
    try {
      const message = await load(claim)
      if (message === undefined) return await forget(claim)
      const finished = await deps.reader.read(claim, message)
      const { isFinished, outcomes } = await finishes.add(finished)
      observe(isFinished ? resultOf(finished) : 'lost', outcomes)
      if (isFinished) logFinished(log, finished, outcomes)
    } catch (error) {
      observe('failed', [])
      const { tenantId: tenant_id, inboundId: inbound_id, tries } = claim
      log.warn({ err: error, tenant_id, inbound_id, tries }, 'received_email.not_reported')
      await giveUp(claim, error)
    }
  }

  /** Somebody has taken its day away, by hand. */
  async function forget(claim: ClaimedMessage): Promise<void> {
    const { tenantId: tenant_id, inboundId: inbound_id } = claim
    log.error({ tenant_id, inbound_id }, 'received_email.gone')
    observe('gone', [])
    await messageClaims.drop(claim)
  }

  /** For now. */
  async function giveUp(claim: ClaimedMessage, error: unknown): Promise<void> {
    // Of this process, which cannot go on: the parser is stopped before the worker has ended.
    if (isDatabaseAway(error) || refusalOf(error) !== undefined) {
      loop.backOff()
      return messageClaims.returnLater(claim)
    }
    const isUntried = isConflict(error) || isStatementTimeout(error)
    await messageClaims.putOff(claim, { isUntried }).catch(() => messageClaims.returnLater(claim))
  }

  async function fill(mayGoOn: () => boolean): Promise<void> {
    while (mayGoOn()) {
      const claims = await messageClaims.claim()
      if (claims.length === 0) return
      failpoints.hit('inbound.after_claim')
      for (const claim of claims) begin(claim)
    }
  }

  function begin(claim: ClaimedMessage): void {
    const job = serve(claim).finally(() => {
      jobs.delete(job)
      messageClaims.leave(claim)
      served += 1
      loop.wake()
    })
    jobs.add(job)
  }

  const loop = createLoop({
    ...{ name: 'inbound worker', log, failed: 'inbound.failed', sweepMs: SWEEP_MS },
    pass: fill,
  })

  const renewals = createPeriodicTask({
    name: 'inbound leases',
    log,
    intervalMs: leaseMs / 3,
    round: () => messageClaims.renew(),
    failed: 'inbound.not_renewed',
  })

  return {
    name: loop.name,
    wake: () => loop.wake(),
    async runOnce() {
      const before = served
      for (;;) {
        await fill(() => true)
        if (jobs.size === 0) return served - before
        await Promise.race(jobs)
      }
    },
    async start() {
      await renewals.start()
      await loop.start()
    },
    async stop() {
      await loop.stop()
      await waitAtMost(Promise.all(jobs), STOP_MS)
      await renewals.stop()
      await messageClaims.giveUp().catch((error: unknown) => {
        log.warn({ err: error }, 'inbound.failed')
      })
    },
  }
}

/** Ends messages, those that come together in one transaction. */
function createFinishes(deps: InboundWorkerDeps) {
  const { db, failpoints } = deps
  return createGroupCommit<FinishedMessage, FinishResult>({
    db,
    itemsMax: GROUP_MAX,
    size: { of: ({ claim }) => claim.bytes, max: GROUP_BYTES_MAX },
    async run(tx, finished) {
      const results = await finishMessages(tx, deps, finished)
      failpoints.hit('inbound.before_commit')
      return results
    },
    committed(results) {
      failpoints.hit('inbound.after_commit')
      const touched = results.flatMap((result) => result.touched)
      if (touched.length > 0) deps.wakeups.wake(touched)
      for (const result of results) deps.noteReports(result)
    },
  })
}

/** Loads messages, small ones that come together at once. */
function createLoader({
  db,
  takeStored,
  admission,
}: Pick<InboundWorkerDeps, 'db' | 'takeStored'> & { readonly admission: AdmissionLimits }) {
  const loads = createGroupCommit<ClaimedMessage, LoadedMessage | undefined>({
    db,
    itemsMax: GROUP_MAX,
    size: { of: ({ bytes }) => bytes, max: GROUP_BYTES_MAX },
    async run(tx, claims) {
      const [, messages] = await Promise.all([planByIndex(tx), loadMessages(tx, claims)])
      return messages
    },
  })
  return async (claim: ClaimedMessage): Promise<LoadedMessage | undefined> => {
    const stored = takeStored(claim)
    if (stored !== undefined) return stored
    if (claim.tries > READ_TRIES_MAX) {
      const message = await readByIndex(db, (tx) => findMessage(tx, claim))
      return message && { ...message, raw: NOTHING }
    }
    // A large message would delay those that are loaded with it.
    if (claim.bytes < admission.largeBytesMin) return loads.add(claim)
    return readByIndex(db, (tx) => loadMessage(tx, claim))
  }
}

function resultOf({ isFirst, problem }: FinishedMessage): ReportedResult {
  if (!isFirst) return 'looked_again'
  return problem === undefined ? 'reported' : 'incomplete'
}

function logFinished(
  log: Logger,
  { claim, isFirst, event, problem }: FinishedMessage,
  outcomes: FinishResult['outcomes'],
): void {
  if (!isFirst) return
  const { tenantId: tenant_id, inboundId: inbound_id, bytes, tries } = claim
  const reports = outcomes.filter((outcome) => outcome === 'other_recipient').length
  if (reports > 0) log.info({ tenant_id, inbound_id, reports }, 'report.other_recipient')
  if (event === undefined) {
    log.info({ tenant_id, inbound_id, bytes, tries, problem }, 'received_email.returned')
    return
  }
  const { owner, traceparent } = event
  const line = { tenant_id, inbound_id, owner, bytes, tries, problem, traceparent }
  log.info(line, 'received_email.reported')
}
