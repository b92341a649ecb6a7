/**
 * The main job in less than a minute, with nothing outside this machine (`npm run demo`).
 *
 * Starts the service on an embedded PostgreSQL in a temporary directory, an SMTP server that defers
 * one recipient and refuses another, and a webhook receiver; sends four mails, reads one of them as a
 * person would, then two more by a simulated relay provider, and prints each webhook request as it
 * arrives. Ends by itself: with 0 when every expected event came, else 1. With `--keep` it goes on until Ctrl-C,
 * to look around in the dashboard.
 */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { findFreePort } from './free-port.ts'
import { createSmtpServer } from './smtp-server.ts'
import { type RunningService, startService } from './start-service.ts'
import { createWebhookReceiver, type WebhookRequest } from './webhook-receiver.ts'

const EVENTS_WITHIN_MS = 40_000

interface DemoEvent {
  readonly event: string
  readonly details: {
    readonly email: readonly string[]
    readonly message_id: string
    readonly failed_reason: string
    readonly attempt?: number
    readonly max_attempts?: number
    readonly retry_scheduled?: boolean
    readonly provider_error?: string
    readonly tracking: Readonly<Record<string, string | boolean>>
  }
}

/** Each mail with the events that it must cause, in order. */
const mails = [
  { to: 'ada@example.com', about: 'is delivered at once', events: ['MAIL_DELIVERED'] },
  {
    to: 'busy@example.com',
    about: 'is deferred and then delivered',
    events: ['SMTP_ERROR 1, retry', 'MAIL_DELIVERED'],
  },
  {
    to: 'nobody@example.com',
    about: 'is refused for good',
    events: ['SMTP_ERROR 1, final'],
  },
  {
    to: 'grace@example.com',
    about: 'is delivered, opened and clicked',
    events: ['MAIL_DELIVERED', 'MAIL_OPENED', 'MAIL_CLICKED'],
  },
] as const
/** By the simulator, from a sending domain: what stands before the `@` says what happens. */
const relayed = [
  { to: 'delivered@example.com', about: 'is delivered by relay', events: ['MAIL_DELIVERED'] },
  { to: 'bounce-hard@example.com', about: 'bounces', events: ['MAIL_BOUNCE'] },
] as const
const reader = 'grace@example.com'
const linkedPage = 'https://www.example.com/parcels/1234?lang=en'
/** Who is quicker is taken for a robot. */
const READS_AFTER_MS = 3_500
const BROWSER =
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36'

const { values: options } = parseArgs({
  options: {
    keep: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
if (options.help) {
  process.stdout.write(
    'npm run demo [-- --keep]\n\nSends mail on scripted servers for a minute, and shows the webhooks.\n  --keep  goes on until Ctrl-C, to look around in the dashboard\n',
  )
  process.exit(0)
}
const startedAt = performance.now()
const dataDir = mkdtempSync(join(tmpdir(), 'postrider-demo-'))
const closers: (() => Promise<unknown>)[] = []
try {
  await run()
  say('Every expected event has arrived.')
  if (options.keep) await waitForEnd()
  else say('To look around in the dashboard afterwards: npm run demo -- --keep')
} catch (error) {
  say(`The demo failed: ${error instanceof Error ? error.message : String(error)}`)
  process.exitCode = 1
} finally {
  for (const close of closers.reverse()) await close()
  rmSync(dataDir, { recursive: true, force: true })
}

async function run(): Promise<void> {
  const smtp = await createSmtpServer({
    script: {
      'busy@example.com': ['450 4.2.1 Mailbox busy, try again later', 'ok'],
      'nobody@example.com': ['550 5.1.1 No such user here'],
    },
  })
  closers.push(() => smtp.close())
  const receiver = await createWebhookReceiver({ onRequest: show })
  closers.push(() => receiver.close())
  say(`An SMTP server listens on port ${smtp.port}, a webhook receiver on ${receiver.origin}`)

  say('Starting the service on an embedded PostgreSQL; the first start makes its database ...')
  const apiKey = `demo-${randomBytes(24).toString('hex')}`
  const service = await startService({
    // A small or busy machine takes longer than a test may.
    readyTimeoutMs: 120_000,
    env: {
      DATA_DIR: dataDir,
      // Links in mail name it.
      PORT: await findFreePort(),
      API_KEY: apiKey,
      ALLOW_NETWORKS: '127.0.0.0/8',
      ALLOW_HTTP_WEBHOOKS: 'true',
      SEND_RETRY_SCHEDULE: '2s',
      LOG_LEVEL: 'info',
    },
  })
  closers.push(() => service.stop())
  say(`The service is at ${service.origin}`)
  await addUser(service)

  const call = (path: string, body: object, method?: string) =>
    request(`${service.origin}${path}`, { apiKey, body, method })
  const { webhook_id } = await call('/v1/webhook/register', {
    webhook_url: `${receiver.origin}/events`,
    event: 'EMAIL_EVENT',
    method: 'POST',
    headers: { 'X-Demo-Secret': 'the receiver knows us by this' },
    webhook_options: {
      events: { delivery: true, smtp_error: true, open: true, click: true, bounce: true },
    },
  })
  say(`POST /v1/webhook/register   ${webhook_id}`)
  const { mailer } = await call('/v1/smtp', {
    name: 'Demo',
    email: 'hello@example.com',
    config_type: 'smtp',
    connection_type: 'basic',
    config: { host: smtp.host, port: smtp.port, secure: 'None' },
  })
  say(`POST /v1/smtp               ${(mailer as { mailer_id: string }).mailer_id}`)
  const send = async (from: string, { to, about }: { to: string; about: string }) => {
    const { ref_id } = await call('/v1/email/send', {
      from: { email: from, name: 'Postrider demo' },
      to: [{ email: to }],
      subject: `This mail ${about}`,
      content: [
        { type: 'text/plain', value: `Hello, this mail ${about}.\n` },
        {
          type: 'text/html',
          value: `<p>Hello, <a href="${linkedPage}">this mail</a> ${about}.</p>`,
        },
      ],
      custom_args: { demo: true },
      settings: { max_attempts: 3, open_tracking: true, click_tracking: true },
    })
    say(`POST /v1/email/send         ${ref_id} to ${to}: ${about}`)
  }
  for (const mail of mails) await send('hello@example.com', mail)
  await call('/v1/relay/simulator', {}, 'PUT')
  const { domain } = await call('/v1/domain', { domain: 'relay.example.com' })
  const { mailer_id, verified } = domain as { mailer_id: string; verified: boolean }
  say(`POST /v1/domain             ${mailer_id}, ${verified ? 'verified' : 'not verified'}`)
  for (const mail of relayed) await send('hello@relay.example.com', mail)
  await receiver.waitUntil((requests) => eventsFor(reader, requests).length > 0, EVENTS_WITHIN_MS)
  await setTimeout(READS_AFTER_MS)
  await read(smtp.messages.find((one) => one.recipients.includes(reader))?.raw.toString() ?? '')
  await receiver.waitUntil(isComplete, EVENTS_WITHIN_MS)
  say(`The SMTP server has accepted ${smtp.messages.map((one) => one.recipients).join(' and ')}.`)
}

/** By the set-up link, as the page of the dashboard does it that the link leads to. */
async function addUser(service: RunningService): Promise<void> {
  const link = (await service.process.waitForLine(/\/app\/setup#/)).trim()
  const email = 'demo@example.com'
  const password = `demo-${randomBytes(9).toString('base64url')}`
  const body = { token: new URL(link).hash.slice(1), email, name: 'Demo', password }
  await request(`${service.origin}/ui/invitation`, { body })
  say(`The dashboard is at ${service.origin}/app/: log in with ${email} and ${password}`)
}

async function waitForEnd(): Promise<void> {
  say('The service goes on until Ctrl-C.')
  // A promise alone keeps no process running; the servers of the demo do.
  await new Promise((resolve) => process.once('SIGINT', resolve).once('SIGTERM', resolve))
}

/** What a mail program loads when it shows the message, and a browser when its link is followed. */
async function read(message: string): Promise<void> {
  const html = message.replaceAll('=\r\n', '').replaceAll('=3D', '=')
  const [pixel, link] = [/http\S+\/t\/o\/[^"]+/, /http\S+\/t\/c\/[^"]+/].map(
    (one) => one.exec(html)?.[0],
  )
  if (pixel === undefined || link === undefined) throw new Error('the mail is not tracked')
  const opened = await browse(pixel)
  say(`GET the pixel               ${opened.status} ${opened.headers.get('content-type')}`)
  const clicked = await browse(link)
  say(`GET the link                ${clicked.status} to ${clicked.headers.get('location')}`)
}

async function browse(url: string): Promise<Response> {
  const answer = await fetch(url, { redirect: 'manual', headers: { 'user-agent': BROWSER } })
  await answer.arrayBuffer()
  return answer
}

function isComplete(requests: readonly WebhookRequest[]): boolean {
  return [...mails, ...relayed].every(
    ({ to, events }) => eventsFor(to, requests).map(name).join() === events.join(),
  )
}

function eventsFor(to: string, requests: readonly WebhookRequest[]): DemoEvent[] {
  const events = requests.flatMap((request) => request.json as DemoEvent[])
  return events.filter((event) => event.details.email.includes(to))
}

function name({ event, details }: DemoEvent): string {
  if (event !== 'SMTP_ERROR') return event
  return `${event} ${details.attempt}, ${details.retry_scheduled ? 'retry' : 'final'}`
}

function show(request: WebhookRequest): void {
  say(`WEBHOOK ${request.request}: ${request.method} ${request.path}`)
  for (const header of ['X-Demo-Secret', 'traceparent']) {
    write(`             ${header}: ${request.header(header)}`)
  }
  for (const { event, details } of request.json as DemoEvent[]) {
    write(`           * ${event} for ${details.email}`)
    if (event === 'SMTP_ERROR') {
      const follow = details.retry_scheduled ? 'another will follow' : 'no other will follow'
      write(`             attempt ${details.attempt} of ${details.max_attempts}, ${follow}`)
      write(`             ${details.failed_reason} (${details.provider_error})`)
    } else {
      write(`             message_id ${details.message_id}`)
      if (details.failed_reason !== '') write(`             ${details.failed_reason}`)
    }
    const { bot, browser_name, os, url } = details.tracking
    if (browser_name)
      write(`             by ${bot ? 'a robot' : 'a person'} with ${browser_name} on ${os}`)
    if (url) write(`             ${url}`)
  }
}

async function request(
  url: string,
  o: { readonly apiKey?: string; readonly body: object; readonly method?: string | undefined },
): Promise<Record<string, unknown>> {
  const response = await fetch(url, {
    method: o.method ?? 'POST',
    headers: {
      ...(o.apiKey === undefined ? {} : { authorization: `Bearer ${o.apiKey}` }),
      'content-type': 'application/json',
    },
    body: JSON.stringify(o.body),
  })
  const answer = (await response.json()) as Record<string, unknown>
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${JSON.stringify(answer)}`)
  return answer
}

function say(text: string): void {
  write(`[${((performance.now() - startedAt) / 1000).toFixed(1).padStart(5)} s] ${text}`)
}

function write(line: string): void {
  process.stdout.write(`${line}\n`)
}
