/** Mailboxes that are to be watched, and what is needed to log in at one: its password is never logged, never kept. */
import { type Queryable, statement } from '../../platform/db/index.ts'
import type { KeyRing } from '../../platform/secrets/index.ts'
import { canFetch, canSend, type MailerConfig, openPassword } from '../mailer.ts'
import type { MailerKey } from '../state/state-store.ts'
import { getServerMailer } from '../store.ts'
import { foldersOf, mailboxServerOf } from './mailbox.ts'
import type { WatchedFolder } from './mailbox-settings.ts'

export interface Mailbox extends MailerKey {
  readonly configVersion: number
  readonly server: Required<MailerConfig>
  /** Absent: it logs in with an access token. */
  readonly password?: string
  readonly folders: readonly WatchedFolder[]
  /** The mailer sends as well. */
  readonly isSentBy: boolean
}

/** Undefined when it is gone, is not active, or fetches nothing; throws SealedValueError without its key. */
export async function loadMailbox(
  q: Queryable,
  keyRing: KeyRing,
  { tenantId, mailerId }: MailerKey,
): Promise<Mailbox | undefined> {
  const mailer = await getServerMailer(q, tenantId, mailerId)
  if (mailer === undefined || mailer.state !== 'active' || !canFetch(mailer)) return undefined
  const { username = '', ...server } = mailboxServerOf(mailer)
  return {
    tenantId,
    mailerId,
    configVersion: mailer.configVersion,
    server: { ...server, username },
    folders: foldersOf(mailer),
    isSentBy: canSend(mailer),
    ...(mailer.secret === undefined
      ? {}
      : { password: openPassword(keyRing, mailer, mailer.secret) }),
  }
}

export interface WatchedMailbox extends MailerKey {
  readonly configVersion: number
}

const LIST = statement(
  'mailers.list_mailboxes',
  `select tenant_id as "tenantId", mailer_id as "mailerId", config_version as "configVersion"
     from mailers_mailer
    where state = 'active' and config_type in ('imap', 'oauth_imap', 'smtp_imap')`,
)

/** Of all tenants: a process that watches mailboxes picks those of its buckets. */
export async function listMailboxes(q: Queryable): Promise<WatchedMailbox[]> {
  const { rows } = await q.query<MailerKey & { configVersion: string }>(LIST)
  return rows.map((row) => ({ ...row, configVersion: Number(row.configVersion) }))
}
