/**
 * `postrider email content`, `retry`, `cancel` and `rescue`: what an email says, and what is done about many at
 * once, by as many calls of the service as it takes.
 */
import { type OperationId, recipientTypes } from '@postrider/contract'
import { type Command, Option } from 'commander'
import type { Config } from '../config.ts'
import { printable } from '../mailers/index.ts'
import type { Db } from '../platform/db/index.ts'
import { ApiError } from '../platform/errors.ts'
import { dayOfUlid, isUlid } from '../platform/ids.ts'
import { findTenantOf, getContent } from '../sending/index.ts'
import { callService, serviceUrl } from './call-service.ts'
import { json, type OnDatabase, ofTenant, onTenant, type Result } from './output.ts'
import { tenantIdsOf, theTenant } from './read-all.ts'

export interface ChangeEmailDeps {
  readonly onDatabase: OnDatabase
  readonly config: () => Config
  readonly print: (result: Result, options: { readonly json?: boolean }) => void
}

interface ChangeOptions {
  readonly tenant?: string
  readonly all?: true
  readonly to?: string
  readonly domain?: string
  readonly status?: string
  readonly subject?: string
  readonly campaign?: string
  readonly reason?: string
  readonly type?: string
  readonly since?: string
  readonly until?: string
  readonly mailer?: string
  readonly dryRun?: true
  readonly url?: string
  readonly json?: boolean
}

const CHANGES = {
  retry: { id: 'retryEmails', done: 'Retried', says: 'try recipients again now who wait' },
  cancel: { id: 'cancelEmails', done: 'Cancelled', says: 'send no more to recipients who wait' },
  rescue: { id: 'rescueEmails', done: 'Rescued', says: 'send again to recipients who failed' },
} as const satisfies Record<string, { id: OperationId; done: string; says: string }>

/** A million recipients, and as many that do not fit. */
const CALLS_MAX = 1_000

export function addEmailChanges(email: Command, deps: ChangeEmailDeps): void {
  email
    .command('content')
    .description('show what an email says: subject, text, and its attachments by name')
    .argument('<ref_id>')
    .addOption(new Option('--tenant <tenant_id>', 'only of this tenant'))
    .addOption(json())
    .action(
      deps.onDatabase((db, refId: string, options: { readonly tenant?: string }) =>
        contentResult(db, refId.toUpperCase(), options.tenant),
      ),
    )
  for (const [name, { says }] of Object.entries(CHANGES)) {
    const command = email
      .command(name)
      .description(`${says}; in a running service, for one tenant`)
      .argument('[ref_id...]', 'only of these emails')
      .addOption(ofTenant('the tenant; where there are several, and no ref_id tells it'))
      .option('--all', 'all of the tenant, where nothing else is chosen')
      .option('--to <address>', 'only this recipient')
      .option('--domain <domain>', 'only recipients of this domain')
      .option('--status <status>', 'only recipients with this status')
      .option('--subject <text>', 'only emails with this in the subject')
      .option('--campaign <campaign_id>', 'only emails of this campaign')
      .option(
        '--reason <failed_reason>',
        'only recipients whose mail failed or waits for this reason',
      )
      .addOption(new Option('--type <type>', 'only such recipients').choices(recipientTypes))
      .option('--since <time>', 'accepted since then')
      .option('--until <time>', 'accepted until then')
      .option('--dry-run', 'only count')
      .addOption(serviceUrl())
      .addOption(json())
    if (name === 'rescue') command.option('--mailer <mailer_id>', 'send with this mailer')
    command.action((refIds: string[], options: ChangeOptions, self: Command) =>
      onTenant(
        deps,
        { owner: (db) => tenantOfEmails(db, refIds), options, command: self },
        (tenant) =>
          change(deps.config(), name as keyof typeof CHANGES, refIds, { ...options, tenant }),
      ),
    )
  }
}

/** The first ref_id tells it; without any, there must be one tenant alone. */
async function tenantOfEmails(db: Db, [first]: readonly string[]): Promise<string> {
  if (first === undefined) return await theTenant(db, undefined)
  const refId = first.toUpperCase()
  const owner = isUlid(refId)
    ? await findTenantOf(db, await tenantIdsOf(db, undefined), { refId, day: dayOfUlid(refId) })
    : undefined
  if (owner !== undefined) return owner
  throw new ApiError('not_found', { message: `There is no email ${printable(first)}` })
}

async function contentResult(db: Db, refId: string, tenant: string | undefined): Promise<Result> {
  const tenantIds = await tenantIdsOf(db, tenant)
  const tenantId = isUlid(refId)
    ? await findTenantOf(db, tenantIds, { refId, day: dayOfUlid(refId) })
    : undefined
  if (tenantId === undefined)
    throw new ApiError('not_found', { message: `There is no email ${printable(refId)}` })
  const content = await getContent(db, tenantId, refId)
  const names = (list: readonly { readonly email: string }[]) =>
    list.map(({ email }) => printable(email)).join(', ')
  const lines = [
    `tenant   ${tenantId}`,
    `from     ${names([content.from])}`,
    `to       ${names(content.to)}`,
    ...(content.cc.length === 0 ? [] : [`cc       ${names(content.cc)}`]),
    `subject  ${printable(content.subject)}`,
    ...content.attachments.map(
      ({ filename, type, size }) =>
        `file     ${printable(filename)} (${printable(type)}, ${size} bytes)`,
    ),
    ...content.parts.flatMap(({ type, value }) => [
      '',
      `${type}:`,
      ...value.split('\n').map((line) => `  ${printableLine(line)}`),
    ]),
  ]
  return { json: { tenant_id: tenantId, content }, text: lines.join('\n') }
}

/** However long it is. */
function printableLine(line: string): string {
  const pieces = line.match(/.{1,400}/gsu) ?? []
  return pieces.map(printable).join('')
}

async function change(
  config: Config,
  name: keyof typeof CHANGES,
  refIds: readonly string[],
  o: ChangeOptions & { readonly tenant: string },
): Promise<Result> {
  const { id, done } = CHANGES[name]
  const filter = filterOf(o)
  if (refIds.length === 0 && Object.keys(filter).length === 0 && o.all !== true)
    throw new Error('Say which: ref_ids, an option such as --to or --since, or --all')
  const body = {
    ...(refIds.length === 0 ? { filter } : { ref_ids: refIds.map((one) => one.toUpperCase()) }),
    ...(refIds.length > 0 && Object.keys(filter).length > 0 ? { filter } : {}),
    ...(o.mailer === undefined ? {} : { mailer_id: o.mailer }),
    ...(o.dryRun === true ? { dry_run: true } : {}),
  }
  const counts = { matched: 0, changed: 0 }
  let page: { readonly pageToken?: string } = {}
  for (let calls = 0; calls < CALLS_MAX; calls++) {
    const answer = await callService(config, id, {
      tenantId: o.tenant,
      body: { ...body, ...page },
      url: o.url,
    })
    counts.matched += Number(answer.matched)
    counts.changed += Number(answer.changed ?? answer.rescued)
    const token = answer.nextPageToken
    if (typeof token !== 'string') return resultOf(done, counts, o.dryRun === true, false)
    page = { pageToken: token }
  }
  return resultOf(done, counts, o.dryRun === true, true)
}

function resultOf(
  done: string,
  counts: { readonly matched: number; readonly changed: number },
  isDry: boolean,
  isCut: boolean,
): Result {
  const { matched, changed } = counts
  const more = isCut ? '. There may be more: run the command again' : ''
  const text = isDry
    ? `${matched} recipients fit, and nothing was changed${more}`
    : `${done} ${changed} of ${matched} recipients that fit${more}`
  return { json: { ...counts, is_complete: !isCut }, text }
}

function filterOf(o: ChangeOptions): object {
  const { to: email, domain: recipientDomain, status, subject, campaign: campaignId } = o
  const { type: recipientType, since: startCreatedAt, until: endCreatedAt } = o
  const filter = { email, recipientDomain, status, subject, campaignId, failedReason: o.reason }
  const given = Object.entries({ ...filter, recipientType, startCreatedAt, endCreatedAt })
  return Object.fromEntries(given.filter(([, value]) => value !== undefined))
}
