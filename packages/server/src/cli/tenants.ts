/** `postrider tenant` and `postrider key`. They share their use cases with the admin API. */
import { type ApiKeyScope, apiKeyScopes, type KeyMode, keyModes } from '@postrider/contract'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { createClock } from '../platform/clock.ts'
import type { Db } from '../platform/db/index.ts'
import { parseDuration } from '../platform/values/duration.ts'
import { createApiKey, createTenant, pageOfApiKeys, revokeApiKey } from '../tenants/index.ts'
import { audited } from './audited.ts'
import { json, named, type Result, table } from './output.ts'
import { everyTenant, readAll } from './read-all.ts'
import { addTenantLimitCommands, type TenantCommandDeps } from './tenant-limits.ts'

export function addTenantCommands(program: Command, deps: TenantCommandDeps): void {
  const { onDatabase } = deps
  const tenant = program.command('tenant').description('tenants')
  tenant
    .command('create')
    .description('create a tenant and its first API key')
    .argument('<name>')
    .addOption(json())
    .action(onDatabase((db, name: string) => createTenantResult(db, name)))
  tenant
    .command('list')
    .description('list all tenants, newest first')
    .addOption(json())
    .action(onDatabase((db) => listTenantsResult(db)))
  addTenantLimitCommands(tenant, deps)

  const key = program.command('key').description('API keys')
  key
    .command('create')
    .description('create a further API key of a tenant')
    .argument('<tenant_id>')
    .option('--name <name>', 'for people')
    .addOption(
      new Option('--scope <scope...>', 'what it may do; without: everything').choices(apiKeyScopes),
    )
    .addOption(
      new Option('--expires <when>', 'RFC 3339 time, or a duration such as 90d').argParser(
        readExpiry,
      ),
    )
    .addOption(new Option('--mode <mode>', 'test: what it sends goes to nobody').choices(keyModes))
    .option('--network <cidr...>', 'where it may be used from, such as 203.0.113.0/24')
    .addOption(json())
    .action(
      onDatabase((db, tenantId: string, options: KeyOptions) =>
        createKeyResult(db, tenantId, options),
      ),
    )
  key
    .command('list')
    .description("list a tenant's API keys, newest first")
    .argument('<tenant_id>')
    .addOption(json())
    .action(onDatabase((db, tenantId: string) => listKeysResult(db, tenantId)))
  key
    .command('revoke')
    .description('revoke an API key; running services refuse it within two seconds')
    .argument('<key_id>')
    .addOption(json())
    .action(
      onDatabase(async (db, keyId: string) => {
        const work = () => revokeApiKey({ db }, keyId)
        await named(`There is no key ${keyId}`, () =>
          audited(db, { operation: 'revokeApiKey', target: keyId, work }),
        )
        return { json: { key_id: keyId }, text: `Revoked ${keyId}` }
      }),
    )
}

interface KeyOptions {
  readonly name?: string
  readonly scope?: ApiKeyScope[]
  readonly expires?: string
  readonly network?: readonly string[]
  readonly mode?: KeyMode
}

async function createTenantResult(db: Db, name: string): Promise<Result> {
  const { tenantId, keyId, apiKey } = await audited(db, {
    operation: 'createTenant',
    work: () => createTenant({ db }, { name }),
    madeOf: (made) => made.tenantId,
  })
  return {
    json: { tenant_id: tenantId, key_id: keyId, api_key: apiKey },
    text: `${table([
      ['tenant', tenantId],
      ['key', keyId],
      ['API key', apiKey],
    ])}\n\nThe API key is shown this once.`,
  }
}

async function listTenantsResult(db: Db): Promise<Result> {
  const tenants = await everyTenant(db)
  const lines = tenants.map(({ tenant_id, created_at, state, name }) => [
    ...[tenant_id, created_at, state, name],
  ])
  return { json: { tenants }, text: lines.length === 0 ? 'No tenants' : table([TENANTS, ...lines]) }
}

const TENANTS = ['TENANT', 'CREATED', 'STATE', 'NAME']
const KEYS = ['KEY', 'CREATED', 'MODE', 'SCOPES', 'REVOKED', 'EXPIRES', 'NAME']

async function createKeyResult(db: Db, tenantId: string, options: KeyOptions): Promise<Result> {
  const work = () =>
    createApiKey({ db, clock: createClock() }, tenantId, {
      ...(options.name === undefined ? {} : { name: options.name }),
      ...(options.scope === undefined ? {} : { scopes: [...new Set(options.scope)] }),
      ...(options.mode === undefined ? {} : { mode: options.mode }),
      ...(options.expires === undefined ? {} : { expires_at: options.expires }),
      ...(options.network === undefined ? {} : { networks: [...options.network] }),
    })
  const { keyId, apiKey } = await named(`There is no tenant ${tenantId}`, () =>
    audited(db, {
      ...{ operation: 'createApiKey', target: tenantId, work },
      madeOf: (made) => made.keyId,
    }),
  )
  return {
    json: { key_id: keyId, api_key: apiKey },
    text: `${table([
      ['key', keyId],
      ['API key', apiKey],
    ])}\n\nThe API key is shown this once.`,
  }
}

async function listKeysResult(db: Db, tenantId: string): Promise<Result> {
  const keys = await readAll(async (pageToken) => {
    const page = await named(`There is no tenant ${tenantId}`, () =>
      pageOfApiKeys({ db }, tenantId, { pageSize: 500, ...pageToken }),
    )
    return { items: page.keys, token: page.nextPageToken }
  })
  const lines = keys.map((key) => [
    key.key_id,
    key.created_at,
    key.mode,
    key.scopes.length === 0 ? 'everything' : key.scopes.join(','),
    key.revoked_at ?? '-',
    key.expires_at ?? '-',
    key.name ?? '-',
  ])
  return { json: { keys }, text: lines.length === 0 ? 'No keys' : table([KEYS, ...lines]) }
}

function readExpiry(text: string): string {
  const ms = parseDuration(text)
  if (ms !== undefined) return new Date(Date.now() + ms).toISOString()
  if (Number.isNaN(Date.parse(text)))
    throw new InvalidArgumentError('Give an RFC 3339 time, or a duration such as 90d.')
  return text
}
