/**
 * SparkPost on loopback, as strict as its documents (developers.sparkpost.com): transmissions, sending
 * domains, event webhooks.
 *
 * Unless told otherwise every domain verifies, every mail is delivered, and what happens is reported
 * at once to the webhook, if there is one.
 */
import { isUtf8 } from 'node:buffer'
import { randomBytes } from 'node:crypto'
import type { CallbackShape } from './callbacks.ts'
import { createDnsLook } from './dns-look.ts'
import { isJsonType, type PeerReply, type PeerRequest } from './http-peer.ts'
import { createRelayServer, type Relay, type RelayServer } from './relay-server.ts'
import { createSparkPostDomains, type SparkPostDomains } from './sparkpost-domains.ts'
import { isInvalid, NO_METHOD, NO_URI, SPARKPOST, sparkPostError } from './sparkpost-errors.ts'
import { newEventId, type SparkPostStep, sparkPostEvent } from './sparkpost-events.ts'
import {
  type SparkPostAccountFacts,
  type SparkPostMail,
  takeTransmission,
} from './sparkpost-transmission.ts'
import { basicOf, createSparkPostWebhooks, type SparkPostWebhook } from './sparkpost-webhooks.ts'

export interface SparkPostServerOptions {
  readonly apiKey?: string
  /** Where it asks for records, as `127.0.0.1:5353`; else domains verify, or as a script says. */
  readonly dnsServer?: string
}

/** What becomes of a mail, in order. */
export type SparkPostFate = (mail: SparkPostMail) => readonly SparkPostStep[]

export interface SparkPostServer extends RelayServer<SparkPostMail, SparkPostStep, CallbackShape> {
  /** As an account is told it. */
  readonly apiBase: string
  /** Fields of requests that mean nothing to it. */
  readonly ignoredFields: readonly string[]
  readonly domains: SparkPostDomains
  /** What its key may do: first parts of paths, as `transmissions`. Everything until told otherwise. */
  setPermissions(resources: readonly string[] | undefined): void
  /** Pings the target first, and refuses it where that is not answered 200. */
  registerWebhook(webhook: SparkPostWebhook): Promise<void>
}

const DELIVERED: readonly SparkPostStep[] = ['injection', 'delivery']
const ACCOUNT: PeerReply = {
  status: 200,
  json: { results: { customer_id: 1, company_name: 'Example', status: 'active' } },
}

export async function createSparkPostServer(
  o: SparkPostServerOptions = {},
): Promise<SparkPostServer> {
  const ignoredFields: string[] = []
  const onIgnored = (paths: readonly string[]) => void ignoredFields.push(...paths)
  const domains = createSparkPostDomains(
    o.dnsServer === undefined ? undefined : createDnsLook(o.dnsServer),
    onIgnored,
  )
  const webhooks = createSparkPostWebhooks({
    postTo: (...args) => relay.postTo(...args),
    onIgnored,
  })
  let permissions: readonly string[] | undefined

  const transmit = ({ method, json }: PeerRequest): PeerReply => {
    if (method !== 'POST') return NO_METHOD
    const { reply, mails, ignored } = takeTransmission(json, factsOf(domains))
    onIgnored(ignored)
    relay.take(mails)
    return reply
  }

  const takeUp = (request: PeerRequest): PeerReply | Promise<PeerReply> => {
    const [api, version, resource, ...rest] = request.path
      .slice(1)
      .split('/')
      .map(decodeURIComponent)
    if (api !== 'api' || version !== 'v1' || resource === undefined) return NO_URI
    if (permissions?.includes(resource) === false) return SPARKPOST.forbidden
    if (resource === 'account') return ACCOUNT
    if (resource === 'sending-domains') return domains.handle(request, rest)
    if (resource === 'webhooks') return webhooks.handle(request, rest[0])
    return resource === 'transmissions' && rest.length === 0 ? transmit(request) : NO_URI
  }

  const relay: Relay<SparkPostMail, SparkPostStep, CallbackShape> = await createRelayServer({
    apiKey: o.apiKey ?? randomBytes(20).toString('hex'),
    delivered: DELIVERED,
    eventOf: sparkPostEvent,
    mannerOf: webhooks.manner,
    findRefusal,
    takeUp,
  })
  return Object.assign(relay.server, {
    apiBase: `${relay.server.origin}/api`,
    ignoredFields,
    domains,
    setPermissions(next: readonly string[] | undefined) {
      permissions = next
    },
    async registerWebhook(next: SparkPostWebhook) {
      const { status } = await webhooks.register(next)
      if (status !== 200) throw new Error(`the webhook was refused: its ping was not answered 200`)
    },
  })
}

function factsOf(domains: SparkPostDomains): SparkPostAccountFacts {
  return {
    isVerified: (domain) => {
      const own = domains.find(domain)
      return own !== undefined && [own.dkimStatus, own.cnameStatus].includes('valid')
    },
    isBlocked: (domain) => domains.find(domain)?.isBlocked === true,
    isBounceDomain: (domain) => domains.find(domain)?.cnameStatus === 'valid',
    newId: newEventId,
    newMessageId: () => randomBytes(10).toString('hex'),
  }
}

function findRefusal(request: PeerRequest, apiKey: string): PeerReply | undefined {
  const given = request.headers.authorization
  if (given !== apiKey && given !== basicOf(`${apiKey}:`)) return SPARKPOST.unauthorized
  if (request.body.length === 0) {
    return ['POST', 'PUT'].includes(request.method)
      ? isInvalid('Problems parsing request as JSON')
      : undefined
  }
  if (!isJsonType(request)) return sparkPostError(415, '1700', 'Unsupported Content-Type header')
  if (!isUtf8(request.body)) return sparkPostError(400, '1305', 'Input Data not UTF8 encoded')
  return request.json === undefined ? isInvalid('Problems parsing request as JSON') : undefined
}
