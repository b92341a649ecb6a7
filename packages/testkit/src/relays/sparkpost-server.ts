/**
 * SparkPost on loopback, as strict as its documents (developers.sparkpost.com): transmissions, sending
 * domains, event webhooks.
 *
 * Unless told otherwise every domain verifies, every mail is delivered, and what happens is reported
 * at once to the webhook, if there is one.
 */
import { isUtf8 } from 'node:buffer'
import { randomBytes, randomUUID } from 'node:crypto'
import {
  type CallbackBatch,
  type CallbackManner,
  type CallbackShape,
  createCaller,
} from './callbacks.ts'
import { createDnsLook } from './dns-look.ts'
import { createHttpPeer, type PeerReply, type PeerRequest, type PeerScript } from './http-peer.ts'
import { ANY, BOOLEAN, findProblems, listOf, mapOf, record, STRING } from './shapes.ts'
import { createSparkPostDomains, type SparkPostDomains } from './sparkpost-domains.ts'
import { isInvalid, isMissing, notFound, SPARKPOST, sparkPostError } from './sparkpost-errors.ts'
import { newEventId, type SparkPostStep, sparkPostEvent } from './sparkpost-events.ts'
import { type SparkPostMail, takeTransmission } from './sparkpost-transmission.ts'

export interface SparkPostServerOptions {
  readonly apiKey?: string
  /** Where it asks for records, as `127.0.0.1:5353`; else domains verify, or as a script says. */
  readonly dnsServer?: string
}

export interface SparkPostWebhook {
  readonly target: string
  readonly customHeaders?: Readonly<Record<string, string>>
  readonly basic?: { readonly username: string; readonly password: string }
}

/** What becomes of a mail, in order. */
export type SparkPostFate = (mail: SparkPostMail) => readonly SparkPostStep[]

export interface SparkPostServer {
  readonly origin: string
  /** As an account is told it. */
  readonly apiBase: string
  readonly apiKey: string
  readonly requests: readonly PeerRequest[]
  readonly mails: readonly SparkPostMail[]
  /** Fields of requests that mean nothing to it. */
  readonly ignoredFields: readonly string[]
  readonly domains: SparkPostDomains
  /** What was posted to the webhook, its ping among it. */
  readonly batches: readonly CallbackBatch[]
  readonly cutOff: number
  setApiKey(apiKey: string): void
  /** What its key may do: first parts of paths, as `transmissions`. Everything until told otherwise. */
  setPermissions(resources: readonly string[] | undefined): void
  setScript(script: PeerScript | undefined): void
  cutBodies(count: number): void
  setFate(fate: SparkPostFate | undefined): void
  /** Pings the target first, and refuses it where that is not answered 200. */
  registerWebhook(webhook: SparkPostWebhook): Promise<void>
  /** How events are posted from now on; `manual`: only by `callBack`. */
  setCallbacks(shape: CallbackShape | 'manual'): void
  /** Events of a mail as they would be posted. */
  eventsOf(mail: SparkPostMail, steps: readonly SparkPostStep[]): unknown[]
  /** Posts what has gathered, or these events. */
  callBack(o?: CallbackShape & { readonly events?: readonly unknown[] }): Promise<CallbackBatch[]>
  waitForMails(count: number, timeoutMs?: number): Promise<readonly SparkPostMail[]>
  waitUntil(isMet: () => boolean, timeoutMs?: number): Promise<void>
  /** Once nothing that was to be posted is under way. */
  callbacksSettled(timeoutMs?: number): Promise<void>
  close(): Promise<void>
}

const DELIVERED: readonly SparkPostStep[] = ['injection', 'delivery']
const PING = [{ msys: {} }]
const ACCOUNT: PeerReply = {
  status: 200,
  json: { results: { customer_id: 1, company_name: 'Example', status: 'active' } },
}
const NO_URI = sparkPostError(404, '1101', 'invalid URI')
const webhookShape = record(
  {
    name: STRING,
    target: STRING,
    events: listOf(STRING),
    active: BOOLEAN,
    custom_headers: mapOf(STRING),
    exception_subaccounts: listOf(ANY),
    auth_type: STRING,
    auth_credentials: record({ username: STRING, password: STRING }, ['username']),
    auth_request_details: record({ url: STRING, body: mapOf(ANY) }, ['url', 'body']),
  },
  ['name', 'target', 'events'],
)

export async function createSparkPostServer(
  o: SparkPostServerOptions = {},
): Promise<SparkPostServer> {
  let apiKey = o.apiKey ?? randomBytes(20).toString('hex')
  const mails: SparkPostMail[] = []
  const ignoredFields: string[] = []
  const domains = createSparkPostDomains(
    o.dnsServer === undefined ? undefined : createDnsLook(o.dnsServer),
    (paths) => ignoredFields.push(...paths),
  )
  let fate: SparkPostFate | undefined
  let webhook: SparkPostWebhook | undefined
  let webhookId = ''
  let permissions: readonly string[] | undefined

  const mannerOf = (to: SparkPostWebhook): CallbackManner => ({
    url: to.target,
    write: (events) => JSON.stringify(events),
    headers: (_body, batchId) => ({
      'content-type': 'application/json',
      'user-agent': 'SparkPost',
      'X-MessageSystems-Batch-ID': batchId,
      ...to.customHeaders,
      ...(to.basic === undefined
        ? {}
        : { authorization: basic(`${to.basic.username}:${to.basic.password}`) }),
    }),
    isAccepted: (status) => status === 200,
    timeoutMs: 10_000,
    attemptsMax: 12,
  })

  const caller = createCaller<CallbackShape>(() => webhook && mannerOf(webhook))

  const gather = (mail: SparkPostMail): void => {
    mails.push(mail)
    const steps = fate?.(mail) ?? DELIVERED
    caller.gather(steps.map((step) => sparkPostEvent(step, mail, Date.now())))
  }

  const transmit = (request: PeerRequest): PeerReply => {
    const {
      reply,
      mails: taken,
      ignored,
    } = takeTransmission(request.json, {
      isVerified: (domain) => {
        const own = domains.find(domain)
        return own !== undefined && [own.dkimStatus, own.cnameStatus].includes('valid')
      },
      isBlocked: (domain) => domains.find(domain)?.isBlocked === true,
      isBounceDomain: (domain) => domains.find(domain)?.cnameStatus === 'valid',
      newId: newEventId,
      newMessageId: () => randomBytes(10).toString('hex'),
    })
    ignoredFields.push(...ignored)
    for (const mail of taken) gather(mail)
    return reply
  }

  const register = async (next: SparkPostWebhook): Promise<PeerReply> => {
    const [ping] = await caller.postTo(mannerOf(next), PING, { attemptsMax: 1 })
    if (ping?.isAccepted !== true) {
      const status = ping?.attempts[0]?.status
      const json = {
        errors: [{ code: 400, message: 'POST to webhook target failed', response: { status } }],
      }
      return { status: 400, json }
    }
    webhook = next
    webhookId = randomUUID()
    const links = [
      {
        href: `/api/v1/webhooks/${webhookId}`,
        rel: 'urn.msys.webhooks.webhook',
        method: ['GET', 'PUT'],
      },
    ]
    return { status: 200, json: { results: { id: webhookId, links } } }
  }

  const handleWebhooks = async ({ method, json }: PeerRequest, id: string | undefined) => {
    if (id !== undefined) {
      if (id !== webhookId) return notFound(`webhook '${id}' does not exist`)
      if (method !== 'DELETE') return sparkPostError(405, '1102', 'invalid HTTP method')
      webhook = undefined
      return { status: 204 }
    }
    if (method !== 'POST') return sparkPostError(405, '1102', 'invalid HTTP method')
    const problems = findProblems(json, webhookShape)
    ignoredFields.push(...problems.filter(({ kind }) => kind === 'unknown').map(({ path }) => path))
    const broken = problems.find(({ kind }) => kind !== 'unknown')
    if (broken?.kind === 'missing') return isMissing(`${broken.path} is required`)
    if (broken !== undefined) return isInvalid(`${broken.path} must be ${broken.expected}`)
    const asked = json as {
      target: string
      custom_headers?: Record<string, string>
      auth_type?: string
      auth_credentials?: { username: string; password?: string }
    }
    const headers = Object.entries(asked.custom_headers ?? {})
    if (headers.length > 5) return isInvalid('custom_headers: a maximum of 5 headers')
    const { username, password = '' } = asked.auth_credentials ?? {}
    if (asked.auth_type === 'basic' && username === undefined)
      return isMissing('auth_credentials is required')
    return register({
      target: asked.target,
      ...(asked.custom_headers === undefined ? {} : { customHeaders: asked.custom_headers }),
      ...(asked.auth_type === 'basic' && username !== undefined
        ? { basic: { username, password } }
        : {}),
    })
  }

  const peer = await createHttpPeer(async (request) => {
    const refusal = findRefusal(request, apiKey)
    if (refusal !== undefined) return refusal
    const [api, version, resource, ...rest] = request.path
      .slice(1)
      .split('/')
      .map(decodeURIComponent)
    if (api !== 'api' || version !== 'v1' || resource === undefined) return NO_URI
    if (permissions?.includes(resource) === false) return SPARKPOST.forbidden
    if (resource === 'account') return ACCOUNT
    if (resource === 'sending-domains') return domains.handle(request, rest)
    if (resource === 'webhooks') return handleWebhooks(request, rest[0])
    if (resource !== 'transmissions' || rest.length > 0) return NO_URI
    return request.method === 'POST'
      ? transmit(request)
      : sparkPostError(405, '1102', 'invalid HTTP method')
  })

  return {
    origin: peer.origin,
    apiBase: `${peer.origin}/api`,
    get apiKey() {
      return apiKey
    },
    requests: peer.requests,
    mails,
    ignoredFields,
    domains,
    batches: caller.batches,
    get cutOff() {
      return peer.cutOff
    },
    setApiKey(next) {
      apiKey = next
    },
    setPermissions(next) {
      permissions = next
    },
    setScript: peer.setScript,
    cutBodies: peer.cutBodies,
    setFate(next) {
      fate = next
    },
    async registerWebhook(next) {
      const { status } = await register(next)
      if (status !== 200) throw new Error(`the webhook was refused: its ping was not answered 200`)
    },
    setCallbacks: caller.setShape,
    eventsOf: (mail, steps) => steps.map((step) => sparkPostEvent(step, mail, Date.now())),
    callBack: caller.post,
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

function findRefusal(request: PeerRequest, apiKey: string): PeerReply | undefined {
  const given = request.headers.authorization
  if (given !== apiKey && given !== basic(`${apiKey}:`)) return SPARKPOST.unauthorized
  if (request.body.length === 0) {
    return ['POST', 'PUT'].includes(request.method)
      ? isInvalid('Problems parsing request as JSON')
      : undefined
  }
  const type = String(request.headers['content-type'] ?? '').split(';', 1)[0]
  if (type?.trim().toLowerCase() !== 'application/json')
    return sparkPostError(415, '1700', 'Unsupported Content-Type header')
  if (!isUtf8(request.body)) return sparkPostError(400, '1305', 'Input Data not UTF8 encoded')
  return request.json === undefined ? isInvalid('Problems parsing request as JSON') : undefined
}

function basic(credentials: string): string {
  return `Basic ${Buffer.from(credentials).toString('base64')}`
}
