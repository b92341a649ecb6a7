/** `postrider suppression review`: bounces behind suppressions, judged again, over all tenants. */
import { type Command, Option } from 'commander'
import type { Config } from '../config.ts'
import { type Lift, type ReviewedSuppression, reviewSuppressions } from '../feedback/index.ts'
import { printable } from '../mailers/index.ts'
import { withCurrentDatabase } from '../operator-database.ts'
import type { Db } from '../platform/db/index.ts'
import { timeOfUlid } from '../platform/ids.ts'
import type { Logger } from '../platform/log.ts'
import { audited } from './audited.ts'
import { json } from './output.ts'
import { tenantIdsOf } from './read-all.ts'

export interface SuppressionCommandDeps {
  readonly config: () => Config
  readonly log: Logger
  readonly out: (text: string) => void
}

interface ReviewOptions {
  readonly apply?: boolean
  readonly tenant?: string
  readonly json?: boolean
}

export function addReviewCommand(group: Command, deps: SuppressionCommandDeps): void {
  group
    .command('review')
    .description('list suppressions for a bounce whose reports do not suffice, or are gone')
    .option('--apply', 'lift those whose reports do not suffice')
    .addOption(new Option('--tenant <tenant_id>', 'only of this tenant'))
    .addOption(json())
    .action((options: ReviewOptions) =>
      withCurrentDatabase({ config: deps.config(), log: deps.log }, (db) =>
        review(db, options, deps.out),
      ),
    )
}

/** Printed as it is found: there may be more than memory holds. */
async function review(db: Db, options: ReviewOptions, out: (text: string) => void): Promise<void> {
  const isApplied = options.apply === true
  const counts = { reviewed: 0, sufficient: 0, insufficient: 0, unknown: 0, lifted: 0 }
  let separator = ''
  if (options.json === true) out('{"suppressions":[')
  for (const tenantId of await tenantIdsOf(db, options.tenant)) {
    const lift: Lift = (work) => audited(db, { operation: 'suppression review', tenantId, work })
    let before: string | undefined
    do {
      const page = await reviewSuppressions(
        { db },
        { tenantId, before, ...(isApplied ? { lift } : {}) },
      )
      for (const one of page.reviewed) {
        counts.reviewed += 1
        counts[one.verdict] += 1
        if (one.verdict === 'sufficient') continue
        if (options.json === true) out(`${separator}${JSON.stringify(toJson(tenantId, one))}`)
        else out(`${lineOf(tenantId, one)}\n`)
        separator = ','
      }
      counts.lifted += page.lifted
      before = page.next
    } while (before !== undefined)
  }
  if (options.json === true) out(`],"applied":${isApplied},"counts":${JSON.stringify(counts)}}\n`)
  else out(`${separator === '' ? '' : '\n'}${summary(counts, isApplied)}\n`)
}

function toJson(tenantId: string, { email, id, verdict, classified, reason }: ReviewedSuppression) {
  return {
    tenant_id: tenantId,
    email,
    suppressed_at: timeOfUlid(id).toISOString(),
    verdict,
    classified: classified ?? null,
    reason: reason ?? null,
  }
}

function lineOf(tenantId: string, one: ReviewedSuppression): string {
  const { email, id, verdict, classified, reason } = one
  const because =
    classified === undefined
      ? 'no report is kept'
      : `${classified.category}, by ${classified.by.replace('_', ' ')}: ${printable(classified.evidence)} | ${printable(reason ?? '')}`
  const at = `${timeOfUlid(id).toISOString().slice(0, 19)}Z`
  return [verdict, tenantId, at, printable(email), because].join('  ')
}

function summary(
  counts: {
    readonly reviewed: number
    readonly sufficient: number
    readonly insufficient: number
    readonly unknown: number
    readonly lifted: number
  },
  isApplied: boolean,
): string {
  const { reviewed, sufficient, insufficient, unknown, lifted } = counts
  const lines = [
    `Reviewed ${reviewed} addresses that are suppressed for a bounce: ${sufficient} sufficient, ${insufficient} insufficient, ${unknown} unknown.`,
  ]
  if (isApplied) lines.push(`Lifted ${lifted}: mail to them is sent again.`)
  else if (insufficient > 0)
    lines.push('Nothing was changed: --apply lifts the insufficient ones, and no other.')
  return lines.join('\n')
}
