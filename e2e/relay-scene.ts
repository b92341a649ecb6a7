/**
 * What tests of relays share: a tenant with an account at one provider's fake, a sending domain of its
 * own, and receivers of its events; the providers in one form, so that a test runs over both.
 */
import type { Domain, Postrider } from '@postrider/client'
import type {
  CallbackBatch,
  CallbackShape,
  DnsServer,
  PeerRequest,
  PeerScript,
  SendGridServer,
  SparkPostServer,
  WebhookReceiver,
} from '@postrider/testkit'
import { eventsOf, type WireEvent, type World } from './world.ts'

export type ProviderKind = 'sparkpost' | 'sendgrid'

/** What becomes of a mail at the provider, in words that both have. */
export type Happening =
  | 'taken up'
  | 'delivered'
  | 'deferred'
  | 'bounced for good'
  | 'bounced for now'
  | 'bounced later'
  | 'complained'
  | 'unsubscribed'

export interface ProviderMail {
  readonly to: string
  readonly subject: string
  readonly id: string
  readonly meta: Readonly<Record<string, unknown>>
}

export interface Provider {
  readonly kind: ProviderKind
  readonly apiBase: string
  readonly requests: readonly PeerRequest[]
  readonly mails: readonly ProviderMail[]
  readonly batches: readonly CallbackBatch[]
  apiKey(): string
  setApiKey(apiKey: string): void
  setScript(script: PeerScript | undefined): void
  /** By the local part of the recipient; delivered, unless told otherwise. */
  setFates(fates: Readonly<Record<string, readonly Happening[]>>): void
  setCallbacks(shape: CallbackShape | 'manual'): void
  callBack(o?: CallbackShape & { readonly events?: readonly unknown[] }): Promise<CallbackBatch[]>
  /** Of one recipient's mail. */
  eventsOf(to: string, happenings: readonly Happening[]): unknown[]
  /** The headers that show that it sends these bytes. */
  signatureOf(body: Buffer): Readonly<Record<string, string>>
  waitForMails(count: number): Promise<unknown>
  callbacksSettled(): Promise<void>
}

export interface RelayScene {
  readonly client: Postrider
  readonly apiKey: string
  readonly provider: Provider
  readonly callbackUrl: string
  readonly domain: Domain
  /** An address of the domain. */
  readonly from: string
  readonly receiver: WebhookReceiver
  readonly domainReceiver: WebhookReceiver
  send(
    to: readonly string[],
    o?: { readonly mailerId?: string; readonly maxAttempts?: number },
  ): Promise<string>
  /** What was told of one email, `MAIL_DELIVERED ada`, once there is so much. */
  told(refId: string, count: number): Promise<string[]>
  statusesOf(refId: string): Promise<Record<string, string>>
}

export interface RelaySceneOptions {
  readonly world: World
  readonly dns: DnsServer
  readonly kind: ProviderKind
}

const SECRET = 'a-secret-that-only-the-provider-knows'
/** Everything that a webhook can be told of. */
const events = {
  delivery: true,
  open: true,
  click: true,
  bounce: true,
  spam: true,
  unsubscribe: true,
  policy_rejection: true,
  generation_failure: true,
  generation_rejection: true,
  smtp_error: true,
}
let scenes = 0

/** Its domain is published and verified, unless `isVerified` is false. */
export async function createRelayScene(
  { world, dns, kind }: RelaySceneOptions,
  { isVerified = true } = {},
): Promise<RelayScene> {
  scenes += 1
  const [{ client, apiKey }, receiver, domainReceiver, provider] = await Promise.all([
    world.newTenant(),
    world.newReceiver(),
    world.newReceiver(),
    kind === 'sparkpost' ? sparkPost(world, dns) : sendGrid(world, dns),
  ])
  await client.registerWebhook({
    webhook_url: `${receiver.origin}/`,
    event: 'EMAIL_EVENT',
    method: 'POST',
    webhook_options: { events },
  })
  await client.registerWebhook({
    webhook_url: `${domainReceiver.origin}/`,
    event: 'DOMAIN_VERIFICATION',
    method: 'POST',
  })
  const { relay } = await client.configureRelay(provider.account())
  await provider.register(relay.callback_url)
  const name = `scene${scenes}.sender.test`
  const { domain } = await client.addDomain({ domain: name, custom_args: { scene: scenes } })
  if (isVerified) {
    dns.publish(domain.records)
    await client.verifyDomain(name)
    await domainReceiver.waitForRequests(1)
    domainReceiver.clear()
  }
  const from = `news@${name}`
  const eventsOfEmail = (refId: string) =>
    eventsOf(receiver.requests).filter(({ details }) => details.ref_id === refId)
  return {
    client,
    apiKey,
    provider,
    callbackUrl: relay.callback_url,
    domain,
    from,
    receiver,
    domainReceiver,
    async send(to, { mailerId, maxAttempts } = {}) {
      const { ref_id } = await client.sendEmail({
        from: { email: from, name: 'The News' },
        to: to.map((one) => ({ email: `${one}@recipient.test` })),
        subject: 'Hello',
        content: [
          { type: 'text/plain', value: 'Hi there.' },
          { type: 'text/html', value: '<p>Hi {{there}}.</p>' },
        ],
        custom_args: { order: 12 },
        ...(mailerId === undefined ? {} : { mailer_id: mailerId }),
        ...(maxAttempts === undefined ? {} : { settings: { max_attempts: maxAttempts } }),
      })
      return ref_id
    },
    async told(refId, count) {
      await receiver.waitUntil(() => eventsOfEmail(refId).length >= count)
      return eventsOfEmail(refId).map(inShort)
    },
    async statusesOf(refId) {
      const { logs } = await client.getEmailLogs({ refId })
      return Object.fromEntries(logs.map(({ email, status }) => [localPart(email), status]))
    },
  }
}

/** `SMTP_ERROR 1 retry ada`, `MAIL_DELIVERED bob`. */
export function inShort({ event, details }: WireEvent): string {
  const who = (details.email as string[]).map(localPart).join(' ')
  if (event !== 'SMTP_ERROR') return `${event} ${who}`
  const follow = details.retry_scheduled === true ? 'retry' : 'final'
  return `${event} ${details.attempt} ${follow} ${who}`
}

function localPart(address: string): string {
  return address.slice(0, address.indexOf('@'))
}

interface Made extends Provider {
  account(): Parameters<Postrider['configureRelay']>[0]
  /** What a tenant does at the provider. */
  register(callbackUrl: string): Promise<void>
}

const DELIVERED: readonly Happening[] = ['taken up', 'delivered']

async function sparkPost(world: World, dns: DnsServer): Promise<Made> {
  const server: SparkPostServer = await world.newSparkPost({ dnsServer: dns.address })
  const soft = { bounce_class: '22', error_code: '552', raw_reason: '552 5.2.2 Mailbox full' }
  const steps = {
    'taken up': 'injection',
    delivered: 'delivery',
    deferred: 'delay',
    'bounced for good': { type: 'bounce', num_retries: '2' },
    'bounced for now': { type: 'bounce', ...soft, num_retries: '7' },
    'bounced later': 'out_of_band',
    complained: 'spam_complaint',
    unsubscribed: 'list_unsubscribe',
  } as const
  const toSteps = (happenings: readonly Happening[]) => happenings.map((one) => steps[one])
  return {
    ...common(server),
    kind: 'sparkpost',
    setFates: (fates) => server.setFate(({ to }) => toSteps(fates[localPart(to)] ?? DELIVERED)),
    eventsOf: (to, happenings) => server.eventsOf(mailTo(server.mails, to), toSteps(happenings)),
    signatureOf: () => ({ 'X-Callback-Secret': SECRET }),
    account: () => ({
      kind: 'sparkpost',
      api_key: server.apiKey,
      api_base: server.apiBase,
      callback_secret: SECRET,
    }),
    register: (target) =>
      server.registerWebhook({ target, customHeaders: { 'X-Callback-Secret': SECRET } }),
  }
}

async function sendGrid(world: World, dns: DnsServer): Promise<Made> {
  const server: SendGridServer = await world.newSendGrid({ dnsServer: dns.address })
  const steps = {
    'taken up': 'processed',
    delivered: 'delivered',
    deferred: 'deferred',
    'bounced for good': 'bounce',
    'bounced for now': { event: 'bounce', type: 'blocked', reason: '552 5.2.2 Mailbox full' },
    'bounced later': { event: 'bounce', sg_message_id: undefined, ip: undefined },
    complained: 'spamreport',
    unsubscribed: 'unsubscribe',
  } as const
  const toSteps = (happenings: readonly Happening[]) => happenings.map((one) => steps[one])
  return {
    ...common(server),
    kind: 'sendgrid',
    setFates: (fates) => server.setFate(({ to }) => toSteps(fates[localPart(to)] ?? DELIVERED)),
    eventsOf: (to, happenings) => server.eventsOf(mailTo(server.mails, to), toSteps(happenings)),
    signatureOf: server.signatureOf,
    account: () => ({
      kind: 'sendgrid',
      api_key: server.apiKey,
      api_base: server.apiBase,
      verification_key: server.verificationKey,
    }),
    register: async (url) => server.setWebhook(url),
  }
}

function common(server: SparkPostServer | SendGridServer) {
  return {
    apiBase: server.apiBase,
    requests: server.requests,
    mails: server.mails,
    batches: server.batches,
    apiKey: () => server.apiKey,
    setApiKey: server.setApiKey,
    setScript: server.setScript,
    setCallbacks: server.setCallbacks,
    callBack: server.callBack,
    waitForMails: server.waitForMails,
    callbacksSettled: server.callbacksSettled,
  }
}

function mailTo<M extends ProviderMail>(mails: readonly M[], to: string): M {
  const found = mails.find((one) => localPart(one.to) === to)
  if (found === undefined) throw new Error(`the provider has no mail to ${to}`)
  return found
}
