/** Parsers of requests, callbacks, answers of providers, and of the content that tenants give. */

import { prepareMessage } from '../../../mail/src/build-message.ts'
import { findLinkOffsets } from '../../../mail/src/rewrite/find-link-offsets.ts'
import { createRenderTemplate } from '../../../mail/src/template/render-template.ts'
import { textOfHtml } from '../../../mail/src/text-of-html.ts'
import { decideBot } from '../../../mail/src/user-agent/decide-bot.ts'
import { createUserAgentReader } from '../../../mail/src/user-agent/read-user-agent.ts'
import { type OAuthApp, sealClientSecret } from '../../src/mailers/oauth/apps/oauth-app.ts'
import { readIdToken } from '../../src/mailers/oauth/login/read-id-token.ts'
import { requestToken } from '../../src/mailers/oauth/tokens/request-token.ts'
import { parseHost } from '../../src/platform/egress/parse-host.ts'
import { isJsonContentType, parseJson } from '../../src/platform/http/body/json-body.ts'
import { createBrokenEscapes } from '../../src/platform/http/broken-escapes.ts'
import { createClientAddress } from '../../src/platform/http/client-address.ts'
import { readPage } from '../../src/platform/http/paging.ts'
import { continueTrace } from '../../src/platform/trace.ts'
import { parseDateTime, parseTimeSpan } from '../../src/platform/values/date-time.ts'
import { adapterOf } from '../../src/relays/adapters.ts'
import { readFacts } from '../../src/relays/sendgrid/read-facts.ts'
import { readFailure } from '../../src/relays/sendgrid/read-failure.ts'
import { failureOf } from '../../src/relays/sparkpost/classify-errors.ts'
import { readCallback } from '../../src/relays/sparkpost/read-callback.ts'
import { readSent } from '../../src/relays/sparkpost/read-sent.ts'
import { readIdempotencyKey } from '../../src/sending/accept/idempotency.ts'
import { createCsvReader } from '../../src/suppressions/files/csv-reader.ts'
import { createLineReader, type LineReader } from '../../src/suppressions/files/read-line.ts'
import { createTrackingTokens } from '../../src/tracking/tokens.ts'
import { createHeaderMask } from '../../src/webhooks/dispatch/request/mask-header-values.ts'
import { parseRetryAfter } from '../../src/webhooks/dispatch/settle/decide-delivery.ts'
import { keyRing } from '../sending.ts'
import { bytes, type Parser, refusing, utf8 } from './parser.ts'

const KIB = 1024
const MIB = 1024 * KIB
const HEADER_BYTES = 16 * KIB
const PIECE_CHARS = 48 * KIB
const NOW = new Date('2026-11-20T12:00:00Z')
const key = { tenantId: 'tn_a', appId: 'app_a' }
const app: OAuthApp = {
  ...key,
  provider: 'microsoft',
  clientId: 'client',
  clientSecret: sealClientSecret(keyRing, key, 'secret-of-the-app'),
  redirectUris: [],
  authorizeUrl: 'https://issuer.example.com/a',
  tokenUrl: 'https://issuer.example.com/t',
  createdAt: NOW,
  updatedAt: NOW,
}
const render = createRenderTemplate()
const mask = createHeaderMask([
  ['Authorization', 'Bearer correct-horse-battery'],
  ['X-Key', 'a.b=c d%20e'],
])
const tokens = createTrackingTokens(keyRing)
const addressOf = createClientAddress(['127.0.0.0/8', '::1/128', '1.0.0.0/8'])
const escapes = createBrokenEscapes()
escapes.add('/t/c/*')
const relays = (['sparkpost', 'sendgrid'] as const).map((kind) => adapterOf(kind))
const answerOf = (body: string, status: number) => ({
  status,
  headers: { 'retry-after': body.slice(0, HEADER_BYTES) },
  body,
})

/** As it comes, in pieces. */
function readFile(text: string): number {
  const csv = createCsvReader()
  const facts = { format: 'postrider', source: {}, now: NOW } as const
  let reader: LineReader | undefined
  let read = 0
  for (let at = 0; at <= text.length; at += PIECE_CHARS) {
    const records = [...csv.push(text.slice(at, at + PIECE_CHARS))]
    if (at + PIECE_CHARS > text.length) records.push(...csv.end())
    for (const record of records) {
      if ('problem' in record) continue
      const made = reader === undefined ? createLineReader(record.fields, facts) : undefined
      if (made !== undefined && 'read' in made) reader = made.read
      if (reader !== undefined && 'id' in reader(record.fields)) read += 1
    }
  }
  return read
}

export const webParsers: readonly Parser[] = [
  {
    name: 'a JSON body',
    kinds: ['json body', 'sparkpost callback', 'sendgrid callback'],
    bytesMax: MIB,
    thread: 'main',
    run: (text) => refusing(() => parseJson(bytes(text))),
  },
  {
    name: 'a file of suppressions',
    kinds: ['csv file', 'json body', 'http header'],
    bytesMax: 256 * KIB,
    thread: 'main',
    run: (text) => readFile(utf8(text)),
  },
  {
    name: 'a callback of SparkPost',
    kinds: ['sparkpost callback', 'json body'],
    bytesMax: 4 * MIB,
    thread: 'main',
    run: (text) => readCallback(utf8(text)),
  },
  {
    name: 'a callback of SendGrid',
    kinds: ['sendgrid callback', 'json body'],
    bytesMax: 4 * MIB,
    thread: 'main',
    run: (text) => readFacts(utf8(text)),
  },
  {
    name: 'the headers of a callback',
    kinds: ['http header'],
    bytesMax: HEADER_BYTES,
    thread: 'main',
    run: (text) =>
      relays.map((one) =>
        'callbacks' in one
          ? one.callbacks.isAuthentic(
              {
                headers: {
                  authorization: text,
                  'x-twilio-email-event-webhook-signature': text,
                  'x-twilio-email-event-webhook-timestamp': text,
                },
                body: bytes(text),
              },
              { token: 'a', username: 'a', password: 'b', publicKey: 'AAAA' } as never,
              NOW.getTime(),
            )
          : undefined,
      ),
  },
  {
    name: 'an answer of a provider',
    kinds: ['relay answer', 'token answer', 'sparkpost callback', 'sendgrid callback', 'json body'],
    bytesMax: 64 * KIB,
    thread: 'main',
    run: (text) =>
      [200, 400, 429].flatMap((status) => {
        const answer = answerOf(utf8(text), status)
        return [readFailure(answer), failureOf(answer), readSent(answer)]
      }),
  },
  {
    name: 'an answer of a token endpoint',
    kinds: ['token answer', 'json body'],
    bytesMax: 64 * KIB,
    thread: 'main',
    run: (text) =>
      Promise.all(
        [200, 400].map((status) =>
          requestToken(
            {
              keyRing,
              egress: {
                request: async () =>
                  ({
                    status,
                    headers: { 'retry-after': text.slice(0, 100) },
                    body: utf8(text),
                  }) as never,
              },
            },
            app,
            { grant_type: 'refresh_token', refresh_token: 'a-refresh-token' },
          ),
        ),
      ),
  },
  {
    name: 'an id token',
    kinds: ['id token'],
    bytesMax: HEADER_BYTES,
    thread: 'main',
    run: (text) =>
      readIdToken(
        app,
        text.startsWith('{') ? `e30.${bytes(text).toString('base64url')}.AA` : text,
        { nonce: 'a', now: NOW },
      ),
  },
  {
    name: 'a user agent',
    kinds: ['user agent', 'http header'],
    bytesMax: HEADER_BYTES,
    thread: 'main',
    run(text) {
      const { isKnownRobot } = createUserAgentReader()(text)
      const facts = { userAgent: text.slice(0, 512), isKnownRobot, purpose: text.slice(0, 64) }
      return decideBot({ ...facts, kind: 'open', isBeforeDelivery: false, linksAtOnce: 1 })
    },
  },
  {
    name: 'a path of the tracker',
    kinds: ['tracker path'],
    bytesMax: HEADER_BYTES,
    thread: 'main',
    run: (text) => [
      escapes.mend(text),
      tokens.read(text.slice(5), 'click'),
      refusing(() => readPage({ pageToken: text }, 'a', /^a+$/)),
    ],
  },
  {
    name: 'headers of a request',
    kinds: ['http header', 'user agent'],
    bytesMax: HEADER_BYTES,
    thread: 'main',
    run: (text) => [
      addressOf({ peer: '127.0.0.1', forwardedFor: text }),
      continueTrace(text),
      isJsonContentType(text),
      refusing(() => readIdempotencyKey(text)),
      parseDateTime(text),
      parseTimeSpan(text),
      parseHost(text),
    ],
  },
  {
    name: 'the answer of a webhook receiver',
    kinds: ['http header', 'html', 'json body'],
    bytesMax: 16 * KIB,
    thread: 'main',
    run: (text) => [mask.hide(utf8(text)), parseRetryAfter(text, NOW)],
  },
  {
    name: 'links in short HTML',
    kinds: ['html'],
    bytesMax: 64 * KIB,
    thread: 'main',
    run: (text) => findLinkOffsets(utf8(text)),
  },
  {
    name: 'links in long HTML',
    kinds: ['html'],
    bytesMax: 2 * MIB,
    thread: 'pool',
    run: (text) => findLinkOffsets(utf8(text)),
  },
  {
    name: 'the text of HTML',
    kinds: ['html'],
    bytesMax: 256 * KIB,
    thread: 'main',
    run: (text) => textOfHtml(utf8(text)),
  },
  {
    name: 'a template',
    kinds: ['liquid'],
    bytesMax: 256 * KIB,
    thread: 'pool',
    run: (text) =>
      render({
        subject: 'a',
        html: utf8(text),
        data: { a: { b: 'c' }, b: [1, 2] },
        subjectLengthMax: 998,
        bodyLengthMax: 5 * MIB,
      }),
  },
  {
    name: 'a message that is built',
    kinds: ['html', 'header block'],
    bytesMax: MIB,
    thread: 'main',
    run: (text) => {
      const body = utf8(text).replaceAll('\0', '')
      return prepareMessage({
        id: 'a',
        date: NOW,
        from: { address: 'a@example.com' },
        to: [{ address: 'b@example.com', name: body.slice(0, 200) }],
        subject: body.slice(0, 998),
        text: body,
        html: body,
        headers: [['X-A', body.slice(0, 998)]],
      })
    },
  },
]
