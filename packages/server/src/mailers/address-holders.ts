/**
 * One mailer of a kind for an address (docs/reference/mailers.md#one-mailer-for-an-address): a second one is
 * refused by the id of the first, unless it is asked for, whether it is made for the address or changed to
 * it. Kinds are what sends and what fetches; a mailbox that is both is of both.
 */
import { mailerConfigTypes } from '@postrider/contract'
import { type Queryable, statement, type Tx } from '../platform/db/index.ts'
import { ApiError } from '../platform/errors.ts'
import { canFetch, canSend, emailKeyOf, type ServerMailer } from './mailer.ts'
import { insertMailer, type NewMailer } from './store.ts'

type Holder = Pick<ServerMailer, 'tenantId' | 'email' | 'configType'>

const FIND = statement(
  'mailers.find_holder',
  `select mailer_id as "mailerId" from mailers_mailer
    where tenant_id = $1 and email_key = $2 and config_type = any($3::text[])
    order by created_at, mailer_id limit 1`,
)

/** The id of the first mailer of the same kind for the address, whatever its state. */
export async function findHolder(q: Queryable, wanted: Holder): Promise<string | undefined> {
  const rivals = mailerConfigTypes.filter(
    (configType) =>
      (canSend(wanted) && canSend({ configType })) ||
      (canFetch(wanted) && canFetch({ configType })),
  )
  const values = [wanted.tenantId, emailKeyOf(wanted.email), rivals]
  const { rows } = await q.query<{ mailerId: string }>(FIND, values)
  return rows[0]?.mailerId
}

const LOCK = statement(
  'mailers.lock_address',
  `select pg_advisory_xact_lock(hashtextextended('mailers.address|' || $1 || '|' || $2, 0))`,
)

/** To the end of the transaction, mailers take the address one after the other. */
export async function lockAddress(
  tx: Tx,
  { tenantId, email }: Pick<Holder, 'tenantId' | 'email'>,
): Promise<void> {
  await tx.query(LOCK, [tenantId, emailKeyOf(email)])
}

export function secondMessage(first: string): string {
  return `There is a mailer for this address: ${first}. Update it, or give allow_duplicate: true to have another`
}

export interface MaySecond {
  readonly isSecondAllowed: boolean
}

/** Before a mailer takes the address. Of many at once one does, and the others are refused. */
export async function takeAddress(tx: Tx, wanted: Holder, o: MaySecond): Promise<void> {
  if (o.isSecondAllowed) return
  await lockAddress(tx, wanted)
  const first = await findHolder(tx, wanted)
  if (first !== undefined) throw new ApiError('mailer_exists', { message: secondMessage(first) })
}

export async function insertOnly(tx: Tx, mailer: NewMailer, o: MaySecond): Promise<ServerMailer> {
  await takeAddress(tx, mailer, o)
  return insertMailer(tx, mailer)
}
