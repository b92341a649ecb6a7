/**
 * Finds what of an email is to be tracked, once, when it is accepted and its templates are rendered:
 * all recipients and attempts have the same places, whatever a later version would find.
 *
 * HTML with more than can be tracked is sent as it was written: the mail matters more than what is
 * known of it afterwards.
 */
import type { LinkFinder } from '@postrider/mail'
import type { EmailTracking, NewEmail } from '../record/email.ts'

export interface PlannedEmail {
  readonly email: NewEmail
  /** What was asked for and is left out, and why; for the log. */
  readonly leftOut?: 'all: the HTML takes too long' | 'clicks: too many links'
}

/** Throws 429 and 503 as the finder does. */
export async function planTracking(
  finder: Pick<LinkFinder, 'find'>,
  tenantId: string,
  email: NewEmail,
): Promise<PlannedEmail> {
  const { content, tracking: asked } = email
  const { html } = content
  const isInHtml = html !== undefined && (asked.opens || asked.clicks)
  if (content.templateProblem !== undefined || !(isInHtml || asked.unsubscribes)) return { email }
  const plan = (tracking: Omit<EmailTracking, 'unsubscribes'>): NewEmail => {
    const { unsubscribes } = asked
    return { ...email, content: { ...content, tracking: { ...tracking, unsubscribes } } }
  }
  if (!isInHtml) return { email: plan({}) }
  const found = await finder.find(tenantId, html)
  if (found === undefined) return { email: plan({}), leftOut: 'all: the HTML takes too long' }
  const { links, urls, pixelAt, hasTooManyLinks } = found
  const isClickable = asked.clicks && links.length > 0
  const planned = plan({
    ...(asked.opens ? { pixelAt } : {}),
    ...(isClickable ? { links } : {}),
  })
  return {
    email: isClickable ? { ...planned, links: urls } : planned,
    ...(asked.clicks && hasTooManyLinks ? { leftOut: 'clicks: too many links' } : {}),
  }
}
