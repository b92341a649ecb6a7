/** The event webhook of a SendGrid account (`/v3/user/webhooks/event`), with its signatures. */
import { createPrivateKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import type { CallbackManner, CallbackShape, Caller } from './callbacks.ts'
import type { PeerReply, PeerRequest } from './http-peer.ts'
import { SENDGRID, sendGridError, toSendGridError } from './sendgrid-errors.ts'
import { sendGridTestEvents, writeSendGridBatch } from './sendgrid-events.ts'
import { BOOLEAN, findProblems, record, type Shape, STRING } from './shapes.ts'

export interface SendGridCallbackShape extends CallbackShape {
  /** In seconds since 1970, in place of now. */
  readonly timestamp?: number
}

/** By whose key callbacks are signed. `other`: by one that is not the one shown. */
export type SendGridSigning = 'own' | 'other' | 'none'

export interface SendGridWebhooks {
  /** Of the signatures: base64 of the SPKI, as it shows it. */
  readonly verificationKey: string
  /** How the address that is set is called. */
  manner(shape: Partial<SendGridCallbackShape>): CallbackManner | undefined
  /** `timestamp`: in seconds since 1970. */
  signatureOf(body: string | Buffer, timestamp: string): Readonly<Record<string, string>>
  setUrl(url: string | undefined): void
  setSigning(signing: SendGridSigning): void
  /** `what`: the path behind `event`. */
  handle(request: PeerRequest, what: string): Promise<PeerReply>
}

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
const settingsShape = record({
  enabled: BOOLEAN,
  url: STRING,
  oauth_client_id: STRING,
  oauth_client_secret: STRING,
  oauth_token_url: STRING,
  ...Object.fromEntries(SETTINGS.map((name) => [name, BOOLEAN])),
})

interface State {
  signing: SendGridSigning
  url: string | undefined
  settings: Readonly<Record<string, unknown>>
}

export function createSendGridWebhooks(o: {
  readonly postTo: Caller<SendGridCallbackShape>['postTo']
}): SendGridWebhooks {
  const own = generateSigningKeys()
  const other = generateSigningKeys()
  const state: State = { signing: 'own', url: undefined, settings: {} }

  const signatureOf: SendGridWebhooks['signatureOf'] = (body, timestamp) =>
    state.signing === 'none'
      ? {}
      : signatureHeaders(state.signing === 'own' ? own : other, body, timestamp)
  const mannerOf = (url: string, { timestamp }: SendGridCallbackShape): CallbackManner => ({
    url,
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
  const test = async ({ method, json }: PeerRequest): Promise<PeerReply> => {
    if (method !== 'POST') return SENDGRID.methodNotAllowed
    const { url } = (json ?? {}) as { url?: string }
    if (url === undefined)
      return sendGridError(400, { message: 'The url parameter is required.', field: 'url' })
    await o.postTo(mannerOf(url, {}), sendGridTestEvents(Date.now()), { attemptsMax: 1 })
    return { status: 204 }
  }

  return {
    verificationKey: own.publicKey,
    manner: (shape) => (state.url === undefined ? undefined : mannerOf(state.url, shape)),
    signatureOf,
    setUrl(next) {
      state.url = next
    },
    setSigning(next) {
      state.signing = next
    },
    async handle(request, what) {
      if (what === 'settings/signed') return handleSigning(state, request, own.publicKey)
      if (what === 'settings') return handleSettings(state, request)
      return what === 'test' ? test(request) : SENDGRID.notFound
    },
  }
}

function handleSigning(state: State, { method, json }: PeerRequest, publicKey: string): PeerReply {
  if (method === 'PATCH') {
    const refusal = check(json, record({ enabled: BOOLEAN }, ['enabled']))
    if (refusal !== undefined) return refusal
    state.signing = (json as { enabled: boolean }).enabled ? 'own' : 'none'
  } else if (method !== 'GET') return SENDGRID.methodNotAllowed
  return { status: 200, json: { public_key: state.signing === 'none' ? '' : publicKey } }
}

function handleSettings(state: State, { method, json }: PeerRequest): PeerReply {
  if (method === 'PATCH') {
    const refusal = check(json, settingsShape)
    if (refusal !== undefined) return refusal
    state.settings = { ...state.settings, ...(json as object) }
    const { enabled, url } = state.settings
    state.url = enabled === true && typeof url === 'string' ? url : undefined
  } else if (method !== 'GET') return SENDGRID.methodNotAllowed
  const { settings } = state
  const toggles = SETTINGS.map((name) => [name, settings[name] ?? false])
  const { enabled = false, url = '' } = settings
  return { status: 200, json: { enabled, url, ...Object.fromEntries(toggles) } }
}

function check(json: unknown, shape: Shape): PeerReply | undefined {
  const problems = findProblems(json, shape)
  return problems.length > 0 ? sendGridError(400, ...problems.map(toSendGridError)) : undefined
}

interface SigningKeys {
  readonly privateKey: KeyObject
  readonly publicKey: string
}

function signatureHeaders(
  { privateKey }: SigningKeys,
  body: string | Buffer,
  timestamp: string,
): Readonly<Record<string, string>> {
  const signed = Buffer.concat([Buffer.from(timestamp), Buffer.from(body)])
  return {
    'X-Twilio-Email-Event-Webhook-Signature': sign('sha256', signed, privateKey).toString('base64'),
    'X-Twilio-Email-Event-Webhook-Timestamp': timestamp,
  }
}

function generateSigningKeys(): SigningKeys {
  const { privateKey, publicKey } = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'der' },
  })
  return { privateKey: createPrivateKey(privateKey), publicKey: publicKey.toString('base64') }
}
