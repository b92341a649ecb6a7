/**
 * SendGrid on loopback, as strict as its documents (its OpenAPI document, docs.sendgrid.com): mail
 * send, authenticated domains, the event webhook with its signature.
 *
 * Unless told otherwise every domain validates, every mail is delivered, and what happens is reported
 * at once to the webhook, if there is one.
 */
import { isUtf8 } from 'node:buffer'
import {
  createPrivateKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
} from 'node:crypto'
import {
  type CallbackBatch,
  type CallbackManner,
  type CallbackShape,
  createCaller,
} from './callbacks.ts'
import { createDnsLook } from './dns-look.ts'
import { createHttpPeer, type PeerReply, type PeerRequest, type PeerScript } from './http-peer.ts'
import { createSendGridDomains, type SendGridDomains } from './sendgrid-domains.ts'
import { SENDGRID, sendGridError, toSendGridError } from './sendgrid-errors.ts'
import {
  type SendGridStep,
  sendGridEvent,
  sendGridTestEvents,
  writeSendGridBatch,
} from './sendgrid-events.ts'
import { type SendGridMail, takeSendGridMail } from './sendgrid-mail.ts'
import { BOOLEAN, findProblems, record, STRING } from './shapes.ts'

export interface SendGridServerOptions {
  readonly apiKey?: string
  /** Where it asks for records, as `127.0.0.1:5353`; else domains validate, or as a script says. */
  readonly dnsServer?: string
}

/** What becomes of a mail, in order. */
export type SendGridFate = (mail: SendGridMail) => readonly SendGridStep[]

export interface SendGridCallbackShape extends CallbackShape {
  /** In seconds since 1970, in place of now. */
  readonly timestamp?: number
}

export interface SendGridServer {
  readonly origin: string
  /** As an account is told it. */
  readonly apiBase: string
  readonly apiKey: string
  /** Of the signatures of its callbacks: base64 of the SPKI, as it shows it. */
  readonly verificationKey: string
  readonly requests: readonly PeerRequest[]
  readonly mails: readonly SendGridMail[]
  readonly domains: SendGridDomains
  readonly batches: readonly CallbackBatch[]
  readonly cutOff: number
  setApiKey(apiKey: string): void
  /** What its key may do, as `mail.send`. Everything until told otherwise. */
  setScopes(scopes: readonly string[] | undefined): void
  setScript(script: PeerScript | undefined): void
  cutBodies(count: number): void
  setFate(fate: SendGridFate | undefined): void
  /** Nothing is asked of the address: `test` posts to it. */
  setWebhook(url: string | undefined): void
  /** Callbacks are signed until told otherwise. `other`: by a key that is not the one shown. */
  setSigning(signing: 'own' | 'other' | 'none'): void
  /** How events are posted from now on; `manual`: only by `callBack`. */
  setCallbacks(shape: SendGridCallbackShape | 'manual'): void
  /** Events of a mail as they would be posted. */
  eventsOf(mail: SendGridMail, steps: readonly SendGridStep[]): unknown[]
  /** The headers with which it would post these bytes now. */
  signatureOf(body: Buffer): Readonly<Record<string, string>>
  /** Posts what has gathered, or these events. */
  callBack(
    o?: SendGridCallbackShape & { readonly events?: readonly unknown[] },
  ): Promise<CallbackBatch[]>
  /** Posts one event of each kind, of no mail that was sent. */
  test(): Promise<CallbackBatch[]>
  waitForMails(count: number, timeoutMs?: number): Promise<readonly SendGridMail[]>
  waitUntil(isMet: () => boolean, timeoutMs?: number): Promise<void>
  /** Once nothing that was to be posted is under way. */
  callbacksSettled(timeoutMs?: number): Promise<void>
  close(): Promise<void>
}

const DELIVERED: readonly SendGridStep[] = ['processed', 'delivered']
const SETTINGS = [
  'group_resubscribe',
  'delivered',
  'group_unsubscribe',
  'spam_report',
  'bounce',
  'deferred',
  'unsubscribe',
  'processed',
  'open',
  'click',
  'dropped',
]
const VERBS: Readonly<Record<string, string>> = {
  GET: 'read',
  POST: 'create',
  PATCH: 'update',
  DELETE: 'delete',
}
const WEBHOOK_SCOPES = ['read', 'update', 'create'].map((verb) => `user.webhooks.event.${verb}`)
const DOMAIN_SCOPES = Object.values(VERBS).map((verb) => `whitelabel.${verb}`)
const ALL_SCOPES = ['mail.send', ...DOMAIN_SCOPES, ...WEBHOOK_SCOPES]
const settingsShape = record({
  enabled: BOOLEAN,
  url: STRING,
  oauth_client_id: STRING,
  oauth_client_secret: STRING,
  oauth_token_url: STRING,
  ...Object.fromEntries(SETTINGS.map((name) => [name, BOOLEAN])),
})

export async function createSendGridServer(o: SendGridServerOptions = {}): Promise<SendGridServer> {
  let apiKey =
    o.apiKey ??
    `SG.${randomBytes(16).toString('base64url')}.${randomBytes(32).toString('base64url')}`
  const mails: SendGridMail[] = []
  const domains = createSendGridDomains(
    o.dnsServer === undefined ? undefined : createDnsLook(o.dnsServer),
  )
  const own = generateSigningKeys()
  const other = generateSigningKeys()
  let signing: 'own' | 'other' | 'none' = 'own'
  let fate: SendGridFate | undefined
  let url: string | undefined
  let settings: Readonly<Record<string, unknown>> = {}
  let scopes: readonly string[] = ALL_SCOPES

  const mannerOf = (target: string, { timestamp }: SendGridCallbackShape): CallbackManner => ({
    url: target,
    write: writeSendGridBatch,
    headers: (body) => ({
      'content-type': 'application/json',
      'user-agent': 'SendGrid Event API',
      ...signatureOf(body, String(timestamp ?? Math.floor(Date.now() / 1000))),
    }),
    isAccepted: (status) => status >= 200 && status < 300,
    timeoutMs: 10_000,
    attemptsMax: 12,
  })
  const signatureOf = (
    body: string | Buffer,
    timestamp: string,
  ): Readonly<Record<string, string>> => {
    if (signing === 'none') return {}
    const key = signing === 'own' ? own.privateKey : other.privateKey
    return {
      'X-Twilio-Email-Event-Webhook-Signature': sign(
        'sha256',
        Buffer.concat([Buffer.from(timestamp), Buffer.from(body)]),
        key,
      ).toString('base64'),
      'X-Twilio-Email-Event-Webhook-Timestamp': timestamp,
    }
  }

  const caller = createCaller<SendGridCallbackShape>((shape) =>
    url === undefined ? undefined : mannerOf(url, shape),
  )

  const gather = (mail: SendGridMail): void => {
    mails.push(mail)
    const steps = fate?.(mail) ?? DELIVERED
    caller.gather(steps.map((step) => sendGridEvent(step, mail, Date.now())))
  }

  const send = (request: PeerRequest): PeerReply => {
    const { reply, mails: taken } = takeSendGridMail(request.json, request.body.length, {
      isVerified: domains.isVerified,
      newId: () => randomBytes(16).toString('base64url'),
      nowMs: Date.now(),
    })
    for (const mail of taken) gather(mail)
    return reply
  }

  const handleWebhook = async ({ method, json }: PeerRequest, what: string): Promise<PeerReply> => {
    if (what === 'settings/signed') {
      if (method === 'PATCH') {
        const problems = findProblems(json, record({ enabled: BOOLEAN }, ['enabled']))
        if (problems.length > 0) return sendGridError(400, ...problems.map(toSendGridError))
        signing = (json as { enabled: boolean }).enabled ? 'own' : 'none'
      } else if (method !== 'GET') return SENDGRID.methodNotAllowed
      return { status: 200, json: { public_key: signing === 'none' ? '' : own.publicKey } }
    }
    if (what === 'settings') {
      if (method === 'PATCH') {
        const problems = findProblems(json, settingsShape)
        if (problems.length > 0) return sendGridError(400, ...problems.map(toSendGridError))
        settings = { ...settings, ...(json as object) }
        const { enabled, url: next } = settings
        url = enabled === true && typeof next === 'string' ? next : undefined
      } else if (method !== 'GET') return SENDGRID.methodNotAllowed
      const toggles = SETTINGS.map((name) => [name, settings[name] ?? false])
      const { enabled = false, url: shown = '' } = settings
      return { status: 200, json: { enabled, url: shown, ...Object.fromEntries(toggles) } }
    }
    if (what !== 'test') return SENDGRID.notFound
    if (method !== 'POST') return SENDGRID.methodNotAllowed
    const { url: target } = (json ?? {}) as { url?: string }
    if (target === undefined)
      return sendGridError(400, { message: 'The url parameter is required.', field: 'url' })
    await caller.postTo(mannerOf(target, {}), sendGridTestEvents(Date.now()), { attemptsMax: 1 })
    return { status: 204 }
  }

  const peer = await createHttpPeer(async (request) => {
    const refusal = findRefusal(request, apiKey)
    if (refusal !== undefined) return refusal
    const [version, ...path] = request.path.slice(1).split('/').map(decodeURIComponent)
    if (version !== 'v3') return SENDGRID.notFound
    const [first, second, ...rest] = path
    if (path.join('/') === 'scopes') return { status: 200, json: { scopes } }
    if (!scopes.includes(scopeOf(request.method, path))) return SENDGRID.forbidden
    if (path.join('/') === 'mail/send')
      return request.method === 'POST' ? send(request) : SENDGRID.methodNotAllowed
    if (first === 'whitelabel' && second === 'domains') return domains.handle(request, rest)
    if (first === 'user' && second === 'webhooks' && rest[0] === 'event')
      return handleWebhook(request, rest.slice(1).join('/'))
    return SENDGRID.notFound
  })

  return {
    origin: peer.origin,
    apiBase: peer.origin,
    get apiKey() {
      return apiKey
    },
    verificationKey: own.publicKey,
    requests: peer.requests,
    mails,
    domains,
    batches: caller.batches,
    get cutOff() {
      return peer.cutOff
    },
    setApiKey(next) {
      apiKey = next
    },
    setScopes(next = ALL_SCOPES) {
      scopes = next
    },
    setScript: peer.setScript,
    cutBodies: peer.cutBodies,
    setFate(next) {
      fate = next
    },
    setWebhook(next) {
      url = next
    },
    setSigning(next) {
      signing = next
    },
    setCallbacks: caller.setShape,
    eventsOf: (mail, steps) => steps.map((step) => sendGridEvent(step, mail, Date.now())),
    signatureOf: (body) => signatureOf(body, String(Math.floor(Date.now() / 1000))),
    callBack: caller.post,
    test: async () => caller.post({ events: sendGridTestEvents(Date.now()), attemptsMax: 1 }),
    async waitForMails(count, timeoutMs) {
      await peer.waitUntil(() => mails.length >= count, timeoutMs)
      return mails
    },
    waitUntil: peer.waitUntil,
    callbacksSettled: caller.settled,
    async close() {
      caller.close()
      await peer.close()
    },
  }
}

/** Of an address that it does not have: one that every key has. */
function scopeOf(method: string, [first, second, third]: readonly string[]): string {
  if (first === 'whitelabel') return `whitelabel.${VERBS[method] ?? 'read'}`
  if (first === 'user') return `${first}.${second}.${third}.${VERBS[method] ?? 'read'}`
  return 'mail.send'
}

function findRefusal({ method, headers, body, json }: PeerRequest, apiKey: string) {
  if (headers.authorization !== `Bearer ${apiKey}`) return SENDGRID.unauthorized
  if (!['POST', 'PATCH', 'PUT'].includes(method) || body.length === 0) return undefined
  const type = String(headers['content-type'] ?? '').split(';', 1)[0]
  if (type?.trim().toLowerCase() !== 'application/json') return SENDGRID.unsupportedType
  if (!isUtf8(body)) return SENDGRID.notUtf8
  return json === undefined
    ? sendGridError(400, { message: 'Bad Request', field: null })
    : undefined
}

function generateSigningKeys(): { readonly privateKey: KeyObject; readonly publicKey: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'der' },
  })
  return { privateKey: createPrivateKey(privateKey), publicKey: publicKey.toString('base64') }
}
