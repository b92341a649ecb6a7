/** SQL of phishing protection's settings, one row for each tenant that has set any. */
import { type Queryable, statement } from '../../platform/db/index.ts'
import { defaultSettings, type PhishingSettings } from './settings.ts'

const GET = statement(
  'sending.get_phishing_settings',
  `select is_enabled, threshold, blocked_domains, updated_at
     from sending_phishing_settings where tenant_id = $1`,
)

interface Row {
  readonly is_enabled: boolean
  readonly threshold: number
  readonly blocked_domains: readonly string[]
  readonly updated_at: Date
}

export async function getSettings(q: Queryable, tenantId: string): Promise<PhishingSettings> {
  const { rows } = await q.query<Row>(GET, [tenantId])
  return rows[0] === undefined ? defaultSettings : toSettings(rows[0])
}

// One statement, so that two changes at once of different settings both hold.
const CHANGE = statement(
  'sending.change_phishing_settings',
  `insert into sending_phishing_settings as s (tenant_id, is_enabled, threshold, blocked_domains)
   values ($1, coalesce($2::boolean, $5::boolean), coalesce($3::smallint, $6::smallint),
           coalesce($4::text[], '{}'))
   on conflict (tenant_id) do update
      set is_enabled = coalesce($2::boolean, s.is_enabled),
          threshold = coalesce($3::smallint, s.threshold),
          blocked_domains = coalesce($4::text[], s.blocked_domains), updated_at = now()
   returning is_enabled, threshold, blocked_domains, updated_at`,
)

/** What is undefined stays as it is. */
export interface SettingsChange {
  readonly isEnabled?: boolean | undefined
  readonly threshold?: number | undefined
  readonly blockedDomains?: readonly string[] | undefined
}

export async function changeSettings(
  q: Queryable,
  tenantId: string,
  { isEnabled, threshold, blockedDomains }: SettingsChange,
): Promise<PhishingSettings> {
  const { rows } = await q.query<Row>(CHANGE, [
    tenantId,
    isEnabled ?? null,
    threshold ?? null,
    blockedDomains ?? null,
    defaultSettings.isEnabled,
    defaultSettings.threshold,
  ])
  if (rows[0] === undefined) throw new Error('an upsert answers its row')
  return toSettings(rows[0])
}

function toSettings(row: Row): PhishingSettings {
  return {
    isEnabled: row.is_enabled,
    threshold: row.threshold,
    blockedDomains: new Set(row.blocked_domains),
    updatedAt: row.updated_at,
  }
}
