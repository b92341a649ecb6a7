/** Emails whose recipients have data of their own, accepted as the route does it, and one of them. */
import type { SendEmailBody } from '@postrider/contract'
import { createTemplateRenderer } from '@postrider/mail'
import { afterAll } from 'vitest'
import { noDiskGuard } from '../src/platform/process/disk-guard.ts'
import { createAcceptEmails } from '../src/sending/accept/accept-email.ts'
import { checkSend, readyEmail } from '../src/sending/accept/ready-email.ts'
import { createOwnBudget } from '../src/sending/own-data/render-own-data.ts'
import { noUsageCounts, type SendingWorld, TRACEPARENT } from './sender.ts'
import { emailBody, findLinkOffsets } from './sending.ts'

const links = { find: async (_: string, html: string) => findLinkOffsets(html) }
const defaults = { maxAttempts: 5, expiresInMs: 86_400_000 }

export function useOwnData(world: Pick<SendingWorld, 'db'>) {
  const templates = createTemplateRenderer()
  afterAll(() => templates.stop())

  async function ready(change: Partial<SendEmailBody>, budget = createOwnBudget()) {
    const deps = { db: world.db, templates, links, defaults }
    const checked = await checkSend(deps, 'tn_a', emailBody(change))
    return readyEmail(deps, 'tn_a', checked, budget)
  }

  /** Answers its ref_id. */
  async function accept(change: Partial<SendEmailBody>, budget = createOwnBudget()) {
    const { email } = await ready(change, budget)
    const emails = createAcceptEmails({
      db: world.db,
      failpoints: { hit: () => undefined },
      disk: noDiskGuard,
      usageCounts: noUsageCounts,
    })
    const request = { tenantId: 'tn_a', email, traceparent: TRACEPARENT, isTest: false }
    return (await emails.accept(request)).refId
  }

  return { ready, accept }
}

export const order: Partial<SendEmailBody> = {
  subject: 'Order {{ id }} of {{ shop }}',
  content: [{ type: 'text/html', value: '<p>{{ name }} at {{ shop }}</p>' }],
  template_data: { shop: 'Tea', name: 'friend' },
  custom_args: { run: 7, list: 'all' },
  to: [
    {
      email: 'ada@example.com',
      template_data: { name: 'Ada', id: 1 },
      custom_args: { list: 'gold', ada: true },
    },
    { email: 'bob@example.com', template_data: { name: 'Bob', id: 2 } },
    { email: 'cy@example.com' },
  ],
  bcc: [{ email: 'dee@example.com' }],
}
export const OWN_ARGS = { run: 7, list: 'gold', ada: true }
export const SHARED_ARGS = { run: 7, list: 'all' }
