/**
 * SendGrid on loopback, as strict as its documents (its OpenAPI document, docs.sendgrid.com): mail
 * send, authenticated domains, the event webhook with its signature.
 *
 * Unless told otherwise every domain validates, every mail is delivered, and what happens is reported
 * at once to the webhook, if there is one.
 */
import { isUtf8 } from 'node:buffer'
import { randomBytes } from 'node:crypto'
import type { CallbackBatch } from './callbacks.ts'
import { createDnsLook } from './dns-look.ts'
import { isJsonType, type PeerReply, type PeerRequest } from './http-peer.ts'
import { createRelayServer, type Relay, type RelayServer } from './relay-server.ts'
import { createSendGridDomains, type SendGridDomains } from './sendgrid-domains.ts'
import { SENDGRID, sendGridError } from './sendgrid-errors.ts'
import { type SendGridStep, sendGridEvent, sendGridTestEvents } from './sendgrid-events.ts'
import { type SendGridMail, takeSendGridMail } from './sendgrid-mail.ts'
import {
  createSendGridWebhooks,
  type SendGridCallbackShape,
  type SendGridSigning,
} from './sendgrid-webhooks.ts'

export interface SendGridServerOptions {
  readonly apiKey?: string
  /** Where it asks for records, as `127.0.0.1:5353`; else domains validate, or as a script says. */
  readonly dnsServer?: string
}

/** What becomes of a mail, in order. */
export type SendGridFate = (mail: SendGridMail) => readonly SendGridStep[]

export interface SendGridServer
  extends RelayServer<SendGridMail, SendGridStep, SendGridCallbackShape> {
  /** As an account is told it. */
  readonly apiBase: string
  /** Of the signatures of its callbacks: base64 of the SPKI, as it shows it. */
  readonly verificationKey: string
  readonly domains: SendGridDomains
  /** What its key may do, as `mail.send`. Everything until told otherwise. */
  setScopes(scopes: readonly string[] | undefined): void
  /** Nothing is asked of the address: `test` posts to it. */
  setWebhook(url: string | undefined): void
  /** Callbacks are signed until told otherwise. */
  setSigning(signing: SendGridSigning): void
  /** The headers with which it would post these bytes now. */
  signatureOf(body: Buffer): Readonly<Record<string, string>>
  /** Posts one event of each kind, of no mail that was sent. */
  test(): Promise<CallbackBatch[]>
}

const DELIVERED: readonly SendGridStep[] = ['processed', 'delivered']
const VERBS: Readonly<Record<string, string>> = {
  GET: 'read',
  POST: 'create',
  PATCH: 'update',
  DELETE: 'delete',
}
const WEBHOOK_SCOPES = ['read', 'update', 'create'].map((verb) => `user.webhooks.event.${verb}`)
const DOMAIN_SCOPES = Object.values(VERBS).map((verb) => `whitelabel.${verb}`)
const ALL_SCOPES = ['mail.send', ...DOMAIN_SCOPES, ...WEBHOOK_SCOPES]

export async function createSendGridServer(o: SendGridServerOptions = {}): Promise<SendGridServer> {
  const domains = createSendGridDomains(
    o.dnsServer === undefined ? undefined : createDnsLook(o.dnsServer),
  )
  const webhooks = createSendGridWebhooks({ postTo: (...args) => relay.postTo(...args) })
  let scopes: readonly string[] = ALL_SCOPES

  const send = ({ method, json, body }: PeerRequest): PeerReply => {
    if (method !== 'POST') return SENDGRID.methodNotAllowed
    const { reply, mails } = takeSendGridMail(json, body.length, {
      isVerified: domains.isVerified,
      newId: () => randomBytes(16).toString('base64url'),
      nowMs: Date.now(),
    })
    relay.take(mails)
    return reply
  }

  const takeUp = (request: PeerRequest): PeerReply | Promise<PeerReply> => {
    const [version, ...path] = request.path.slice(1).split('/').map(decodeURIComponent)
    if (version !== 'v3') return SENDGRID.notFound
    const [first, second, ...rest] = path
    if (path.join('/') === 'scopes') return { status: 200, json: { scopes } }
    if (!scopes.includes(scopeOf(request.method, path))) return SENDGRID.forbidden
    if (path.join('/') === 'mail/send') return send(request)
    if (first === 'whitelabel' && second === 'domains') return domains.handle(request, rest)
    if (first === 'user' && second === 'webhooks' && rest[0] === 'event')
      return webhooks.handle(request, rest.slice(1).join('/'))
    return SENDGRID.notFound
  }

  const relay: Relay<SendGridMail, SendGridStep, SendGridCallbackShape> = await createRelayServer({
    apiKey: o.apiKey ?? newApiKey(),
    delivered: DELIVERED,
    eventOf: sendGridEvent,
    mannerOf: webhooks.manner,
    findRefusal,
    takeUp,
  })
  const { server } = relay
  return Object.assign(server, {
    apiBase: server.origin,
    verificationKey: webhooks.verificationKey,
    domains,
    setScopes(next: readonly string[] = ALL_SCOPES) {
      scopes = next
    },
    setWebhook: webhooks.setUrl,
    setSigning: webhooks.setSigning,
    signatureOf: (body: Buffer) =>
      webhooks.signatureOf(body, String(Math.floor(Date.now() / 1000))),
    test: async () => server.callBack({ events: sendGridTestEvents(Date.now()), attemptsMax: 1 }),
  })
}

function newApiKey(): string {
  return `SG.${randomBytes(16).toString('base64url')}.${randomBytes(32).toString('base64url')}`
}

/** Of an address that it does not have: one that every key has. */
function scopeOf(method: string, [first, second, third]: readonly string[]): string {
  if (first === 'whitelabel') return `whitelabel.${VERBS[method] ?? 'read'}`
  if (first === 'user') return `${first}.${second}.${third}.${VERBS[method] ?? 'read'}`
  return 'mail.send'
}

function findRefusal(request: PeerRequest, apiKey: string): PeerReply | undefined {
  const { method, headers, body, json } = request
  if (headers.authorization !== `Bearer ${apiKey}`) return SENDGRID.unauthorized
  if (!['POST', 'PATCH', 'PUT'].includes(method) || body.length === 0) return undefined
  if (!isJsonType(request)) return SENDGRID.unsupportedType
  if (!isUtf8(body)) return SENDGRID.notUtf8
  return json === undefined
    ? sendGridError(400, { message: 'Bad Request', field: null })
    : undefined
}
