/**
 * Does what a recipient of test mail would do (docs/reference/test-mode.md#events-on-demand): nobody has the mail.
 *
 * An open and a click are recorded as hits, a bounce and a complaint are reports of the simulator. From there on
 * nothing is special: they are judged, told and kept as those of other mail are.
 */
import type { SimulatedEvent, SimulateEventBody } from '@postrider/contract'
import { addressKeyOf, parseAddress } from '@postrider/mail'
import type { FeedbackInbox } from '../../feedback/index.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Db } from '../../platform/db/index.ts'
import { ApiError, validationError } from '../../platform/errors.ts'
import { dayOfUlid, isTestId, isUlid, newUlid } from '../../platform/ids.ts'
import type { RateLimit } from '../../platform/limits/rate-limit.ts'
import { reportLater, simulatedBrowser } from '../../relays/index.ts'
import {
  type EmailTracks,
  findTracks,
  type RecipientState,
  readEmail,
  selectRecipients,
} from '../../sending/index.ts'
import type { HitRecorder } from '../record/record-hits.ts'

export interface SimulateEventDeps {
  readonly db: Db
  readonly clock: Clock
  readonly recorder: Pick<HitRecorder, 'record'>
  readonly reports: Pick<FeedbackInbox, 'store'>
  readonly uses: RateLimit
}

interface Copy {
  readonly tenantId: string
  readonly refId: string
  readonly n: number
}

/** Throws `not_found`, `validation_failed`, and `conflict` for what cannot happen to the email. */
export async function simulateEvent(
  deps: SimulateEventDeps,
  email: { readonly tenantId: string; readonly refId: string },
  { event, recipient: wanted, url }: SimulateEventBody,
): Promise<SimulatedEvent> {
  const { tenantId, refId } = email
  if (url !== undefined && event !== 'click')
    throw validationError({ path: '/url', message: 'is for clicks alone: leave it out' })
  const found = isUlid(refId)
    ? await readEmail(deps.db, tenantId, { refId, day: dayOfUlid(refId) })
    : undefined
  if (found === undefined) throw new ApiError('not_found')
  if (!isTestId(found.mailerId)) throw conflict(NOT_TEST_MAIL)
  const { n, recipient } = choose(await selectRecipients(deps.db, tenantId, refId), wanted)
  const { status } = recipient
  if (status !== 'delivered' && status !== 'sent')
    throw conflict(`The mail to ${recipient.email} is ${status}: only delivered mail gets events`)
  await deps.uses.use(tenantId)
  const copy = { tenantId, refId, n }
  const simulated = { event, recipient: recipient.email }
  switch (event) {
    case 'open':
    case 'click': {
      const tracks = await findTracks(deps.db, copy)
      if (tracks === undefined) throw new ApiError('content_removed')
      const link = event === 'click' ? linkOf(tracks, url) : opened(tracks)
      await deps.recorder.record(hitOf(deps, copy, { kind: event, link }))
      const followed = tracks.links.find((one) => one.link === link)
      return event === 'click' ? { ...simulated, url: followed?.url ?? '' } : simulated
    }
    case 'bounce':
    case 'complaint': {
      // Calls at once may all find it delivered, and a mail bounces once.
      const id = event === 'bounce' ? event : newUlid()
      const at = { nowMs: deps.clock.now().getTime(), id }
      const body = reportLater({ ...copy, email: recipient.email }, event, at)
      await deps.reports.store({ tenantId, kind: 'simulator', body })
      return simulated
    }
    default:
      return event satisfies never
  }
}

const NOT_TEST_MAIL =
  'The email is no test mail: what happens to real mail cannot be simulated. Send one with a key of mode "test"'

function conflict(message: string): ApiError {
  return new ApiError('conflict', { message })
}

function choose(recipients: readonly RecipientState[], wanted: string | undefined) {
  const [only, ...others] = recipients
  if (only === undefined) throw new ApiError('not_found')
  if (wanted === undefined) {
    if (others.length === 0) return { n: 0, recipient: only }
    const message = `is required: the email has ${recipients.length} recipients`
    throw validationError({ path: '/recipient', message })
  }
  const n = recipients.findIndex(({ email }) => keyOf(email) === keyOf(wanted))
  const recipient = recipients[n]
  if (recipient !== undefined) return { n, recipient }
  throw validationError({ path: '/recipient', message: 'is no recipient of this email' })
}

function keyOf(email: string): string {
  const parsed = parseAddress(email)
  return parsed.ok ? addressKeyOf(parsed.address.address) : email
}

/** The place in a token that an open has. */
function opened({ isOpenTracked }: EmailTracks): number {
  if (isOpenTracked) return 0
  throw conflict('Nobody can see opens of this email: send it with settings.open_tracking')
}

/** The number of the link, the first where none is named. */
function linkOf({ links }: EmailTracks, url: string | undefined): number {
  if (links.length === 0)
    throw conflict(
      'The email has no tracked link: send it with settings.click_tracking, and a link',
    )
  const found = url === undefined ? links[0] : links.find((one) => one.url === url)
  if (found !== undefined) return found.link
  throw validationError({ path: '/url', message: 'is no tracked link of this email' })
}

function hitOf(
  { clock }: SimulateEventDeps,
  copy: Copy,
  { kind, link }: { readonly kind: 'open' | 'click'; readonly link: number },
) {
  return {
    ...copy,
    ...{ kind, link, hitId: newUlid(), atMicros: clock.nowMicros() },
    ...{ ip: simulatedBrowser.ip, userAgent: simulatedBrowser.userAgent, purpose: '' },
  }
}
