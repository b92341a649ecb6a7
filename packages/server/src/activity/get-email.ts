/**
 * The trace of an email (docs/reference/sending.md#trace): the message, each recipient with its attempts,
 * each event, and each webhook delivery that carried one.
 *
 * It is bounded whatever happened to the email: of what there is more of, the newest is shown, and
 * it says so. An email of another tenant is not found, like one that there never was.
 */
import {
  type GetEmailQuery,
  type TracedEmail,
  tracedAttemptsMax,
  tracedDeliveriesMax,
  tracedEventsMax,
  tracedHitsMax,
  tracedReportsMax,
} from '@postrider/contract'
import { addressKeyOf, parseAddress } from '@postrider/mail'
import { readFactsOf } from '../feedback/index.ts'
import { findInactive } from '../mailers/index.ts'
import { type Db, readInOrder } from '../platform/db/index.ts'
import { ApiError, validationError } from '../platform/errors.ts'
import { dayOfUlid, isUlid, timeOfUlid } from '../platform/ids.ts'
import { dayAt } from '../platform/values/date-time.ts'
import {
  domainFirst,
  findLinks,
  readAttemptsOf,
  readEmail,
  readShownOwn,
  readWaitsOf,
  walkRecipients,
} from '../sending/index.ts'
import { readHitsOf } from '../tracking/index.ts'
import { listDeliveries, readEventsOfEmail } from '../webhooks/index.ts'
import { toTracedEmail } from './trace-wire.ts'

const RECIPIENTS_MAX = 1_000
const SMALLINT_MAX = 32_767
/** Attempts, reports, and hits, of all recipients together; each has a few in any case. */
const SHOWN_MAX = 5_000
const SHOWN_MIN = 5
const DAY_MS = 86_400_000

/** Throws `not_found`; `validation_failed` for a recipient that is no address. */
export async function getEmail(
  { db }: { readonly db: Db },
  tenantId: string,
  refId: string,
  { recipient }: GetEmailQuery,
): Promise<TracedEmail> {
  const addressKey = recipient === undefined ? undefined : readAddressKey(recipient)
  if (!isUlid(refId)) throw new ApiError('not_found')
  const key = { refId, day: dayOfUlid(refId) }
  // A day for clocks that differ.
  const notBefore = dayAt(timeOfUlid(refId).getTime() - DAY_MS)
  const found = await readInOrder(db, async (tx) => {
    const email = await readEmail(tx, tenantId, key)
    if (email === undefined) throw new ApiError('not_found')
    const range = {
      tenantId,
      days: { from: key.day, to: key.day },
      refIdMin: refId,
      below: { refId, n: SMALLINT_MAX },
      limit: RECIPIENTS_MAX,
    }
    const { recipients } = await walkRecipients(tx, 'ref_id', range, {
      refId,
      addressKey,
      domain: undefined,
      type: undefined,
      campaignId: undefined,
      status: undefined,
      delivered: undefined,
      withReason: false,
      inactiveMailers: await findInactive(tx, tenantId),
    })
    const only = addressKey === undefined ? undefined : recipients[0]
    if (addressKey !== undefined && only === undefined) throw new ApiError('not_found')
    const ns = recipients.map(({ n }) => n)
    const perRecipient = Math.max(SHOWN_MIN, Math.floor(SHOWN_MAX / recipients.length))
    const attemptsMax = Math.min(tracedAttemptsMax, perRecipient)
    const hitsMax = Math.min(tracedHitsMax, perRecipient)
    const factsMax = Math.min(tracedReportsMax, perRecipient)
    const [own, attempts, waits, facts, hits, events] = await Promise.all([
      email.hasOwn === null ? new Map() : readShownOwn(tx, tenantId, recipients),
      readAttemptsOf(tx, tenantId, key, ns, attemptsMax + 1),
      readWaitsOf(tx, tenantId, refId),
      readFactsOf(tx, tenantId, key, ns, factsMax + 1),
      readHitsOf(tx, tenantId, key, ns, hitsMax + 1),
      readEventsOfEmail(tx, {
        tenantId,
        refId,
        notBefore,
        email: only?.email,
        limit: tracedEventsMax + 1,
      }),
    ])
    const links = new Set(hits.flatMap(({ link }) => (link === null ? [] : [link])))
    const urls = await findLinks(tx, { tenantId, refId }, [...links])
    const isOne = only !== undefined
    return {
      email,
      recipients,
      own,
      attempts,
      attemptsMax,
      waits,
      facts,
      factsMax,
      hits,
      hitsMax,
      urls,
      events,
      isOne,
    }
  })
  const page = await listDeliveries({ db }, tenantId, {
    ref_id: refId,
    pageSize: tracedDeliveriesMax,
  })
  return toTracedEmail({ ...found, ...page })
}

function readAddressKey(recipient: string): string {
  const parsed = parseAddress(recipient)
  if (!parsed.ok) throw validationError({ path: '/recipient', message: parsed.problem })
  return domainFirst(addressKeyOf(parsed.address.address))
}
