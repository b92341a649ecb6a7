/**
 * The operator's command line: `postrider <command>` (contract §1).
 *
 * Commands share their use cases with the admin API. Results go to stdout, as text for people or,
 * with `--json`, as one JSON document; whatever else is said goes to stderr.
 * Exit codes: 0 done, 1 refused or failed, 2 not usable as it was called or configured.
 */
import { readFileSync } from 'node:fs'
import { type ApiKeyScope, apiKeyScopes } from '@postrider/contract'
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander'
import { ConfigError, type Environment, loadConfig } from './config.ts'
import { examine } from './doctor.ts'
import { migrationsDir, withCurrentDatabase, withDatabase } from './operator-database.ts'
import { createClock } from './platform/clock.ts'
import { type Db, migrate } from './platform/db/index.ts'
import { parseDuration } from './platform/duration.ts'
import { ApiError } from './platform/errors.ts'
import { createLogger } from './platform/log.ts'
import {
  createApiKey,
  createTenant,
  pageOfApiKeys,
  pageOfTenants,
  revokeApiKey,
} from './tenants/index.ts'

export interface CliIo {
  readonly env: Environment
  out(text: string): void
  err(text: string): void
}

interface Result {
  readonly json: object
  readonly text: string
}

/** Resolves with the exit code. */
export async function runCli(args: readonly string[], io: CliIo): Promise<number> {
  let exitCode = 0
  const program = buildProgram(io, (code) => {
    exitCode = code
  })
  try {
    await program.parseAsync([...args], { from: 'user' })
    return exitCode
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    io.err(`${explain(error)}\n`)
    return error instanceof ConfigError ? 2 : 1
  }
}

function buildProgram(io: CliIo, setExitCode: (code: number) => void): Command {
  const log = createLogger({
    level: 'warn',
    destination: { write: (line: string) => io.err(line) },
  })
  const program = new Command('postrider')
    .description('Email delivery with an exact ledger and webhooks that are never lost')
    .version(version())
    .exitOverride()
    .configureOutput({ writeOut: io.out, writeErr: io.err })
    .showHelpAfterError('(add --help for how to use it)')

  /** An action on the database, on whichever the configuration names. */
  function onDatabase<A extends unknown[]>(work: (db: Db, ...args: A) => Promise<Result>) {
    return async (...args: A) => {
      const config = loadConfig(io.env, { isForServing: false })
      const result = await withCurrentDatabase({ config, log }, (db) => work(db, ...args))
      io.out(isJson(args) ? `${JSON.stringify(result.json)}\n` : `${result.text}\n`)
    }
  }

  program
    .command('serve')
    .description('run the service (what `npm start` does)')
    .action(async () => {
      // The whole service: the other commands start in half the time without it.
      const { serve } = await import('./main.ts')
      setExitCode(await serve(loadConfig(io.env), io.out))
    })

  program
    .command('migrate')
    .description('bring the database up to date')
    .addOption(json())
    .action(async (options: { json?: boolean }) => {
      const config = loadConfig(io.env, { isForServing: false })
      const { applied } = await withDatabase({ config, log }, ({ url }) =>
        migrate({ url, dir: migrationsDir, log }),
      )
      const text = applied.length === 0 ? 'Up to date' : `Applied ${applied.join(', ')}`
      io.out(options.json === true ? `${JSON.stringify({ applied })}\n` : `${text}\n`)
    })

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
        await named(`There is no key ${keyId}`, () => revokeApiKey({ db }, keyId))
        return { json: { key_id: keyId }, text: `Revoked ${keyId}` }
      }),
    )

  program
    .command('doctor')
    .description('check configuration, secrets, disk and database')
    .addOption(json())
    .action(async (options: { json?: boolean }) => {
      const findings = await examine(io.env, log)
      const isFit = findings.every(({ state }) => state !== 'failed')
      if (!isFit) setExitCode(1)
      const lines = findings.map((f) => [MARKS[f.state], f.check, f.detail])
      io.out(
        options.json === true
          ? `${JSON.stringify({ ok: isFit, findings })}\n`
          : `${table(lines)}\n\n${isFit ? 'Fit to run.' : 'Not fit to run.'}\n`,
      )
    })
  return program
}

const MARKS = { ok: 'ok', warning: 'warn', failed: 'FAIL' } as const

interface KeyOptions {
  readonly name?: string
  readonly scope?: ApiKeyScope[]
  readonly expires?: string
}

async function createTenantResult(db: Db, name: string): Promise<Result> {
  const { tenantId, keyId, apiKey } = await createTenant({ db }, { name })
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
  const tenants = await readAll(async (pageToken) => {
    const page = await pageOfTenants({ db }, { pageSize: 500, ...pageToken })
    return { items: page.tenants, token: page.nextPageToken }
  })
  const lines = tenants.map((tenant) => [tenant.tenant_id, tenant.created_at, tenant.name])
  return { json: { tenants }, text: lines.length === 0 ? 'No tenants' : table(lines) }
}

async function createKeyResult(db: Db, tenantId: string, options: KeyOptions): Promise<Result> {
  const { keyId, apiKey } = await named(`There is no tenant ${tenantId}`, () =>
    createApiKey({ db, clock: createClock() }, tenantId, {
      ...(options.name === undefined ? {} : { name: options.name }),
      ...(options.scope === undefined ? {} : { scopes: [...new Set(options.scope)] }),
      ...(options.expires === undefined ? {} : { expires_at: options.expires }),
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
    key.scopes.length === 0 ? 'everything' : key.scopes.join(','),
    key.revoked_at === null ? '' : `revoked ${key.revoked_at}`,
    key.expires_at === null ? '' : `expires ${key.expires_at}`,
    key.name ?? '',
  ])
  return { json: { keys }, text: lines.length === 0 ? 'No keys' : table(lines) }
}

/** The API's "Not Found" says too little where the id came from a terminal. */
async function named<T>(absence: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'not_found') throw error
    throw new ApiError('not_found', { message: absence })
  }
}

async function readAll<T>(
  readPage: (pageToken: {
    pageToken?: string
  }) => Promise<{ items: T[]; token: string | undefined }>,
): Promise<T[]> {
  const all: T[] = []
  let token: string | undefined
  do {
    const page = await readPage(token === undefined ? {} : { pageToken: token })
    all.push(...page.items)
    token = page.token
  } while (token !== undefined)
  return all
}

function version(): string {
  const file = new URL('../package.json', import.meta.url)
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
}

function json(): Option {
  return new Option('--json', 'print JSON')
}

/** Commander hands an action its arguments, its options and the command itself, in this order. */
function isJson(args: readonly unknown[]): boolean {
  const options = args.at(-2)
  return typeof options === 'object' && options !== null && Reflect.get(options, 'json') === true
}

function readExpiry(text: string): string {
  const ms = parseDuration(text)
  if (ms !== undefined) return new Date(Date.now() + ms).toISOString()
  if (Number.isNaN(Date.parse(text)))
    throw new InvalidArgumentError('Give an RFC 3339 time, or a duration such as 90d.')
  return text
}

function table(rows: readonly (readonly string[])[]): string {
  const widths: number[] = []
  for (const row of rows)
    for (const [column, text] of row.entries())
      widths[column] = Math.max(widths[column] ?? 0, text.length)
  return rows
    .map((row) =>
      row
        .map((text, column) => text.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

function explain(error: unknown): string {
  if (error instanceof ApiError && error.errors !== undefined)
    return error.errors.map(({ path, message }) => `${path.slice(1)} ${message}`).join('\n')
  if (!(error instanceof Error)) return String(error)
  const cause = error.cause instanceof Error ? `: ${error.cause.message}` : ''
  return `${error.message}${cause}`
}
