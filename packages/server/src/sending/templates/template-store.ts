/** SQL of stored templates. Every statement names the tenant. */
import type { EmailContent, JsonObject } from '@postrider/contract'
import { type Queryable, statement, type Tx } from '../../platform/db/index.ts'

export interface TemplateKey {
  readonly tenantId: string
  readonly templateId: string
}

export interface VersionContent {
  readonly subject: string
  readonly content: EmailContent[]
  readonly sampleData: JsonObject | null
}

export interface ListedRow {
  readonly templateId: string
  readonly name: string
  readonly version: number
  readonly subject: string
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** A template with one of its versions. */
export interface TemplateRow extends ListedRow, VersionContent {
  readonly newest: number
}

const LOCK = statement(
  'sending.lock_templates',
  `select pg_advisory_xact_lock(hashtextextended('sending.templates ' || $1, 0))`,
)

/** To the end of the transaction, a tenant's templates are changed one after the other. */
export async function lockTemplates(tx: Tx, tenantId: string): Promise<void> {
  await tx.query(LOCK, [tenantId])
}

const LISTED = `t.template_id as "templateId", t.name, v.version, v.subject,
  t.created_at as "createdAt", v.created_at as "updatedAt"`

const READ = statement(
  'sending.read_template',
  `select ${LISTED}, t.version as newest, v.content, v.sample_data as "sampleData"
     from sending_template t
     join sending_template_version v using (tenant_id, template_id)
    where t.tenant_id = $1 and t.template_id = $2 and v.version = coalesce($3::integer, t.version)`,
)

/** The newest version, where none is named. */
export async function readVersion(
  q: Queryable,
  { tenantId, templateId }: TemplateKey,
  version: number | undefined,
): Promise<TemplateRow | undefined> {
  const { rows } = await q.query<TemplateRow>(READ, [tenantId, templateId, version ?? null])
  return rows[0]
}

const VERSIONS = statement(
  'sending.list_template_versions',
  `select version, subject, created_at as "createdAt" from sending_template_version
    where tenant_id = $1 and template_id = $2 order by version desc`,
)

export interface VersionRow {
  readonly version: number
  readonly subject: string
  readonly createdAt: Date
}

/** Of which a template has a bounded number. */
export async function listVersions(
  q: Queryable,
  { tenantId, templateId }: TemplateKey,
): Promise<VersionRow[]> {
  return (await q.query<VersionRow>(VERSIONS, [tenantId, templateId])).rows
}

const LIST = statement(
  'sending.list_templates',
  `select ${LISTED} from sending_template t
     join sending_template_version v using (tenant_id, template_id, version)
    where t.tenant_id = $1 and ($2::text is null or t.template_id < $2)
      and ($3::text is null or t.name = $3)
    order by t.template_id desc limit $4`,
)

export async function listTemplateRows(
  q: Queryable,
  o: {
    readonly tenantId: string
    readonly before: string | undefined
    readonly name: string | undefined
    readonly limit: number
  },
): Promise<ListedRow[]> {
  const values = [o.tenantId, o.before ?? null, o.name ?? null, o.limit]
  return (await q.query<ListedRow>(LIST, values)).rows
}

const FIND_NAME = statement(
  'sending.find_template_name',
  'select template_id as "templateId" from sending_template where tenant_id = $1 and name = $2',
)

export async function findName(
  q: Queryable,
  tenantId: string,
  name: string,
): Promise<string | undefined> {
  const { rows } = await q.query<{ templateId: string }>(FIND_NAME, [tenantId, name])
  return rows[0]?.templateId
}

const COUNT = statement(
  'sending.count_templates',
  `select count(distinct template_id)::int as templates,
          (count(*) filter (where template_id = $2))::int as versions,
          coalesce(sum(bytes), 0)::float8 as bytes
     from sending_template_version where tenant_id = $1`,
)

export interface TemplateCounts {
  readonly templates: number
  /** Of the template that is named. */
  readonly versions: number
  readonly bytes: number
}

export async function countTemplates(
  q: Queryable,
  { tenantId, templateId }: TemplateKey,
): Promise<TemplateCounts> {
  const { rows } = await q.query<TemplateCounts>(COUNT, [tenantId, templateId])
  return rows[0] ?? { templates: 0, versions: 0, bytes: 0 }
}

const INSERT = statement(
  'sending.insert_template',
  `insert into sending_template (tenant_id, template_id, name, version) values ($1, $2, $3, 1)`,
)

export async function insertTemplate(tx: Tx, key: TemplateKey, name: string): Promise<void> {
  await tx.query(INSERT, [key.tenantId, key.templateId, name])
}

const UPDATE = statement(
  'sending.update_template',
  'update sending_template set name = $3, version = $4 where tenant_id = $1 and template_id = $2',
)

export async function updateTemplateRow(
  tx: Tx,
  key: TemplateKey,
  { name, version }: { readonly name: string; readonly version: number },
): Promise<void> {
  await tx.query(UPDATE, [key.tenantId, key.templateId, name, version])
}

const INSERT_VERSION = statement(
  'sending.insert_template_version',
  `insert into sending_template_version
     (tenant_id, template_id, version, subject, content, sample_data, bytes)
   values ($1, $2, $3, $4, $5::json, $6::json, $7)`,
)

export async function insertVersion(
  tx: Tx,
  key: TemplateKey,
  version: number,
  { subject, content, sampleData, bytes }: VersionContent & { readonly bytes: number },
): Promise<void> {
  await tx.query(INSERT_VERSION, [
    key.tenantId,
    key.templateId,
    version,
    subject,
    JSON.stringify(content),
    sampleData === null ? null : JSON.stringify(sampleData),
    bytes,
  ])
}

const DELETE = statement(
  'sending.delete_template',
  'delete from sending_template where tenant_id = $1 and template_id = $2',
)

export async function removeTemplate(q: Queryable, key: TemplateKey): Promise<boolean> {
  return (await q.query(DELETE, [key.tenantId, key.templateId])).rowCount > 0
}

const DELETE_VERSION = statement(
  'sending.delete_template_version',
  `delete from sending_template_version where tenant_id = $1 and template_id = $2 and version = $3`,
)

export async function removeVersion(q: Queryable, key: TemplateKey, version: number) {
  await q.query(DELETE_VERSION, [key.tenantId, key.templateId, version])
}
