/**
 * What an OAuth app's fields mean, beyond the shape that the schema checks
 * (docs/reference/mailers.md#oauth-apps). Each refusal names its field's path.
 *
 * Tokens and the client's secret go to `token_url` and `userinfo_url`: https, save to networks that
 * the operator has opened, and never to an address that is not allowed.
 */
import type { CreateOAuthAppBody, FieldError, OAuthMailServer } from '@postrider/contract'
import {
  type Egress,
  isRefusedHost,
  notReachable,
  parseHost,
  problemOfEndpoint,
  problemOfUrl,
} from '../../../platform/egress/index.ts'

export interface CheckAppDeps {
  readonly egress: Pick<Egress, 'check' | 'isOwnNetwork'>
}

type Fields = Partial<CreateOAuthAppBody>

export async function checkApp(deps: CheckAppDeps, fields: Fields): Promise<FieldError[]> {
  const errors = [
    ...checkTexts(fields),
    ...(fields.redirect_uris ?? []).flatMap((uri, i) =>
      errorAt(`/redirect_uris/${i}`, problemOfRedirect(uri)),
    ),
    ...checkEndpoint(deps, '/authorize_url', fields.authorize_url),
    ...checkEndpoint(deps, '/token_url', fields.token_url),
    ...checkEndpoint(deps, '/userinfo_url', fields.userinfo_url),
    ...checkServer('/smtp', fields.smtp),
    ...checkServer('/imap', fields.imap),
  ]
  if (errors.length > 0) return errors
  // The browser goes to authorize_url, not this service.
  const checks = [
    hostOf('/token_url', fields.token_url),
    hostOf('/userinfo_url', fields.userinfo_url),
    ...(fields.smtp === undefined ? [] : [{ path: '/smtp/host', host: fields.smtp.host }]),
    ...(fields.imap === undefined ? [] : [{ path: '/imap/host', host: fields.imap.host }]),
  ].flatMap((one) => one ?? [])
  const found = await Promise.all(
    checks.map(async ({ path, host }) =>
      (await isRefusedHost(deps.egress, host)) ? [{ path, message: notReachable }] : [],
    ),
  )
  return found.flat()
}

/** With its host in the form in which it is used and shown. */
export function normalisedServer(server: OAuthMailServer): OAuthMailServer {
  const host = parseHost(server.host)
  if (host === undefined) return server
  return { ...server, host: host.kind === 'address' ? host.address : host.name }
}

/** RFC 6749 §3.3: visible ASCII without quote and backslash. */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+$/
const VISIBLE = /^[\x21-\x7e]+$/

function checkTexts({ client_id, client_secret, scopes }: Fields): FieldError[] {
  const visible = 'must be visible ASCII characters'
  return [
    ...(client_id === undefined || VISIBLE.test(client_id)
      ? []
      : [{ path: '/client_id', message: visible }]),
    ...(client_secret === undefined || VISIBLE.test(client_secret)
      ? []
      : [{ path: '/client_secret', message: visible }]),
    ...(scopes ?? []).flatMap((scope, i) =>
      SCOPE.test(scope) ? [] : [{ path: `/scopes/${i}`, message: 'is not a scope (RFC 6749)' }],
    ),
  ]
}

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]'])

/** A page of the tenant's own, to which a browser is sent; http only on the browser's machine. */
function problemOfRedirect(text: string): string | undefined {
  const url = URL.parse(text)
  if (url === null || !/^https?:\/\//i.test(text)) return 'must be an http or https URL'
  if (url.protocol === 'http:' && !LOOPBACK.has(url.hostname)) return 'must be an https URL'
  return problemOfUrl(url, text)
}

function checkEndpoint(deps: CheckAppDeps, path: string, text: string | undefined): FieldError[] {
  return text === undefined ? [] : errorAt(path, problemOfEndpoint(deps.egress, text))
}

function checkServer(path: string, server: OAuthMailServer | undefined): FieldError[] {
  if (server === undefined || parseHost(server.host) !== undefined) return []
  return [{ path: `${path}/host`, message: 'must be a host name or an IP address' }]
}

function errorAt(path: string, message: string | undefined): FieldError[] {
  return message === undefined ? [] : [{ path, message }]
}

function hostOf(path: string, text: string | undefined) {
  const url = text === undefined ? null : URL.parse(text)
  return url === null ? undefined : { path, host: url.hostname }
}
