/** What becomes of a request to send before and after its email is accepted: the same alone and in a batch. */
import { recipientTypes, type SendEmailBody } from '@postrider/contract'
import type { LinkFinder, TemplateRenderer } from '@postrider/mail'
import type { Queryable } from '../../platform/db/index.ts'
import { bucketOf } from '../../platform/db/leases.ts'
import type { Logger } from '../../platform/log.ts'
import { checkOwnData } from '../own-data/check-own-data.ts'
import { type OwnGiven, ownGivenOf, withTemplateData } from '../own-data/own-data.ts'
import { type OwnBudget, renderOwnData } from '../own-data/render-own-data.ts'
import type { WokenQueue } from '../queue/queue-wakeups.ts'
import { isBulk, type NewEmail } from '../record/email.ts'
import { type PlannedEmail, planTracking } from '../tracking/plan-tracking.ts'
import type { Accepted } from './accept-email.ts'
import { checkEmail, type SendDefaults } from './check-email.ts'
import { renderEmail } from './render-email.ts'
import { useTemplate } from './use-template.ts'
import { withoutLineEnds } from './without-line-ends.ts'

export interface ReadyDeps {
  readonly db: Queryable
  readonly templates: TemplateRenderer
  readonly links: Pick<LinkFinder, 'find'>
  readonly defaults: SendDefaults
}

export interface CheckedSend {
  readonly email: NewEmail
  /** Of its templates, where it has any. */
  readonly data: SendEmailBody['template_data']
  /** Of its recipients. */
  readonly own: readonly OwnGiven[]
}

/** With the stored template that it names. Throws the refusals of its fields. */
export async function checkSend(
  deps: Pick<ReadyDeps, 'db' | 'defaults'>,
  tenantId: string,
  body: SendEmailBody,
): Promise<CheckedSend> {
  const { filled, ...template } = await useTemplate(deps.db, tenantId, withTemplateData(body))
  const email = checkEmail(await withoutLineEnds(filled), deps.defaults)
  await checkOwnData(filled)
  return {
    email: { ...email, ...template },
    data: filled.template_data,
    // Nothing is rendered of a template that is not there.
    own: template.templateAbsence === undefined ? ownGivenOf(filled) : [],
  }
}

/**
 * Renders what was checked, and plans its tracking. Throws 429 and 503 as the threads do, and 400 where `budget`,
 * which is that of the request, is used up.
 */
export async function readyEmail(
  deps: ReadyDeps,
  tenantId: string,
  { email, data, own }: CheckedSend,
  budget: OwnBudget,
): Promise<PlannedEmail> {
  const rendered = await renderEmail(deps.templates, tenantId, email, data)
  const planned = await planTracking(deps.links, tenantId, rendered)
  if (own.length === 0) return planned
  return await renderOwnData(deps, tenantId, { email, data, own, budget }, planned)
}

/** Tells the log what an accepted email goes without. */
export function noteLeftOut(
  log: Logger,
  tenantId: string,
  o: { readonly accepted: Accepted; readonly leftOut: PlannedEmail['leftOut'] | undefined },
): void {
  const { accepted, leftOut } = o
  if (leftOut === undefined || accepted.isReplay) return
  const facts = { tenant_id: tenantId, ref_id: accepted.refId, left_out: leftOut }
  log.warn(facts, 'email.untracked')
}

/** The queue that an accepted email waits in now, if it does. */
export function wokenBy(tenantId: string, email: NewEmail, accepted: Accepted): WokenQueue[] {
  if (accepted.isReplay || accepted.isScheduled) return []
  const { mailerId } = accepted
  return [{ tenantId, mailerId, bucket: bucketOf(mailerId), isBulk: isBulk(email) }]
}

/** As answers show them: in the order in which they were checked and stored. */
export function listRecipients(body: SendEmailBody, { isScheduled, suppressed }: Accepted) {
  const refused = new Set(suppressed)
  const status = isScheduled ? 'scheduled' : 'queued'
  return recipientTypes
    .flatMap((type) => (body[type] ?? []).map(({ email }) => ({ email, type })))
    .map((one, n) => ({ ...one, status: refused.has(n) ? 'suppressed' : status }) as const)
}
