/** All SQL of mailers. Every statement names the tenant. */
import type {
  ConnectionType,
  DomainLimits,
  MailerConfigType,
  MailerLimits,
  MailerState,
  OAuthMailServer,
  RelayKind,
  SecureMode,
  UncertainPolicy,
} from '@postrider/contract'
import { type Queryable, type Statement, statement, type Tx } from '../platform/db/index.ts'
import type { MailboxSettings } from './imap/mailbox-settings.ts'
import { asServerMailer, emailKeyOf, type Mailer, type ServerMailer } from './mailer.ts'

interface FactRow {
  tenant_id: string
  mailer_id: string
  name: string
  uncertain: UncertainPolicy
  state: MailerState
  state_reason: string | null
  state_evidence: string | null
  state_changed_at: Date
  config_version: string
  created_at: Date
  updated_at: Date
}

interface ServerRow extends FactRow {
  email: string
  config_type: Exclude<MailerConfigType, 'domain'>
  connection_type: ConnectionType
  host: string
  port: number
  username: string | null
  secure: SecureMode
  tls_verify: boolean
  secret: string | null
  limits: MailerLimits
  host_ever_worked: boolean
  app_id: string | null
  imap: OAuthMailServer | null
  mailbox: MailboxSettings | null
  return_path: string | null
}

interface DomainRow extends FactRow {
  connection_type: 'relay'
  relay: RelayKind
  domain: string
  domain_verified: boolean
  limits: DomainLimits
}

/** Which columns are null is the table's to check. */
export type MailerRow = ServerRow | DomainRow

export const MAILER_COLUMNS = `tenant_id, mailer_id, name, email, config_type, connection_type, host, port,
  username, secure, tls_verify, secret, uncertain, limits, state, state_reason, state_evidence,
  state_changed_at, worked_at is not null as host_ever_worked, config_version, app_id, imap, mailbox,
  relay, domain, domain_verified, return_path, created_at, updated_at`

const GET = statement(
  'mailers.get',
  `select ${MAILER_COLUMNS} from mailers_mailer where tenant_id = $1 and mailer_id = $2`,
)

export async function getMailer(
  q: Queryable,
  tenantId: string,
  mailerId: string,
): Promise<Mailer | undefined> {
  const { rows } = await q.query<MailerRow>(GET, [tenantId, mailerId])
  return rows[0] === undefined ? undefined : toMailer(rows[0])
}

/** Undefined also for a sending domain. */
export async function getServerMailer(
  q: Queryable,
  tenantId: string,
  mailerId: string,
): Promise<ServerMailer | undefined> {
  return asServerMailer(await getMailer(q, tenantId, mailerId))
}

const LIST = statement(
  'mailers.list',
  `select ${MAILER_COLUMNS} from mailers_mailer
    where tenant_id = $1 and ($2::text is null or right(mailer_id, 26) < $2)
      and ($3::text is null or state = $3)
    order by right(mailer_id, 26) desc limit $4`,
)

/** Newest first, by the time within their ids. */
export async function listMailers(
  q: Queryable,
  o: {
    readonly tenantId: string
    readonly state: MailerState | undefined
    /** The end of an id: only those made before it. */
    readonly before: string | undefined
    readonly limit: number
  },
): Promise<Mailer[]> {
  const { rows } = await q.query<MailerRow>(LIST, [
    o.tenantId,
    o.before ?? null,
    o.state ?? null,
    o.limit,
  ])
  return rows.map(toMailer)
}

export interface FoundMailer {
  readonly mailerId: string
  readonly state: MailerState
  /** Of a sending domain: what it sends for, and whether it may. */
  readonly domain?: { readonly name: string; readonly isVerified: boolean }
}

interface FoundRow {
  readonly tenantId: string
  readonly key: string
  readonly mailer: FoundMailer
}

const FOUND = 'mailer_id, state, domain, domain_verified'

const FIND_BY_ID = statement(
  'mailers.find_by_id',
  `select tenant_id, mailer_id as key, ${FOUND} from mailers_mailer
    where tenant_id = any($1::text[]) and mailer_id = any($2::text[])
      and config_type not in ('imap', 'basic_imap', 'oauth_imap')`,
)

export function findById(
  q: Queryable,
  tenantIds: readonly string[],
  mailerIds: readonly string[],
): Promise<FoundRow[]> {
  return findRows(q, FIND_BY_ID, tenantIds, mailerIds)
}

const FIND_BY_EMAIL = statement(
  'mailers.find_by_email',
  `select distinct on (tenant_id, email_key) tenant_id, email_key as key, ${FOUND}
     from mailers_mailer where tenant_id = any($1::text[]) and email_key = any($2::text[])
      and config_type not in ('imap', 'basic_imap', 'oauth_imap')
    order by tenant_id, email_key, (state = 'active') desc, created_at, mailer_id`,
)

/** One mailer for each address, or domain: the oldest active one, else the oldest. */
export function findByEmail(
  q: Queryable,
  tenantIds: readonly string[],
  emailKeys: readonly string[],
): Promise<FoundRow[]> {
  return findRows(q, FIND_BY_EMAIL, tenantIds, emailKeys)
}

async function findRows(
  q: Queryable,
  s: Statement,
  tenantIds: readonly string[],
  keys: readonly string[],
): Promise<FoundRow[]> {
  const { rows } = await q.query<{
    tenant_id: string
    key: string
    mailer_id: string
    state: MailerState
    domain: string | null
    domain_verified: boolean | null
  }>(s, [tenantIds, keys])
  return rows.map((row) => ({
    tenantId: row.tenant_id,
    key: row.key,
    mailer: {
      mailerId: row.mailer_id,
      state: row.state,
      ...(row.domain === null
        ? {}
        : { domain: { name: row.domain, isVerified: row.domain_verified === true } }),
    },
  }))
}

export type NewMailer = Omit<
  ServerMailer,
  | 'state'
  | 'stateReason'
  | 'stateEvidence'
  | 'stateChangedAt'
  | 'configVersion'
  | 'createdAt'
  | 'updatedAt'
>

const INSERT = statement(
  'mailers.insert',
  `insert into mailers_mailer (tenant_id, mailer_id, name, email, email_key, config_type,
     connection_type, host, port, username, secure, tls_verify, secret, uncertain, limits, worked_at,
     app_id, imap, mailbox, return_path)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15,
     case when $16::boolean then now() end, $17, $18, $19, $20)
   returning ${MAILER_COLUMNS}`,
)

/** As both statements have them, one after the other. */
function serverValues(m: NewMailer): unknown[] {
  return [
    m.config.host,
    m.config.port,
    m.config.username ?? null,
    m.config.secure,
    m.config.tlsVerify,
    m.secret ?? null,
    m.uncertain,
    JSON.stringify(m.limits),
    m.hostEverWorked,
    m.appId ?? null,
    jsonOf(m.imap),
    jsonOf(m.mailbox),
    m.returnPath ?? null,
  ]
}

export async function insertMailer(q: Queryable, m: NewMailer): Promise<ServerMailer> {
  const { rows } = await q.query<ServerRow>(INSERT, [
    m.tenantId,
    m.mailerId,
    m.name,
    m.email,
    emailKeyOf(m.email),
    m.configType,
    m.connectionType,
    ...serverValues(m),
  ])
  const [row] = rows
  if (row === undefined) throw new Error('insert answered no row')
  return toServerMailer(row)
}

const UPDATE = statement(
  'mailers.update',
  `update mailers_mailer
      set name = $4, email = $5, email_key = $6, host = $7, port = $8, username = $9, secure = $10,
          tls_verify = $11, secret = $12, uncertain = $13, limits = $14, app_id = $16,
          imap = $17, mailbox = $18, return_path = $19,
          worked_at = case when $15::boolean then coalesce(worked_at, now()) end,
          config_version = config_version + 1, updated_at = now()
    where tenant_id = $1 and mailer_id = $2 and config_version = $3
    returning ${MAILER_COLUMNS}`,
)

/** Undefined when another update came first, or the mailer is gone. */
export async function updateMailer(
  q: Queryable,
  m: ServerMailer,
): Promise<ServerMailer | undefined> {
  const { rows } = await q.query<ServerRow>(UPDATE, [
    m.tenantId,
    m.mailerId,
    m.configVersion,
    m.name,
    m.email,
    emailKeyOf(m.email),
    ...serverValues(m),
  ])
  return rows[0] === undefined ? undefined : toServerMailer(rows[0])
}

const MARK_WORKED = statement(
  'mailers.mark_worked',
  `update mailers_mailer set worked_at = now()
    where tenant_id = $1 and mailer_id = $2 and config_version = $3
      and (worked_at is null or worked_at < greatest(now() - interval '3 minutes', refused_at))`,
)

/** That its login worked, unless that was noted a moment ago. */
export async function markWorked(
  q: Queryable,
  m: Pick<Mailer, 'tenantId' | 'mailerId' | 'configVersion'>,
): Promise<void> {
  await q.query(MARK_WORKED, [m.tenantId, m.mailerId, m.configVersion])
}

const DELETE = statement(
  'mailers.delete',
  `with errors as (delete from mailers_error where tenant_id = $1 and mailer_id = $2)
   delete from mailers_mailer where tenant_id = $1 and mailer_id = $2`,
)

export async function deleteMailer(
  q: Queryable,
  tenantId: string,
  mailerId: string,
): Promise<boolean> {
  const { rowCount } = await q.query(DELETE, [tenantId, mailerId])
  return rowCount > 0
}

const REMOVE_RETURN_PATH = statement(
  'mailers.remove_return_path',
  `update mailers_mailer
      set return_path = null, config_version = config_version + 1, updated_at = now()
    where tenant_id = $1 and return_path = $2
    returning mailer_id`,
)

/** Of all mailers that have it. Answers their ids. */
export async function removeReturnPath(
  tx: Tx,
  o: { readonly tenantId: string; readonly returnPath: string },
): Promise<string[]> {
  const values = [o.tenantId, o.returnPath]
  const { rows } = await tx.query<{ mailer_id: string }>(REMOVE_RETURN_PATH, values)
  return rows.map(({ mailer_id }) => mailer_id)
}

function jsonOf(value: object | undefined): string | null {
  return value === undefined ? null : JSON.stringify(value)
}

export function toMailer(row: MailerRow): Mailer {
  if (row.connection_type !== 'relay') return toServerMailer(row)
  return {
    ...toFacts(row),
    configType: 'domain',
    connectionType: row.connection_type,
    config: { relay: row.relay, domain: row.domain },
    limits: row.limits,
    isVerified: row.domain_verified,
  }
}

function toServerMailer(row: ServerRow): ServerMailer {
  return {
    ...toFacts(row),
    email: row.email,
    configType: row.config_type,
    connectionType: row.connection_type,
    config: {
      host: row.host,
      port: row.port,
      secure: row.secure,
      tlsVerify: row.tls_verify,
      ...(row.username === null ? {} : { username: row.username }),
    },
    ...(row.secret === null ? {} : { secret: row.secret }),
    ...(row.app_id === null ? {} : { appId: row.app_id }),
    ...(row.imap === null ? {} : { imap: row.imap }),
    ...(row.mailbox === null ? {} : { mailbox: row.mailbox }),
    limits: row.limits,
    ...(row.return_path === null ? {} : { returnPath: row.return_path }),
    hostEverWorked: row.host_ever_worked,
  }
}

function toFacts(row: FactRow) {
  return {
    tenantId: row.tenant_id,
    mailerId: row.mailer_id,
    name: row.name,
    uncertain: row.uncertain,
    state: row.state,
    ...(row.state_reason === null ? {} : { stateReason: row.state_reason }),
    ...(row.state_evidence === null ? {} : { stateEvidence: row.state_evidence }),
    stateChangedAt: row.state_changed_at,
    configVersion: Number(row.config_version),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}
