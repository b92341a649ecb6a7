/** SQL of mailboxes that are watched. Every statement names the tenant, or says why not. */
import { type Queryable, statement, type Tx } from '../../platform/db/index.ts'

export interface MailboxKey {
  readonly tenantId: string
  readonly mailerId: string
}

/** Who watches it: until somebody else begins to. */
export interface Watch extends MailboxKey {
  readonly fence: string
}

const BEGIN = statement(
  'inbound.begin_watch',
  `insert into inbound_mailbox (tenant_id, mailer_id, fence) values ($1, $2, 1)
   on conflict (tenant_id, mailer_id) do update set fence = inbound_mailbox.fence + 1
   returning fence, failing_since is not null as "isFailing"`,
)

/** Fails with a violation of a foreign key when there is no such mailer. */
export async function beginWatch(
  q: Queryable,
  { tenantId, mailerId }: MailboxKey,
): Promise<{ readonly watch: Watch; readonly isFailing: boolean }> {
  const { rows } = await q.query<{ fence: string; isFailing: boolean }>(BEGIN, [tenantId, mailerId])
  const [row] = rows
  if (row === undefined) throw new Error('insert answered no row')
  return { watch: { tenantId, mailerId, fence: row.fence }, isFailing: row.isFailing }
}

const LOCK = statement(
  'inbound.lock_watch',
  `select 1 from inbound_mailbox where tenant_id = $1 and mailer_id = $2 and fence = $3
      for no key update`,
)

/** False: somebody else watches it, or it is gone. Until the end of the transaction nobody else writes. */
export async function lockWatch(tx: Tx, { tenantId, mailerId, fence }: Watch): Promise<boolean> {
  return (await tx.query(LOCK, [tenantId, mailerId, fence])).rowCount > 0
}

const NOTE_FAILING = statement(
  'inbound.note_failing',
  `update inbound_mailbox
      set failing_since = coalesce(failing_since, now()),
          report_due_at = now() + $4 * interval '1 ms'
    where tenant_id = $1 and mailer_id = $2 and fence = $3
      and (failing_since is null or report_due_at <= now())`,
)

/** Whether it is to be told of: when it begins, and each time that it has lasted for so long again. */
export async function noteFailing(tx: Tx, watch: Watch, repeatMs: number): Promise<boolean> {
  const { tenantId, mailerId, fence } = watch
  return (await tx.query(NOTE_FAILING, [tenantId, mailerId, fence, repeatMs])).rowCount > 0
}

const NOTE_WORKING = statement(
  'inbound.note_working',
  `update inbound_mailbox set failing_since = null, report_due_at = null
    where tenant_id = $1 and mailer_id = $2 and fence = $3 and failing_since is not null`,
)

export async function noteWorking(
  q: Queryable,
  { tenantId, mailerId, fence }: Watch,
): Promise<void> {
  await q.query(NOTE_WORKING, [tenantId, mailerId, fence])
}

/** What of a folder has been dealt with. */
export interface FolderState {
  readonly path: string
  readonly start: string
  readonly host: string
  readonly uidValidity: string
  readonly lastUid: number
  readonly firstUid: number
  readonly oldBefore: Date | null
  readonly knownSince: Date | null
}

const FOLDERS = statement(
  'inbound.list_folders',
  `select path, start, host, uid_validity::text as "uidValidity", last_uid::float8 as "lastUid",
          first_uid::float8 as "firstUid", old_before as "oldBefore", known_since as "knownSince"
     from inbound_folder where tenant_id = $1 and mailer_id = $2`,
)

export async function listFolders(
  q: Queryable,
  { tenantId, mailerId }: MailboxKey,
): Promise<FolderState[]> {
  return (await q.query<FolderState>(FOLDERS, [tenantId, mailerId])).rows
}

const SAVE = statement(
  'inbound.save_folder',
  `insert into inbound_folder (tenant_id, mailer_id, path, start, host, uid_validity, last_uid,
     first_uid, old_before, known_since)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
   on conflict (tenant_id, mailer_id, path) do update
     set start = excluded.start, host = excluded.host, uid_validity = excluded.uid_validity,
         last_uid = excluded.last_uid, first_uid = excluded.first_uid,
         old_before = excluded.old_before, known_since = excluded.known_since`,
)

/** Under the lock of its watch. */
export async function saveFolder(
  tx: Tx,
  { tenantId, mailerId }: MailboxKey,
  f: FolderState,
): Promise<void> {
  await tx.query(SAVE, [
    tenantId,
    mailerId,
    f.path,
    f.start,
    f.host,
    f.uidValidity,
    f.lastUid,
    f.firstUid,
    f.oldBefore,
    f.knownSince,
  ])
}

const ADVANCE = statement(
  'inbound.advance_folder',
  `update inbound_folder set last_uid = $4
    where tenant_id = $1 and mailer_id = $2 and path = $3 and last_uid < $4`,
)

/** Under the lock of its watch. */
export async function advanceFolder(
  tx: Tx,
  { tenantId, mailerId }: MailboxKey,
  path: string,
  lastUid: number,
): Promise<void> {
  await tx.query(ADVANCE, [tenantId, mailerId, path, lastUid])
}

const FIND_KNOWN = statement(
  'inbound.find_fetched',
  `select digest from inbound_fetched
    where tenant_id = $1 and mailer_id = $2 and digest = any($3::bytea[])`,
)

/** Those of the digests that were seen before, in hexadecimal. */
export async function findFetched(
  q: Queryable,
  { tenantId, mailerId }: MailboxKey,
  digests: readonly Buffer[],
): Promise<Set<string>> {
  if (digests.length === 0) return new Set()
  const { rows } = await q.query<{ digest: Buffer }>(FIND_KNOWN, [tenantId, mailerId, digests])
  return new Set(rows.map(({ digest }) => digest.toString('hex')))
}

const NOTE_FETCHED = statement(
  'inbound.note_fetched',
  `insert into inbound_fetched (tenant_id, mailer_id, digest)
   select $1, $2, digest from unnest($3::bytea[]) as d (digest) on conflict do nothing`,
)

export async function noteFetched(
  tx: Tx,
  { tenantId, mailerId }: MailboxKey,
  digests: readonly Buffer[],
): Promise<void> {
  if (digests.length > 0) await tx.query(NOTE_FETCHED, [tenantId, mailerId, digests])
}

const DROP_OLD = statement(
  'inbound.drop_old_fetched',
  `delete from inbound_fetched where (tenant_id, mailer_id, digest) in (
     select tenant_id, mailer_id, digest from inbound_fetched
      where fetched_at < now() - $1 * interval '1 ms' order by fetched_at limit $2)`,
)

/** Of all tenants: by their age alone. */
export async function dropOldFetched(
  q: Queryable,
  o: { readonly olderThanMs: number; readonly limit: number },
): Promise<number> {
  return (await q.query(DROP_OLD, [o.olderThanMs, o.limit])).rowCount
}
