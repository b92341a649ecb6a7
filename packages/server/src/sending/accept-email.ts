/**
 * Accepts emails: a 202 means that the email, its recipients, its place in the queue and its
 * idempotency key are committed and flushed, in one transaction.
 *
 * Requests that arrive while a commit is in flight share the next one, whatever their tenants;
 * large ones go alone, so that nobody waits for another's attachments.
 */
import { findMailers } from '../mailers/index.ts'
import type { Clock } from '../platform/clock.ts'
import { bucketOf, createGroupCommit, type Db, type Tx } from '../platform/db/index.ts'
import { ApiError } from '../platform/errors.ts'
import type { Failpoints } from '../platform/failpoints.ts'
import { dayOfUlid, newUlid } from '../platform/ids.ts'
import { messageIdOf, type NewEmail } from './email.ts'
import {
  dropKeys,
  type EmailRow,
  insertEmails,
  type KeptKey,
  keepKeys,
  type RecipientRow,
} from './store.ts'

export interface AcceptRequest {
  readonly tenantId: string
  readonly email: NewEmail
  readonly traceparent: string
  readonly idempotency?: { readonly key: string; readonly bodyHash: Buffer }
}

export type Accepted = {
  readonly refId: string
  readonly isReplay: boolean
  readonly lane: { readonly tenantId: string; readonly mailerId: string }
}

type Outcome = Accepted | { readonly refused: 'no_mailer' | 'mailer_inactive' | 'mismatch' }

export interface AcceptEmails {
  /** Throws the refusals of sendEmail (contract §3.1, §5). */
  accept(request: AcceptRequest): Promise<Accepted>
}

interface Item extends AcceptRequest {
  readonly refId: string
  readonly createdAt: Date
  readonly contentJson: string
}

const GROUP_MAX = 64
const LARGE_BYTES = 128 * 1024
const RECIPIENTS_LARGE = 20

export function createAcceptEmails(deps: {
  readonly db: Db
  readonly clock: Clock
  readonly failpoints: Failpoints
}): AcceptEmails {
  const run = async (tx: Tx, items: readonly Item[]) => {
    const outcomes = await acceptGroup(tx, items)
    deps.failpoints.hit('api.before_commit')
    return outcomes
  }
  const group = createGroupCommit<Item, Outcome>({
    db: deps.db,
    itemsMax: GROUP_MAX,
    lanes: 2,
    run,
  })

  return {
    async accept(request) {
      const item: Item = {
        ...request,
        refId: newUlid(),
        createdAt: deps.clock.now(),
        contentJson: JSON.stringify(request.email.content),
      }
      const isLarge =
        item.contentJson.length > LARGE_BYTES || item.email.recipients.length > RECIPIENTS_LARGE
      const outcome = isLarge
        ? (await deps.db.transaction((tx) => run(tx, [item])))[0]
        : await group.add(item)
      deps.failpoints.hit('api.after_commit')
      if (outcome === undefined) throw new Error('accepting an email gave no outcome')
      if (!('refused' in outcome)) return outcome
      const code = outcome.refused === 'mismatch' ? 'idempotency_mismatch' : outcome.refused
      throw new ApiError(code)
    },
  }
}

async function acceptGroup(tx: Tx, items: readonly Item[]): Promise<Outcome[]> {
  const [mailers, kept] = await Promise.all([
    findMailers(
      tx,
      items.map((item) => ({
        tenantId: item.tenantId,
        ...(item.email.mailerId === undefined
          ? { email: item.email.content.from.address }
          : { mailerId: item.email.mailerId }),
      })),
    ),
    // A replay is answered although its mailer may be gone by now, so keys come first; a key that
    // is kept for a request that is then refused is taken back below.
    keepKeys(tx, items.flatMap(toKey)),
  ])
  const outcomes = items.map((item, i) => judge(item, mailers[i], kept))
  const accepted = items.flatMap((item, i) => {
    const outcome = outcomes[i]
    return outcome === undefined || 'refused' in outcome || outcome.isReplay
      ? []
      : [{ item, mailerId: outcome.lane.mailerId }]
  })
  await Promise.all([
    dropKeys(tx, items.filter((_, i) => isRefusedMailer(outcomes[i])).flatMap(toKey)),
    insertEmails(tx, accepted.map(toRows)),
  ])
  return outcomes
}

/** Contract §5: the key of a refused request is not kept. */
function isRefusedMailer(outcome: Outcome | undefined): boolean {
  return outcome !== undefined && 'refused' in outcome && outcome.refused !== 'mismatch'
}

function toKey(item: Item) {
  if (item.idempotency === undefined) return []
  const { key, bodyHash } = item.idempotency
  return [{ tenantId: item.tenantId, key, bodyHash, refId: item.refId }]
}

function judge(
  item: Item,
  mailer: Awaited<ReturnType<typeof findMailers>>[number],
  kept: ReadonlyMap<string, KeptKey>,
): Outcome {
  const { tenantId } = item
  const first = item.idempotency && kept.get(`${tenantId} ${item.idempotency.key}`)
  if (first !== undefined && first.refId !== item.refId) {
    if (!first.bodyHash.equals(item.idempotency?.bodyHash ?? Buffer.alloc(0)))
      return { refused: 'mismatch' }
    return { refId: first.refId, isReplay: true, lane: { tenantId, mailerId: '' } }
  }
  if (mailer === undefined) return { refused: 'no_mailer' }
  if (mailer.state !== 'active') return { refused: 'mailer_inactive' }
  return { refId: item.refId, isReplay: false, lane: { tenantId, mailerId: mailer.mailerId } }
}

function toRows({ item, mailerId }: { item: Item; mailerId: string }): {
  email: EmailRow
  recipients: RecipientRow[]
} {
  const { email, refId, tenantId, createdAt } = item
  const expiresAt = new Date(createdAt.getTime() + email.expiresInMs)
  const fromAddress = email.content.from.address
  return {
    email: {
      tenantId,
      refId,
      day: dayOfUlid(refId),
      mailerId,
      fromEmail: fromAddress,
      subject: email.content.subject,
      campaignId: email.campaignId ?? null,
      customArgs: email.customArgs === null ? null : JSON.stringify(email.customArgs),
      content: item.contentJson,
      maxAttempts: email.maxAttempts,
      expiresAt,
      traceparent: item.traceparent,
      createdAt,
      bucket: bucketOf(mailerId),
    },
    recipients: email.recipients.map((recipient, n) => ({
      n,
      email: recipient.email,
      type: recipient.type,
      messageId: messageIdOf(refId, n, fromAddress),
    })),
  }
}
