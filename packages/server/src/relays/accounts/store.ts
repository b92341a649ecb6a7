/** All SQL of accounts at relay providers. Every statement names the tenant, or says why not. */
import type { RelayKind } from '@postrider/contract'
import { type Queryable, statement, type Tx } from '../../platform/db/index.ts'
import type { AccountKey, StoredAccount } from './account.ts'

interface AccountRow {
  tenant_id: string
  kind: RelayKind
  api_key: string | null
  api_base: string
  callback_token: string
  callback_secret: string | null
  verification_key: string | null
  config_version: string
  created_at: Date
  updated_at: Date
}

const COLUMNS = `tenant_id, kind, api_key, api_base, callback_token, callback_secret,
  verification_key, config_version, created_at, updated_at`

const GET = statement(
  'relays.get_account',
  `select ${COLUMNS} from relays_account where tenant_id = $1 and kind = $2`,
)

export async function getAccount(
  q: Queryable,
  key: AccountKey,
): Promise<StoredAccount | undefined> {
  const { rows } = await q.query<AccountRow>(GET, [key.tenantId, key.kind])
  return rows[0] === undefined ? undefined : toAccount(rows[0])
}

/** Of no tenant: the token is what says which one is meant. */
const GET_BY_TOKEN = statement(
  'relays.get_account_by_token',
  `select ${COLUMNS} from relays_account where callback_token_hash = $1 and kind = $2`,
)

export async function getAccountByToken(
  q: Queryable,
  kind: RelayKind,
  tokenHash: Buffer,
): Promise<StoredAccount | undefined> {
  const { rows } = await q.query<AccountRow>(GET_BY_TOKEN, [tokenHash, kind])
  return rows[0] === undefined ? undefined : toAccount(rows[0])
}

const LIST_KINDS = statement(
  'relays.list_kinds',
  'select kind from relays_account where tenant_id = $1 order by kind',
)

/** Of which kinds the tenant has an account. */
export async function listRelayKinds(q: Queryable, tenantId: string): Promise<RelayKind[]> {
  const { rows } = await q.query<{ kind: RelayKind }>(LIST_KINDS, [tenantId])
  return rows.map((row) => row.kind)
}

/** What is left out stays. An address never changes without a key: the old one would be sent there. */
export interface AccountChange {
  /** The key is sealed. */
  readonly access?: { readonly apiKey: string; readonly apiBase?: string | undefined }
  /** Sealed; null: none any more. */
  readonly callbackSecret?: string | null
  readonly verificationKey?: string | null
}

const UPDATE = statement(
  'relays.update_account',
  `update relays_account
      set api_key = coalesce($3, api_key), api_base = coalesce($4, api_base),
          config_version = config_version + ($3::text is not null)::int,
          callback_secret = case when $5 then $6 else callback_secret end,
          verification_key = case when $7 then $8 else verification_key end,
          updated_at = now()
    where tenant_id = $1 and kind = $2
    returning ${COLUMNS}`,
)

/** Undefined when there is no such account. */
export async function updateAccount(
  tx: Tx,
  key: AccountKey,
  { access, callbackSecret, verificationKey }: AccountChange,
): Promise<StoredAccount | undefined> {
  const { rows } = await tx.query<AccountRow>(UPDATE, [
    key.tenantId,
    key.kind,
    access?.apiKey ?? null,
    access?.apiBase ?? null,
    callbackSecret !== undefined,
    callbackSecret ?? null,
    verificationKey !== undefined,
    verificationKey ?? null,
  ])
  return rows[0] === undefined ? undefined : toAccount(rows[0])
}

const INSERT = statement(
  'relays.insert_account',
  `insert into relays_account (tenant_id, kind, api_key, api_base, callback_token,
     callback_token_hash, callback_secret, verification_key)
   values ($1, $2, $3, $4, $5, $6, $7, $8)
   on conflict (tenant_id, kind) do nothing
   returning ${COLUMNS}`,
)

export type NewAccount = Omit<StoredAccount, 'configVersion' | 'createdAt' | 'updatedAt'> & {
  readonly callbackTokenHash: Buffer
}

/** Undefined when the tenant has one of this kind. */
export async function insertAccount(
  tx: Tx,
  account: NewAccount,
): Promise<StoredAccount | undefined> {
  const { rows } = await tx.query<AccountRow>(INSERT, [
    account.tenantId,
    account.kind,
    account.apiKey ?? null,
    account.apiBase,
    account.callbackToken,
    account.callbackTokenHash,
    account.callbackSecret ?? null,
    account.verificationKey ?? null,
  ])
  return rows[0] === undefined ? undefined : toAccount(rows[0])
}

const DELETE = statement(
  'relays.delete_account',
  'delete from relays_account where tenant_id = $1 and kind = $2',
)

/** Rejects while sending domains use it (foreign key). */
export async function deleteAccount(q: Queryable, key: AccountKey): Promise<boolean> {
  const { rowCount } = await q.query(DELETE, [key.tenantId, key.kind])
  return rowCount > 0
}

function toAccount(row: AccountRow): StoredAccount {
  return {
    tenantId: row.tenant_id,
    kind: row.kind,
    ...(row.api_key === null ? {} : { apiKey: row.api_key }),
    apiBase: row.api_base,
    callbackToken: row.callback_token,
    ...(row.callback_secret === null ? {} : { callbackSecret: row.callback_secret }),
    ...(row.verification_key === null ? {} : { verificationKey: row.verification_key }),
    configVersion: Number(row.config_version),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}
