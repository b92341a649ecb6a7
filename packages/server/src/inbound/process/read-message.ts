/**
 * Makes of a message that was received what is to be recorded of it. That a server or its DNS is slow, or
 * a message cannot be read, is part of the answer: nothing but a stop of this process makes it fail.
 */

import {
  type Authentication,
  type MessageParser,
  type ParsedMessage,
  unreadMessage,
} from '@postrider/mail'
import { createBoundedMap } from '@postrider/runtime/bounded-map'
import type { Clock } from '../../platform/clock.ts'
import { timeOfUlid } from '../../platform/ids.ts'
import { startTrace } from '../../platform/trace.ts'
import type { RecipientKey, ReturnPathTokens } from '../../sending/index.ts'
import type { StoredMessage } from '../messages/message-store.ts'
import type { FinishedMessage } from './finish-messages.ts'
import { type DetailsOptions, incomingDetails } from './incoming-event.ts'
import { summaryOf } from './message-summary.ts'
import { createParseOnce } from './parse-once.ts'
import type { ClaimedMessage } from './queue-store.ts'
import { reportsOf } from './report-facts.ts'

export interface MessageReader {
  read(
    claim: ClaimedMessage,
    message: StoredMessage & { readonly raw: Buffer },
  ): Promise<FinishedMessage>
}

export interface MessageReaderDeps extends DetailsOptions {
  readonly clock: Clock
  readonly parser: Pick<MessageParser, 'parse'>
  readonly authenticate: Authenticate
  readonly returnPaths: Pick<ReturnPathTokens, 'read'>
}

/**
 * One that was taken more often ends processes, or is in the way of its own record. Processes end for
 * other reasons, too, some of them many times in a row.
 */
export const READ_TRIES_MAX = 6

export function createMessageReader(deps: MessageReaderDeps): MessageReader {
  const { clock } = deps
  const parseOnce = createParseOnce(deps.parser)
  const authenticate = createAuthenticateOnce(deps.authenticate)
  return {
    async read(claim, message) {
      const { tenantId, receivedAtMicros, owner } = message
      const isRead = claim.tries <= READ_TRIES_MAX
      const parse = async () => (isRead ? await parseOnce(message) : UNREAD)
      const place = returnedTo(deps.returnPaths, message)
      const reports = ({ reports }: ParsedMessage) =>
        reportsOf(tenantId, receivedAtMicros, reports, place)
      const nowMs = clock.now().getTime()
      const lookAgainMs = lookAgainAfter(nowMs - Number(receivedAtMicros / 1000n))
      const authenticateMs = authenticateWithin(nowMs - timeOfUlid(message.inboundId).getTime())
      if (message.reportedAt !== null)
        return {
          claim,
          isFirst: false,
          event: undefined,
          reports: reports(await parse()),
          problem: undefined,
          summary: undefined,
          lookAgainMs,
        }
      const parsed = await parse()
      // A report of what was sent is no mail to anybody.
      if (place !== undefined && parsed.reports.length > 0)
        return {
          claim,
          isFirst: true,
          event: undefined,
          reports: reports(parsed),
          problem: parsed.problem,
          summary: summaryOf(parsed, undefined),
          lookAgainMs,
        }
      const authentication = isRead ? await authenticate(message, parsed, authenticateMs) : UNKNOWN
      const details = incomingDetails(message, { parsed, authentication }, deps)
      return {
        claim,
        isFirst: true,
        event: {
          tenantId,
          refId: message.inboundId,
          event: 'INCOMING_EMAIL',
          success: true,
          eventAtMicros: clock.nowMicros(),
          details,
          traceparent: startTrace(),
          owner,
        },
        reports: reports(parsed),
        problem: details.problem,
        summary: summaryOf(parsed, authentication),
        lookAgainMs,
      }
    },
  }
}

const AUTHENTICATE_MS = 10_000
const LATE_MS = 15_000
const AUTHENTICATE_LATE_MS = 2_000

/**
 * How long name servers are waited for. Senders choose which these are: by a few messages a second whose
 * name servers are silent, one could hold all the places of a tenant, so that its mail comes hours late.
 */
function authenticateWithin(waitedMs: number): number {
  return waitedMs > LATE_MS ? AUTHENTICATE_LATE_MS : AUTHENTICATE_MS
}

const REPORT_MS = 24 * 3_600_000
const LOOK_MS = 1_000
const LOOK_MS_MAX = 30 * 60_000

/** As long again as it has waited. */
function lookAgainAfter(ageMs: number): number | undefined {
  if (ageMs > REPORT_MS) return undefined
  return Math.min(Math.max(ageMs, LOOK_MS), LOOK_MS_MAX)
}

const NOTHING = { result: 'none' } as const
const UNKNOWN: Authentication = { spf: NOTHING, dkim: [], dmarc: NOTHING, arc: NOTHING }

const UNREAD = unreadMessage(`The message could not be read ${READ_TRIES_MAX} times`)

type Authenticate = (
  message: StoredMessage & { readonly raw: Buffer },
  parsed: ParsedMessage,
  /** How long name servers are waited for. */
  timeoutMs: number,
) => Promise<Authentication>

/** More than are read at once. */
const MESSAGES_MAX = 256

/**
 * One message that goes to many webhooks of a tenant is authenticated once, as far as they are read by one
 * process at about one time: a hundred recipients are not to make a hundred times as many questions of
 * name servers that its sender has chosen.
 */
function createAuthenticateOnce(authenticate: Authenticate): Authenticate {
  const known = createBoundedMap<string, ReturnType<Authenticate>>(MESSAGES_MAX)
  return (message, parsed, timeoutMs) => {
    const key = `${message.tenantId} ${message.rawId}`
    const before = known.get(key)
    if (before !== undefined) return before
    const found = authenticate(message, parsed, timeoutMs)
    known.set(key, found)
    found.catch(() => known.delete(key))
    return found
  }
}

/** Whose copy a received message comes back from: all of its recipients are return paths of ours. */
function returnedTo(
  tokens: Pick<ReturnPathTokens, 'read'>,
  { tenantId, envelope }: Pick<StoredMessage, 'tenantId' | 'envelope'>,
): RecipientKey | undefined {
  const places = (envelope?.to ?? []).map((address) =>
    tokens.read(tenantId, address.slice(0, Math.max(0, address.lastIndexOf('@')))),
  )
  return places.includes(undefined) ? undefined : places[0]
}
