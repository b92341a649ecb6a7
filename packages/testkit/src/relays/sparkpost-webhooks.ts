/** The event webhook of a SparkPost account (Webhooks API): pinged before it is registered, and deleted. */
import { randomUUID } from 'node:crypto'
import type { CallbackManner, CallbackShape, Caller } from './callbacks.ts'
import type { PeerReply, PeerRequest } from './http-peer.ts'
import { ANY, BOOLEAN, findBroken, listOf, mapOf, record, STRING } from './shapes.ts'
import { isInvalid, isMissing, NO_METHOD, notFound } from './sparkpost-errors.ts'

export interface SparkPostWebhook {
  readonly target: string
  readonly customHeaders?: Readonly<Record<string, string>>
  readonly basic?: { readonly username: string; readonly password: string }
}

export interface SparkPostWebhooks {
  /** How the one that is registered is called. */
  manner(): CallbackManner | undefined
  /** Pings the target first, and refuses it where that is not answered 200. */
  register(webhook: SparkPostWebhook): Promise<PeerReply>
  handle(request: PeerRequest, id: string | undefined): Promise<PeerReply>
}

const PING = [{ msys: {} }]
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

export function createSparkPostWebhooks(o: {
  readonly postTo: Caller<CallbackShape>['postTo']
  readonly onIgnored: (paths: readonly string[]) => void
}): SparkPostWebhooks {
  let webhook: SparkPostWebhook | undefined
  let webhookId = ''

  const register = async (next: SparkPostWebhook): Promise<PeerReply> => {
    const [ping] = await o.postTo(mannerOf(next), PING, { attemptsMax: 1 })
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

  return {
    manner: () => webhook && mannerOf(webhook),
    register,
    async handle({ method, json }, id) {
      if (id !== undefined) {
        if (id !== webhookId) return notFound(`webhook '${id}' does not exist`)
        if (method !== 'DELETE') return NO_METHOD
        webhook = undefined
        return { status: 204 }
      }
      if (method !== 'POST') return NO_METHOD
      const broken = findBroken(json, webhookShape, o.onIgnored)
      if (broken?.kind === 'missing') return isMissing(`${broken.path} is required`)
      if (broken !== undefined) return isInvalid(`${broken.path} must be ${broken.expected}`)
      const asked = json as AskedWebhook
      return findWebhookProblem(asked) ?? register(toWebhook(asked))
    },
  }
}

interface AskedWebhook {
  readonly target: string
  readonly custom_headers?: Readonly<Record<string, string>>
  readonly auth_type?: string
  readonly auth_credentials?: { readonly username: string; readonly password?: string }
}

function findWebhookProblem(asked: AskedWebhook): PeerReply | undefined {
  const headers = Object.entries(asked.custom_headers ?? {})
  if (headers.length > 5) return isInvalid('custom_headers: a maximum of 5 headers')
  if (asked.auth_type === 'basic' && asked.auth_credentials?.username === undefined)
    return isMissing('auth_credentials is required')
  return undefined
}

function toWebhook(asked: AskedWebhook): SparkPostWebhook {
  const { username, password = '' } = asked.auth_credentials ?? {}
  return {
    target: asked.target,
    ...(asked.custom_headers === undefined ? {} : { customHeaders: asked.custom_headers }),
    ...(asked.auth_type === 'basic' && username !== undefined
      ? { basic: { username, password } }
      : {}),
  }
}

function mannerOf(to: SparkPostWebhook): CallbackManner {
  return {
    url: to.target,
    write: (events) => JSON.stringify(events),
    headers: (_body, batchId) => ({
      'content-type': 'application/json',
      'user-agent': 'SparkPost',
      'X-MessageSystems-Batch-ID': batchId,
      ...to.customHeaders,
      ...(to.basic === undefined
        ? {}
        : { authorization: basicOf(`${to.basic.username}:${to.basic.password}`) }),
    }),
    isAccepted: (status) => status === 200,
    timeoutMs: 10_000,
    attemptsMax: 12,
  }
}

/** What a header has for these credentials. */
export function basicOf(credentials: string): string {
  return `Basic ${Buffer.from(credentials).toString('base64')}`
}
