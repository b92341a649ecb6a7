/**
 * Takes the mail of programs that have logged in (docs/submission.md): sender, recipients, and the message,
 * from its first byte to its answer. A 250 means what a 202 of sendEmail means: it is committed.
 */
import { parseAddress } from '@postrider/mail'
import type { ByteLimiter } from '@postrider/runtime/byte-limiter'
import { withTimeout } from '@postrider/runtime/timeout'
import type { SMTPServerAddress, SMTPServerDataStream } from 'smtp-server'
import type { Logger } from '../platform/log.ts'
import type { DiskGuard } from '../platform/process/disk-guard.ts'
import { WORTH } from '../platform/smtp-server/limited-parser.ts'
import { createMessageBuffer } from '../platform/smtp-server/message-buffer.ts'
import { type Received, receiveMessage } from '../platform/smtp-server/receive-message.ts'
import type { ReceiveThrottle } from '../platform/smtp-server/receive-throttle.ts'
import type { Connection } from '../platform/smtp-server/smtp-connection.ts'
import type { Reply } from '../platform/smtp-server/smtp-listener.ts'
import type { AcceptSubmitted } from '../sending/index.ts'
import type { SubmissionLimits } from './limits.ts'
import type { Logins } from './log-in.ts'
import type { MessageOutcome, SubmissionObserver } from './observe-submission.ts'
import { notNow, replyOfRefusal } from './reply-of-refusal.ts'

export interface AcceptMailDeps {
  readonly bytesMax: number
  readonly limits: SubmissionLimits
  readonly budget: ByteLimiter
  readonly turns: ReceiveThrottle
  readonly disk: Pick<DiskGuard, 'isOpen'>
  readonly logins: Logins
  readonly submit: AcceptSubmitted
  readonly monotonicMs: () => number
  readonly observe: SubmissionObserver
  readonly log: Logger
}

interface Ended {
  readonly outcome: MessageOutcome
  /** Undefined: nobody is there. */
  readonly reply?: Reply
  readonly refId?: string
}

const NOTHING = Buffer.alloc(0)
const ADDRESS_CHARS_MAX = 320
const OK: Reply = { code: 250, text: '2.1.0 OK' }
const RECIPIENT_OK: Reply = { code: 250, text: '2.1.5 OK' }
const NO_ROOM: Reply = { code: 452, text: '4.3.1 No room at the moment, try again later' }
const TOO_LARGE: Reply = { code: 552, text: '5.3.4 Message too large' }
const REFUSED: Record<Exclude<Received['kind'], 'whole'>, Ended> = {
  too_large: { outcome: 'too_large', reply: TOO_LARGE },
  endless: { outcome: 'too_large', reply: { ...TOO_LARGE, isLast: true } },
  shredded: {
    outcome: 'malformed',
    reply: { code: 554, text: '5.6.0 Too many lines begin with a dot', isLast: true },
  },
  no_room: { outcome: 'no_room', reply: NO_ROOM },
  cut: { outcome: 'cut' },
}
const BARE_LINE_ENDS: Ended = {
  outcome: 'malformed',
  reply: { code: 550, text: '5.6.0 The message has a bare CR or LF: lines end with CRLF' },
}

/** The name in it does not count: mail goes out by the mailer of the header field From. */
export function acceptSender(
  { bytesMax, budget, disk, logins }: AcceptMailDeps,
  connection: Connection,
  { address, args }: SMTPServerAddress,
): Reply {
  if (address.length > ADDRESS_CHARS_MAX) return { code: 501, text: '5.1.7 Address too long' }
  const declared = args === false ? 0 : Number(args.SIZE ?? 0)
  const hasRoom = budget.hasRoom(logins.tenantOf(connection), Math.min(declared, bytesMax))
  return disk.isOpen() && hasRoom ? OK : NO_ROOM
}

export async function acceptRecipient(given: string): Promise<Reply> {
  const parsed = parseAddress(given)
  if (parsed.ok) return RECIPIENT_OK
  return { code: 553, text: `5.1.3 The address of the recipient ${parsed.problem}` }
}

export async function acceptMessage(
  deps: AcceptMailDeps,
  connection: Connection,
  stream: SMTPServerDataStream,
): Promise<Reply | undefined> {
  const { facts } = connection
  const tenantId = deps.logins.tenantOf(connection)
  const startedMs = deps.monotonicMs()
  let bareLineEnds = 0
  const buffer = createMessageBuffer({
    ...deps,
    before: NOTHING,
    address: tenantId,
    madeWhole(lineEnds) {
      bareLineEnds += lineEnds
      facts.workLimiter.spend(lineEnds * WORTH.madeLineEnd)
    },
  })
  let isSubmitted = false
  /** It takes its memory until it has come to an end, also where its answer did not wait for it. */
  const releaseAfter = (submitted: Promise<unknown>) => {
    isSubmitted = true
    submitted.then(buffer.release, buffer.release)
  }
  facts.data = { sinceMs: startedMs, bytes: () => stream.byteLength }
  try {
    const received = await receiveMessage(stream, { ...deps, buffer, address: tenantId })
    facts.data = undefined
    facts.isStoring = true
    const ended =
      received.kind !== 'whole'
        ? REFUSED[received.kind]
        : bareLineEnds > 0
          ? BARE_LINE_ENDS
          : await takeWhole(deps, connection, { raw: received.raw, releaseAfter })
    tell(deps, connection, ended, stream.byteLength, deps.monotonicMs() - startedMs)
    return ended.reply
  } finally {
    facts.data = undefined
    facts.isStoring = false
    facts.idleCommands = 0
    if (!isSubmitted) buffer.release()
  }
}

async function takeWhole(
  deps: AcceptMailDeps,
  connection: Connection,
  o: {
    readonly raw: Buffer
    readonly releaseAfter: (submitted: Promise<unknown>) => void
  },
): Promise<Ended> {
  const { logins, log, limits, submit } = deps
  const refusal = await logins.checkAgain(connection)
  if (refusal !== undefined) return { outcome: 'refused', reply: { ...refusal, isLast: true } }
  const recipients = connection.session.envelope.rcptTo.map(({ address }) => address)
  try {
    const [tenantId, isTest] = [logins.tenantOf(connection), logins.isTest(connection)]
    const lateMs = deps.monotonicMs() + limits.storeMsMax
    const isLate = () => deps.monotonicMs() >= lateMs
    const submitted = submit({ tenantId, isTest, raw: o.raw, recipients, isLate })
    o.releaseAfter(submitted)
    // No commit begins any more after the first of these times, and each has ended after the second.
    const outcome = await withTimeout(submitted, limits.storeMsMax + limits.commitMsMax)
    if (outcome.kind === 'refused') {
      const [code, enhanced] = outcome.isTooLarge ? [552, '5.3.4'] : [550, '5.6.0']
      const text = `${enhanced} The message ${outcome.problem}`
      return { outcome: outcome.isTooLarge ? 'too_large' : 'refused', reply: { code, text } }
    }
    const { refId, leftOut } = outcome
    const note = leftOut === undefined ? '' : ` (left out: ${leftOut})`
    const text = `2.0.0 Ok: queued as ${refId}${note}`
    return { outcome: 'accepted', reply: { code: 250, text }, refId }
  } catch (error) {
    const reply = replyOfRefusal(error)
    if (reply !== undefined) return { outcome: 'refused', reply }
    log.warn({ err: error, connection_id: connection.id }, 'submission_message.not_stored')
    return { outcome: 'not_stored', reply: notNow }
  }
}

function tell(
  { observe, log, logins }: AcceptMailDeps,
  connection: Connection,
  { outcome, refId, reply }: Ended,
  bytes: number,
  durationMs: number,
): void {
  observe.message({ outcome, bytes, durationMs })
  log.info(
    {
      connection_id: connection.id,
      remote_ip: connection.remoteAddress,
      tenant_id: logins.tenantOf(connection),
      bytes,
      outcome,
      ...(refId === undefined ? {} : { ref_id: refId }),
      ...(outcome === 'refused' ? { reply: reply?.text } : {}),
      duration_ms: Math.round(durationMs),
    },
    'submission_message.finished',
  )
}
