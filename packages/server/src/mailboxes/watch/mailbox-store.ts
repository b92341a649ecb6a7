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
  'mailboxes.begin_watch',
  `insert into mailboxes_mailbox (tenant_id, mailer_id, fence) values ($1, $2, 1)
   on conflict (tenant_id, mailer_id) do update set fence = mailboxes_mailbox.fence + 1
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
  'mailboxes.lock_watch',
  `select 1 from mailboxes_mailbox where tenant_id = $1 and mailer_id = $2 and fence = $3
      for no key update`,
)

/** False: somebody else watches it, or it is gone. Until the end of the transaction nobody else writes. */
export async function lockWatch(tx: Tx, { tenantId, mailerId, fence }: Watch): Promise<boolean> {
  return (await tx.query(LOCK, [tenantId, mailerId, fence])).rowCount > 0
}

const NOTE_FAILING = statement(
  'mailboxes.note_failing',
  `update mailboxes_mailbox
      set failing_since = coalesce(failing_since, now()), tries = tries + 1,
          report_due_at = case when failing_since is null or report_due_at <= now()
                               then now() + $4 * interval '1 ms' else report_due_at end,
          failed_at = now(), failed_reason = $5, provider_error = $6
    where tenant_id = $1 and mailer_id = $2 and fence = $3
   returning failing_since as "failingSince", tries,
             report_due_at = now() + $4 * interval '1 ms' as "isDue"`,
)

/** An episode of failure. */
export interface Episode {
  readonly failingSince: Date
  /** That failed, so far. */
  readonly tries: number
}

export interface NotedFailure extends Episode {
  /** It is to be reported: when it begins, and again each time it has lasted for so long. */
  readonly isDue: boolean
}

/** Under the lock of its watch. */
export async function noteFailing(
  tx: Tx,
  { tenantId, mailerId, fence }: Watch,
  o: {
    readonly repeatMs: number
    readonly failedReason: string
    readonly providerError: string
  },
): Promise<NotedFailure> {
  const values = [tenantId, mailerId, fence, o.repeatMs, o.failedReason, o.providerError]
  const [row] = (await tx.query<NotedFailure>(NOTE_FAILING, values)).rows
  if (row === undefined) throw new Error('the watch is not held')
  return row
}

const END_EPISODE = statement(
  'mailboxes.end_episode',
  `with before as (
     select failing_since, tries from mailboxes_mailbox
      where tenant_id = $1 and mailer_id = $2 and fence = $3 for no key update)
   update mailboxes_mailbox m
      set failing_since = null, report_due_at = null, tries = 0,
          read_at = case when $4 then now() else m.read_at end
     from before where m.tenant_id = $1 and m.mailer_id = $2
   returning before.failing_since as "failingSince", before.tries,
             (extract(epoch from now() - before.failing_since) * 1000)::float8 as "failedForMs"`,
)

export interface EndedEpisode extends Episode {
  readonly failedForMs: number
}

/** All has been read, or nobody tries any more. Undefined: it was not failing. */
export async function endEpisode(
  q: Queryable,
  { tenantId, mailerId, fence }: Watch,
  o: { readonly isRead: boolean },
): Promise<EndedEpisode | undefined> {
  const values = [tenantId, mailerId, fence, o.isRead]
  const { rows } = await q.query<EndedEpisode & { failingSince: Date | null }>(END_EPISODE, values)
  const [row] = rows
  return row === undefined || row.failingSince === null ? undefined : row
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
  'mailboxes.list_folders',
  `select path, start, host, uid_validity::text as "uidValidity", last_uid::float8 as "lastUid",
          first_uid::float8 as "firstUid", old_before as "oldBefore", known_since as "knownSince"
     from mailboxes_folder where tenant_id = $1 and mailer_id = $2`,
)

export async function listFolders(
  q: Queryable,
  { tenantId, mailerId }: MailboxKey,
): Promise<FolderState[]> {
  return (await q.query<FolderState>(FOLDERS, [tenantId, mailerId])).rows
}

const SAVE = statement(
  'mailboxes.save_folder',
  `insert into mailboxes_folder (tenant_id, mailer_id, path, start, host, uid_validity, last_uid,
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
  'mailboxes.advance_folder',
  `update mailboxes_folder set last_uid = $4
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
  'mailboxes.find_fetched',
  `select digest from mailboxes_fetched
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
  'mailboxes.note_fetched',
  `insert into mailboxes_fetched (tenant_id, mailer_id, digest)
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
  'mailboxes.drop_old_fetched',
  `delete from mailboxes_fetched where (tenant_id, mailer_id, digest) in (
     select tenant_id, mailer_id, digest from mailboxes_fetched
      where fetched_at < now() - $1 * interval '1 ms' order by fetched_at limit $2)`,
)

/** Of all tenants: by their age alone. */
export async function dropOldFetched(
  q: Queryable,
  o: { readonly olderThanMs: number; readonly limit: number },
): Promise<number> {
  return (await q.query(DROP_OLD, [o.olderThanMs, o.limit])).rowCount
}
