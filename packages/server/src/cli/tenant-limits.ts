/** `postrider tenant show|suspend|activate|delete|quota`. They share their use cases with the admin API. */
import { type QuotaName, quotaNames, type Tenant, type UpdateTenantBody } from '@postrider/contract'
import { type Command, InvalidArgumentError } from 'commander'
import type { Config } from '../config.ts'
import type { Db } from '../platform/db/index.ts'
import { countQueued } from '../sending/index.ts'
import { deleteTenant, getTenant, type UsageDeps, updateTenant } from '../tenants/index.ts'
import { audited } from './audited.ts'
import { json, named, type OnDatabase, type Result, table } from './output.ts'

export interface TenantCommandDeps {
  readonly onDatabase: OnDatabase
  readonly config: () => Config
}

export function addTenantLimitCommands(tenant: Command, deps: TenantCommandDeps): void {
  const depsOn = (db: Db): UsageDeps => {
    const { retentionMs, contentRetentionMs } = deps.config()
    return { db, countQueued, retentionMs, contentRetentionMs }
  }
  const change = (db: Db, tenantId: string, body: UpdateTenantBody) =>
    resultOf(tenantId, () =>
      audited(db, {
        ...{ operation: 'updateTenant', target: tenantId },
        work: (note) => updateTenant(depsOn(db), tenantId, body, note),
      }),
    )
  tenant
    .command('show')
    .description('show a tenant with its state, quotas and usage')
    .argument('<tenant_id>')
    .addOption(json())
    .action(
      deps.onDatabase((db, tenantId: string) =>
        resultOf(tenantId, () => getTenant(depsOn(db), tenantId)),
      ),
    )
  tenant
    .command('suspend')
    .description('let a tenant send nothing; its waiting mail is held')
    .argument('<tenant_id>')
    .addOption(json())
    .action(deps.onDatabase((db, id: string) => change(db, id, { state: 'suspended' })))
  tenant
    .command('activate')
    .description('let a suspended tenant send again; mail that was held goes out')
    .argument('<tenant_id>')
    .addOption(json())
    .action(deps.onDatabase((db, id: string) => change(db, id, { state: 'active' })))
  tenant
    .command('delete')
    .description(
      'delete a tenant with everything that it has, its users without another tenant too; it cannot be undone',
    )
    .argument('<tenant_id>')
    .requiredOption('--confirm <name>', 'its name')
    .addOption(json())
    .action(
      deps.onDatabase((db, id: string, options: { confirm: string }) =>
        deleteResult(db, id, options.confirm),
      ),
    )
  const quota = tenant
    .command('quota')
    .description('show the quotas of a tenant, or change those that are given')
    .argument('<tenant_id>')
  for (const name of quotaNames)
    quota.option(`--${name.replaceAll('_', '-')} <n>`, 'a number, or none', readQuota)
  quota.addOption(json()).action(
    deps.onDatabase((db, id: string, options: Record<string, Quota | boolean>) => {
      const quotas = quotasOf(options)
      return Object.keys(quotas).length === 0
        ? resultOf(id, () => getTenant(depsOn(db), id))
        : change(db, id, { quotas })
    }),
  )
}

/** As it is given: Commander knows no null. */
type Quota = number | 'none'

/** Commander has the names in camel case. */
function quotasOf(
  options: Record<string, Quota | boolean>,
): Partial<Record<QuotaName, number | null>> {
  const quotas: Partial<Record<QuotaName, number | null>> = {}
  for (const name of quotaNames) {
    const value = options[name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())]
    if (value === 'none') quotas[name] = null
    else if (typeof value === 'number') quotas[name] = value
  }
  return quotas
}

function readQuota(text: string): Quota {
  if (text === 'none') return text
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('Give a whole number, or none.')
  return Number(text)
}

async function deleteResult(db: Db, tenantId: string, confirm: string): Promise<Result> {
  const work = () => deleteTenant({ db }, tenantId, confirm)
  const tenant = await named(`There is no tenant ${tenantId}`, () =>
    audited(db, { operation: 'deleteTenant', target: tenantId, work }),
  )
  const text = `${tenantId} sends nothing more, and has no key. A running service with the role janitor removes the rest within 24 hours, and with it the users who have no other tenant.`
  return { json: { tenant }, text }
}

async function resultOf(tenantId: string, work: () => Promise<Tenant>): Promise<Result> {
  const tenant = await named(`There is no tenant ${tenantId}`, work)
  const { quotas, usage } = tenant
  const limited = (used: number | undefined, max: number | null) =>
    `${used ?? ''}${used === undefined ? '' : ' of '}${max ?? 'any number'}`
  return {
    json: { tenant },
    text: table([
      ['tenant', tenant.tenant_id],
      ['name', tenant.name],
      ['state', tenant.state],
      ['created', tenant.created_at],
      ['emails a second', limited(undefined, quotas.emails_per_second)],
      ['emails today', limited(usage.emails_today, quotas.emails_per_day)],
      ['queued', limited(usage.queued, quotas.queued_max)],
      ['stored bytes', limited(usage.storage_bytes, quotas.storage_bytes_max)],
    ]),
  }
}
