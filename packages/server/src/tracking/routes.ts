/**
 * What recipients' mail programs and browsers ask for (docs/reference/http.md#public-paths, public): the
 * pixel, the redirect of a link, and the page for unsubscribing.
 *
 * A stranger learns nothing: an invalid token gets the pixel as well, and elsewhere
 * one and the same page. HEAD is answered and is no hit. No cookie is set.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import type { Clock } from '../platform/clock.ts'
import { refusalOf } from '../platform/errors.ts'
import type { ClientAddress } from '../platform/http/client-address.ts'
import type { Hit } from './intake/hit.ts'
import type { HitIntake } from './intake/hit-intake.ts'
import type { TakenIn } from './intake/keep-hits.ts'
import { readHit } from './intake/read-hit.ts'
import { type PageName, recipientPage, recipientPageHeaders } from './pages/page.ts'
import type { HitObserver } from './record/observe-hits.ts'
import type { TokenKind, TrackingTokens } from './tokens.ts'

export interface TrackingRoutesDeps {
  readonly tokens: Pick<TrackingTokens, 'read'>
  readonly intake: Pick<HitIntake, 'take' | 'urlOf' | 'isGone'>
  readonly clientAddress: ClientAddress
  readonly clock: Clock
  readonly observe: HitObserver
}

/** Transparent, 43 bytes. */
const PIXEL = Buffer.from('R0lGODlhAQABAPAAAAAAAAAAACH5BAEAAAAALAAAAAABAAEAAAICRAEAOw==', 'base64')
const PIXEL_HEADERS = {
  'content-type': 'image/gif',
  'x-content-type-options': 'nosniff',
  // Webmail shows images from elsewhere.
  'cross-origin-resource-policy': 'cross-origin',
}
/** A form with one field. */
const BODY_BYTES_MAX = 16 * 1024

/** Recorded hits are reported after the commit that many of them share. */
const config = { auth: 'public' as const, isTold: true, takesAnything: true }
/** Programs add parameters of their own to links that they pass on. */
const options = { config, schema: { hide: true } }

export function trackingRoutes(app: FastifyInstance, deps: TrackingRoutesDeps): void {
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, _body, done) => done(null))
    openRoute(scope, deps)
    clickRoute(scope, deps)
    unsubscribeRoutes(scope, deps)
  })
}

interface WithToken {
  Params: { readonly '*': string }
}

/** Whatever stands there: a reader gets a page. Some programs write a slash behind it. */
function tokenOf({ params }: FastifyRequest<WithToken>): string {
  return params['*'].replace(/\/$/, '')
}

function openRoute(app: FastifyInstance, deps: TrackingRoutesDeps): void {
  // Whatever stands there, of whatever length.
  app.get<WithToken>('/t/o/*', options, async (request, reply) => {
    const [, token = ''] = /^([^.]*)\.gif$/.exec(request.params['*']) ?? []
    reply.headers(PIXEL_HEADERS)
    const hit = hitOf(deps, request, 'open', token)
    // Where it cannot be counted now, a program that tries again makes good for it.
    if (hit !== undefined) await takeIn(deps, request, hit).catch(refuse(reply))
    return reply.send(PIXEL)
  })
}

function clickRoute(app: FastifyInstance, deps: TrackingRoutesDeps): void {
  app.get<WithToken>('/t/c/*', options, async (request, reply) => {
    const hit = hitOf(deps, request, 'click', tokenOf(request))
    if (hit === undefined) return sendPage(request, reply, 404, 'unknown')
    const taken = await takeIn(deps, request, hit).catch(refuse(reply))
    if (taken === undefined) return sendPage(request, reply, reply.statusCode, 'unavailable')
    const url = 'url' in taken ? taken.url : undefined
    if (url === undefined) return sendPage(request, reply, 410, 'gone')
    const location = locationOf(url)
    if (location === undefined) return sendPage(request, reply, 404, 'unknown')
    return reply.code(302).headers({ location, 'referrer-policy': 'no-referrer' }).send()
  })
}

function unsubscribeRoutes(app: FastifyInstance, deps: TrackingRoutesDeps): void {
  const url = '/t/u/*'
  app.get<WithToken>(url, options, async (request, reply) => {
    const who = deps.tokens.read(tokenOf(request), 'unsubscribe')
    if (who === undefined) return sendPage(request, reply, 404, 'unknown')
    if (await deps.intake.isGone(who)) return sendPage(request, reply, 410, 'gone')
    return sendPage(request, reply, 200, 'unsubscribe')
  })
  // Whatever it says, and in whatever form: a POST to this address unsubscribes.
  const onRequest: onRequestHookHandler = ({ headers }, _reply, done) => {
    delete headers['content-type']
    done()
  }
  const bounded = { ...options, onRequest, bodyLimit: BODY_BYTES_MAX }
  app.post<WithToken>(url, bounded, async (request, reply) => {
    const hit = hitOf(deps, request, 'unsubscribe', tokenOf(request))
    if (hit === undefined) return sendPage(request, reply, 404, 'unknown')
    const taken = await takeIn(deps, request, hit).catch(refuse(reply))
    if (taken === undefined) return sendPage(request, reply, reply.statusCode, 'unavailable')
    if (taken.kind === 'gone') return sendPage(request, reply, 410, 'gone')
    return sendPage(request, reply, 200, 'unsubscribed')
  })
}

function hitOf(
  { tokens, clientAddress, clock, observe }: TrackingRoutesDeps,
  request: FastifyRequest,
  kind: TokenKind,
  token: string,
): Hit | undefined {
  const who = tokens.read(token, kind)
  if (who === undefined) {
    observe.result(kind, 'forged')
    return undefined
  }
  const { headers, socket } = request.raw
  const ip = clientAddress({
    peer: socket.remoteAddress,
    forwardedFor: headers['x-forwarded-for'],
  })
  return readHit({ who, kind, headers, ip, atMicros: clock.nowMicros() })
}

/** Of HEAD only where it would lead to. */
async function takeIn(
  { intake, observe }: TrackingRoutesDeps,
  request: FastifyRequest,
  hit: Hit,
): Promise<TakenIn> {
  if (request.method === 'HEAD') {
    const url = hit.kind === 'click' ? await intake.urlOf(hit) : undefined
    return url === undefined ? { kind: 'gone' } : { kind: 'bounded', url }
  }
  const startedAt = performance.now()
  try {
    const taken = await intake.take(hit)
    observe.hit(hit, taken.kind, startedAt)
    return taken
  } catch (error) {
    observe.hit(hit, 'unavailable', startedAt)
    throw error
  }
}

/** For a page in place of the error's own body; what is no refusal of ours goes on as it is. */
function refuse(reply: FastifyReply): (error: unknown) => undefined {
  return (error) => {
    const refusal = refusalOf(error)
    if (refusal === undefined) throw error
    reply.code(refusal.status)
    if (refusal.retryAfterS !== undefined) reply.header('retry-after', String(refusal.retryAfterS))
    return undefined
  }
}

function sendPage(request: FastifyRequest, reply: FastifyReply, status: number, name: PageName) {
  const page = recipientPage(name, request.headers['accept-language'])
  return reply.code(status).headers(recipientPageHeaders).send(page)
}

/**
 * The Location header for a URL as it stands in an email: as it is, unless a header cannot hold it;
 * then as a browser resolves it (WHATWG URL), host as A-labels. Undefined where it is no web
 * address: what `javascript:` and the like would do there is nobody's wish.
 */
export function locationOf(url: string): string | undefined {
  if (!/^https?:\/\/[^/]/i.test(url)) return undefined
  return /^[\x21-\x7e]+$/.test(url) ? url : URL.parse(url)?.href
}
