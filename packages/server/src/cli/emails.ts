/** `postrider email`: why a mail failed, and which did. Over all tenants, by the database itself. */
import type { EmailLog, RecipientStatus, TracedEmail } from '@postrider/contract'
import { parseAddress } from '@postrider/mail'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { getEmail, listLogs } from '../activity/index.ts'
import { observeMailers, printable } from '../mailers/index.ts'
import { type Db, readInOrder } from '../platform/db/index.ts'
import { ApiError } from '../platform/errors.ts'
import { dayOfUlid, isUlid } from '../platform/ids.ts'
import { parseTimeSpan } from '../platform/values/date-time.ts'
import { parseDuration } from '../platform/values/duration.ts'
import { findTenantOf } from '../sending/index.ts'
import { findSuppressed } from '../suppressions/index.ts'
import { findHeldTenants } from '../tenants/index.ts'
import { addEmailChanges, type ChangeEmailDeps } from './change-emails.ts'
import { json, type Result, table } from './output.ts'
import { tenantIdsOf } from './read-all.ts'
import { emailText } from './show-email.ts'

/** One screen. */
const LISTED_MAX = 50
const LATEST_MAX = 10
/** Of one tenant's logs, while few fit. */
const PAGES_MAX = 20
const FAILED: readonly RecipientStatus[] = ['failed', 'bounced', 'expired', 'blocked']

interface ShowOptions {
  readonly tenant?: string
}

interface ListOptions extends ShowOptions {
  readonly failed?: true
  readonly since?: string
}

export function addEmailCommands(program: Command, deps: ChangeEmailDeps): void {
  const { onDatabase } = deps
  const email = program.command('email').description('emails: what happened to them, and why')
  email
    .command('show')
    .description('show an email with its attempts; for an address the latest one to it')
    .argument('<ref_id|address>')
    .addOption(new Option('--tenant <tenant_id>', 'only of this tenant'))
    .addOption(json())
    .action(onDatabase((db, what: string, options: ShowOptions) => showResult(db, what, options)))
  email
    .command('list')
    .description('list the latest recipients, newest first')
    .option('--failed', 'only those who failed, bounced, expired or were blocked')
    .addOption(new Option('--tenant <tenant_id>', 'only of this tenant'))
    .addOption(
      new Option(
        '--since <when>',
        'accepted since then: RFC 3339 time, date, or a duration ago such as 6h',
      ).argParser(readSince),
    )
    .addOption(json())
    .action(onDatabase((db, options: ListOptions) => listResult(db, options)))
  addEmailChanges(email, deps)
}

function readSince(text: string): string {
  const agoMs = parseDuration(text)
  if (agoMs !== undefined) return new Date(Math.max(0, Date.now() - agoMs)).toISOString()
  if (parseTimeSpan(text) === undefined)
    throw new InvalidArgumentError('Give an RFC 3339 time, a date, or a duration such as 6h.')
  return text
}

async function showResult(db: Db, what: string, options: ShowOptions): Promise<Result> {
  const tenantIds = await tenantIdsOf(db, options.tenant)
  if (isUlid(what.toUpperCase())) return await showOne(db, what.toUpperCase(), tenantIds)
  if (!what.includes('@'))
    throw new ApiError('not_found', {
      message: `${printable(what)} is neither a ref_id nor an address`,
    })
  const parsed = parseAddress(what)
  if (!parsed.ok)
    throw new ApiError('not_found', { message: `${printable(what)} ${parsed.problem}` })
  const latest = await collect(db, tenantIds, LATEST_MAX, { email: what })
  const [newest, ...earlier] = latest
  if (newest === undefined)
    throw new ApiError('not_found', { message: `There is no email to ${printable(what)}` })
  const shown = await showOne(db, newest.ref_id, [newest.tenant_id], what)
  const others =
    earlier.length === 0 ? '' : `\n\nEarlier emails to this address:\n${table(earlier.map(lineOf))}`
  return { json: { ...shown.json, logs: latest }, text: `${shown.text}${others}` }
}

async function showOne(
  db: Db,
  refId: string,
  tenantIds: readonly string[],
  recipient?: string,
): Promise<Result> {
  const absence = new ApiError('not_found', { message: `There is no email ${printable(refId)}` })
  const tenantId = await findTenantOf(db, tenantIds, { refId, day: dayOfUlid(refId) })
  if (tenantId === undefined) throw absence
  const email = await getEmail(
    { db },
    tenantId,
    refId,
    recipient === undefined ? {} : { recipient },
  )
  const [observed] = await readInOrder(db, (tx) =>
    observeMailers(tx, [{ tenantId, mailerId: email.mailer_id }]),
  )
  const mailer = observed?.mailer
  const isTenantSuspended =
    (await findHeldTenants(db, [tenantId])).get(tenantId)?.state === 'suspended'
  const suppressed = await suppressedOf(db, tenantId, email)
  const about = { tenantId, email, mailer, isTenantSuspended, suppressed }
  const text = emailText({ ...about, nowMs: Date.now() })
  return { json: { tenant_id: tenantId, email }, text }
}

/** Of those who bounced. */
async function suppressedOf(db: Db, tenantId: string, { recipients }: TracedEmail) {
  const bounced = recipients.flatMap(({ status, email }) => {
    const parsed = parseAddress(email)
    return status === 'bounced' && parsed.ok
      ? { tenantId, email, address: parsed.address.address }
      : []
  })
  const are = await findSuppressed(db, bounced)
  return new Set(bounced.flatMap(({ email }, i) => (are[i] === true ? email : [])))
}

type ListedLog = EmailLog & { readonly tenant_id: string }

async function listResult(db: Db, options: ListOptions): Promise<Result> {
  const tenantIds = await tenantIdsOf(db, options.tenant)
  const statuses = options.failed === true ? FAILED : [undefined]
  const found: ListedLog[] = []
  for (const status of statuses)
    found.push(
      ...(await collect(db, tenantIds, LISTED_MAX, {
        ...(status === undefined ? {} : { status }),
        ...(options.since === undefined ? {} : { startCreatedAt: options.since }),
      })),
    )
  const logs = newestOf(found, LISTED_MAX)
  const more = logs.length < LISTED_MAX ? '' : ` The newest ${LISTED_MAX} are shown.`
  const text =
    logs.length === 0
      ? 'No emails'
      : `${table([HEAD, ...logs.map(lineOf)])}\n\nWhy one of them failed: postrider email show REF_ID.${more}`
  return { json: { logs }, text }
}

/** The newest of all tenants. Bounded: a page looks at a bounded number of recipients. */
async function collect(
  db: Db,
  tenantIds: readonly string[],
  max: number,
  filters: Parameters<typeof listLogs>[2],
): Promise<ListedLog[]> {
  let found: ListedLog[] = []
  for (const tenantId of tenantIds) {
    const own: ListedLog[] = []
    let token: { pageToken?: string } = {}
    for (let pages = 0; pages < PAGES_MAX; pages++) {
      const page = await listLogs({ db }, tenantId, { ...filters, ...token, pageSize: max })
      own.push(...page.logs.map((log) => ({ ...log, tenant_id: tenantId })))
      if (page.nextPageToken === undefined || own.length >= max) break
      token = { pageToken: page.nextPageToken }
    }
    found = newestOf([...found, ...own], max)
  }
  return found
}

function newestOf(logs: readonly ListedLog[], max: number): ListedLog[] {
  return logs.toSorted((a, b) => (a.ref_id < b.ref_id ? 1 : -1)).slice(0, max)
}

const HEAD = ['ACCEPTED', 'REF ID', 'TENANT', 'STATUS', 'RECIPIENT', 'REASON']
const REASON_CHARS_MAX = 60

function lineOf(log: ListedLog): string[] {
  const reason = printable(log.failed_reason)
  return [
    `${log.created_at.slice(0, 19)}Z`,
    log.ref_id,
    log.tenant_id,
    log.status,
    printable(log.email),
    reason.length > REASON_CHARS_MAX ? `${reason.slice(0, REASON_CHARS_MAX)}…` : reason,
  ]
}
