/** What tests of inbound mail share: a tenant with a routed domain, and receivers of what comes by it. */
import type { Postrider } from '@postrider/client'
import type { IncomingEmail } from '@postrider/contract'
import type { DnsServer, WebhookReceiver, WebhookRequest } from '@postrider/testkit'
import type { World } from './world.ts'

export interface InboundScene {
  readonly client: Postrider
  readonly apiKey: string
  readonly domain: string
  /** Of the domain's webhook. */
  readonly receiver: WebhookReceiver
  /** Of the tenant's EMAIL_EVENT webhook. */
  readonly mailReceiver: WebhookReceiver
}

let scenes = 0

/** Its domain is published and proven. */
export async function createInboundScene(
  { world, dns }: { readonly world: World; readonly dns: DnsServer },
  domain = `scene${++scenes}.routed.test`,
): Promise<InboundScene> {
  const [{ client, apiKey }, receiver, mailReceiver] = await Promise.all([
    world.newTenant(),
    world.newReceiver(),
    world.newReceiver(),
  ])
  await client.registerWebhook({
    webhook_url: `${mailReceiver.origin}/`,
    event: 'EMAIL_EVENT',
    method: 'POST',
    webhook_options: { events: { delivery: true, bounce: true, spam: true } },
  })
  const configured = await client.configureInboundRouting({ domain, url: `${receiver.origin}/in` })
  dns.publish(configured.inbound_domain.records)
  const { inbound_domain } = await client.getInboundDomain(domain)
  if (!inbound_domain.verified) throw new Error(`${domain} is not verified`)
  return { client, apiKey, domain, receiver, mailReceiver }
}

/** With CRLF line ends; fields are added to the usual ones. */
export function letterOf(
  id: string,
  o: { readonly fields?: readonly string[]; readonly body?: string } = {},
): string {
  return [
    'From: Ada <ada@sender.test>',
    'To: desk@routed.test',
    `Subject: About ${id}`,
    `Message-ID: <${id}@sender.test>`,
    'Date: Fri, 20 Nov 2026 10:00:00 +0000',
    ...(o.fields ?? ['Content-Type: text/plain; charset=utf-8']),
    '',
    o.body ?? `Text of ${id}\r\n`,
  ].join('\r\n')
}

export function incomingOf({ json }: WebhookRequest): IncomingEmail {
  const event = json as IncomingEmail
  if (event.event !== 'INCOMING_EMAIL') throw new Error(`not mail: ${event.event}`)
  return event
}

/** A report that a message could not be delivered (RFC 3464). */
export function bounceOf(o: {
  readonly id: string
  readonly messageId: string
  readonly recipient: string
}): string {
  return letterOf(o.id, {
    fields: [
      'MIME-Version: 1.0',
      'Auto-Submitted: auto-replied',
      'Content-Type: multipart/report; report-type=delivery-status; boundary=bound',
    ],
    body: [
      '--bound',
      'Content-Type: text/plain',
      '',
      'Your mail could not be delivered.',
      '--bound',
      'Content-Type: message/delivery-status',
      '',
      'Reporting-MTA: dns; mx.recipient.test',
      '',
      `Final-Recipient: rfc822; ${o.recipient}`,
      'Action: failed',
      'Status: 5.1.1',
      'Diagnostic-Code: smtp; 550 5.1.1 user unknown',
      '',
      '--bound',
      'Content-Type: text/rfc822-headers',
      '',
      `Message-ID: ${o.messageId}`,
      `To: ${o.recipient}`,
      '',
      '--bound--',
      '',
    ].join('\r\n'),
  })
}

/** A complaint about a message (RFC 5965). */
export function complaintOf(o: {
  readonly id: string
  readonly messageId: string
  readonly recipient: string
}): string {
  return letterOf(o.id, {
    fields: [
      'MIME-Version: 1.0',
      'Content-Type: multipart/report; report-type=feedback-report; boundary=bound',
    ],
    body: [
      '--bound',
      'Content-Type: text/plain',
      '',
      'This is an abuse report.',
      '--bound',
      'Content-Type: message/feedback-report',
      '',
      'Feedback-Type: abuse',
      'User-Agent: Complaints/1.0',
      'Version: 1',
      `Original-Rcpt-To: <${o.recipient}>`,
      '',
      '--bound',
      'Content-Type: message/rfc822',
      '',
      `Message-ID: ${o.messageId}`,
      `To: ${o.recipient}`,
      'Subject: Hello',
      '',
      'Hi there.',
      '--bound--',
      '',
    ].join('\r\n'),
  })
}
