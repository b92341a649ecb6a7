/** `postrider suppression`: the addresses that a tenant does not send to. */
import { createReadStream } from 'node:fs'
import {
  type Suppression,
  type SuppressionFormat,
  type SuppressionReason,
  suppressionFormats,
  suppressionReasons,
} from '@postrider/contract'
import { createConcurrencyLimiter } from '@postrider/runtime/concurrency-limiter'
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { Config } from '../config.ts'
import { printable } from '../mailers/index.ts'
import { withCurrentDatabase } from '../operator-database.ts'
import { createClock } from '../platform/clock.ts'
import type { Db } from '../platform/db/index.ts'
import { ApiError } from '../platform/errors.ts'
import type { Logger } from '../platform/log.ts'
import { parseDuration } from '../platform/values/duration.ts'
import {
  addSuppression,
  exportSuppressions,
  getSuppression,
  type ImportResult,
  importSuppressions,
  pageOfSuppressions,
  subscribeEmail,
} from '../suppressions/index.ts'
import { audited } from './audited.ts'
import { json, named, type OnDatabase, ofTenant, type Result, table } from './output.ts'
import { theTenant } from './read-all.ts'
import { addReviewCommand } from './suppressions.ts'

export interface TenantSuppressionDeps {
  readonly config: () => Config
  readonly log: Logger
  readonly onDatabase: OnDatabase
  readonly out: (text: string) => void
}

/** One screen. */
const LISTED_MAX = 50
/** Of a source: who asked. */
const OPERATOR = 'operator'

interface OfTenant {
  readonly tenant?: string
}
interface ListOptions extends OfTenant {
  readonly reason?: SuppressionReason
}
interface AddOptions extends ListOptions {
  readonly note?: string
  readonly expires?: string
}
interface ImportOptions extends OfTenant {
  readonly format: SuppressionFormat
}

export function addTenantSuppressionCommands(program: Command, deps: TenantSuppressionDeps): void {
  const { onDatabase } = deps
  const group = program
    .command('suppression')
    .description('addresses that a tenant does not send to')
  const command = (name: string, about: string) =>
    group.command(name).description(about).addOption(ofTenant()).addOption(json())
  const reason = () => new Option('--reason <reason>', 'why').choices(suppressionReasons)

  command('list', 'list the newest suppressions')
    .addOption(reason())
    .action(onDatabase((db, options: ListOptions) => listResult(db, options)))
  command('show', 'show why an address is suppressed')
    .argument('<address>')
    .action(onDatabase((db, email: string, options: OfTenant) => showResult(db, email, options)))
  command('add', 'suppress an address')
    .argument('<address>')
    .addOption(reason())
    .option('--note <text>', 'for people')
    .addOption(
      new Option('--expires <when>', 'RFC 3339 time, or a duration such as 90d').argParser(readEnd),
    )
    .action(onDatabase((db, email: string, options: AddOptions) => addResult(db, email, options)))
  command('remove', 'send to an address again')
    .argument('<address>')
    .action(onDatabase((db, email: string, options: OfTenant) => removeResult(db, email, options)))
  command('import', 'suppress the addresses of a CSV file; - for standard input')
    .argument('<file>')
    .addOption(
      new Option('--format <format>', 'whose export it is')
        .choices(suppressionFormats)
        .default('postrider'),
    )
    .action(
      onDatabase((db, file: string, options: ImportOptions) =>
        importResult({ db, log: deps.log }, file, options),
      ),
    )
  addReviewCommand(group, deps)
  command('export', 'print all suppressions as CSV').action((options: OfTenant) =>
    withCurrentDatabase({ config: deps.config(), log: deps.log }, (db) =>
      printAll(db, options, deps.out),
    ),
  )
}

function tenantOf(db: Db, { tenant }: OfTenant): Promise<string> {
  return theTenant(db, tenant)
}

async function listResult(db: Db, options: ListOptions): Promise<Result> {
  const { reason } = options
  const { suppressions } = await pageOfSuppressions({ db }, await tenantOf(db, options), {
    pageSize: LISTED_MAX,
    ...(reason === undefined ? {} : { reason }),
  })
  if (suppressions.length === 0) return { json: { suppressions }, text: 'No suppressions' }
  const more =
    suppressions.length < LISTED_MAX
      ? ''
      : `\n\nThe newest ${LISTED_MAX} are shown. All of them: postrider suppression export.`
  return { json: { suppressions }, text: `${table([HEAD, ...suppressions.map(lineOf)])}${more}` }
}

const HEAD = ['SINCE', 'REASON', 'ADDRESS', 'UNTIL', 'SOURCE', 'NOTE']

function lineOf({ created_at, reason, email, expires_at, source, note }: Suppression): string[] {
  return [
    toSeconds(created_at),
    reason,
    printable(email),
    expires_at === null ? '-' : toSeconds(expires_at),
    source === null ? '-' : printable(Object.values(source).join(' ')),
    note === null ? '' : printable(note),
  ]
}

function toSeconds(at: string): string {
  return `${at.slice(0, 19)}Z`
}

function absence(email: string, tenantId: string): string {
  return `${printable(email)} is not suppressed for ${tenantId}`
}

async function showResult(db: Db, email: string, options: OfTenant): Promise<Result> {
  const tenantId = await tenantOf(db, options)
  const suppression = await named(absence(email, tenantId), () =>
    getSuppression({ db }, tenantId, email),
  )
  return { json: { suppression }, text: table([HEAD, lineOf(suppression)]) }
}

async function addResult(db: Db, email: string, options: AddOptions): Promise<Result> {
  const { reason, note, expires } = options
  const tenantId = await tenantOf(db, options)
  const work = () =>
    addSuppression(
      { db, clock: createClock() },
      { tenantId, keyId: OPERATOR },
      {
        email,
        ...(reason === undefined ? {} : { reason }),
        ...(note === undefined ? {} : { note }),
        ...(expires === undefined ? {} : { expires_at: expires }),
      },
    )
  const added = await audited(db, { operation: 'addSuppression', tenantId, target: email, work })
  const held = table([HEAD, lineOf(added.suppression)])
  return { json: added, text: added.changed ? held : `${held}\n\n${UNCHANGED}` }
}

const UNCHANGED = 'Nothing was changed: the address is suppressed for a stronger reason.'

async function removeResult(db: Db, email: string, options: OfTenant): Promise<Result> {
  const tenantId = await tenantOf(db, options)
  await audited(db, {
    ...{ operation: 'deleteSuppression', tenantId, target: email },
    async work() {
      if (await subscribeEmail({ db }, { tenantId, email })) return
      throw new ApiError('not_found', { message: absence(email, tenantId) })
    },
  })
  return {
    json: { email, tenant_id: tenantId },
    text: `Removed: mail to ${printable(email)} is sent again`,
  }
}

async function importResult(
  deps: { readonly db: Db; readonly log: Logger },
  file: string,
  options: ImportOptions,
): Promise<Result> {
  const tenantId = await tenantOf(deps.db, options)
  const batches = createConcurrencyLimiter({
    ...{ name: 'batches', atOnceMax: 1, atOncePerCallerMax: 1, waitingPerCallerMax: 1 },
  })
  const order = { tenantId, callerId: OPERATOR, format: options.format }
  const work = () => {
    // Opened when it is read: nobody else would hear that it cannot be.
    const pieces = file === '-' ? process.stdin : createReadStream(file)
    const importDeps = { ...deps, batches, clock: createClock() }
    return importSuppressions(importDeps, order, pieces as AsyncIterable<Buffer>)
  }
  const imported = await audited(deps.db, { operation: 'importSuppressions', tenantId, work })
  return { json: imported, text: importText(imported) }
}

const NAMED_MAX = 20

function importText({ added, known, refused, refused_count: count }: ImportResult): string {
  const lines = [`Added ${added}, known before ${known}, refused ${count}.`]
  for (const { line, message } of refused.slice(0, NAMED_MAX))
    lines.push(`line ${line}: ${printable(message)}`)
  if (count > NAMED_MAX) lines.push(`and ${count - NAMED_MAX} more`)
  return lines.join('\n')
}

async function printAll(db: Db, options: OfTenant, out: (text: string) => void): Promise<void> {
  const tenantId = await tenantOf(db, options)
  const pages = await exportSuppressions({ db }, tenantId, new AbortController().signal)
  for await (const text of pages) out(text)
}

function readEnd(text: string): string {
  const ms = parseDuration(text)
  if (ms !== undefined) return new Date(Date.now() + ms).toISOString()
  if (Number.isNaN(Date.parse(text)))
    throw new InvalidArgumentError('Give an RFC 3339 time, or a duration such as 90d.')
  return text
}
