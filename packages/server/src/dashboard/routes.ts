/**
 * Serves the dashboard (docs/reference/dashboard.md): the page at `/app/` and at every address below it, as the
 * page itself reads its address, and its files, whose names change with their content.
 */
import { randomBytes } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ApiError } from '../platform/errors.ts'
import { PAGE_STYLE, pageHeaders } from '../platform/http/page.ts'
import type { BuiltFile, BuiltFiles } from './built-files.ts'

/** The page loads its own files, calls its own service, and is shown in no frame. */
const policyWith = (nonce: string): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "frame-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; ')

/** Of nothing that a browser could grant. Copying needs no permission that is named here. */
const PERMISSIONS = [
  ...['accelerometer', 'autoplay', 'camera', 'display-capture', 'encrypted-media', 'fullscreen'],
  ...['geolocation', 'gyroscope', 'magnetometer', 'microphone', 'midi', 'payment'],
  ...['picture-in-picture', 'publickey-credentials-get', 'screen-wake-lock', 'usb'],
]
  .map((name) => `${name}=()`)
  .join(', ')

const INDEX_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': PERMISSIONS,
}
const ASSET_HEADERS = {
  'cache-control': 'public, max-age=31536000, immutable',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  vary: 'accept-encoding',
}

const NOT_BUILT = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>The dashboard is not built</title>
<style>${PAGE_STYLE}</style>
</head>
<body>
<h1>The dashboard is not built</h1>
<p>The service runs; its dashboard was not there when it started. On its machine, run this in the folder of Postrider, and then start the service again:</p>
<pre>npm run build</pre>
</body>
</html>
`

const PUBLIC = { auth: 'public' } as const
/** Any address below is one of the page, whatever people make of it. */
const options = { config: { ...PUBLIC, takesAnything: true }, schema: { hide: true } }

export function dashboardRoutes(app: FastifyInstance, built: BuiltFiles | undefined): void {
  app.get('/', { config: PUBLIC, schema: { hide: true } }, (_request, reply) =>
    reply.redirect('/app/', 302),
  )
  for (const path of ['/app', '/app/*'])
    app.get(path, options, (_request, reply) => {
      if (built === undefined)
        return reply
          .code(503)
          .headers(pageHeaders({ formAction: "'none'" }))
          .send(NOT_BUILT)
      const nonce = randomBytes(16).toString('base64')
      return reply
        .headers(INDEX_HEADERS)
        .header('content-security-policy', policyWith(nonce))
        .send(built.index(nonce))
    })
  app.get<{ Params: { readonly '*': string } }>('/app/assets/*', options, (request, reply) => {
    const file = built?.assets.get(request.params['*'])
    if (file === undefined) throw new ApiError('not_found')
    const { coding, bytes } = chooseCopy(file, request)
    if (coding !== undefined) reply.header('content-encoding', coding)
    return reply.headers(ASSET_HEADERS).type(file.type).send(bytes)
  })
}

function chooseCopy(file: BuiltFile, { headers }: FastifyRequest) {
  const accepted = readCodings(headers['accept-encoding'] ?? '')
  const copy = file.compressed.find(({ coding }) => accepted.has(coding))
  return copy ?? { coding: undefined, bytes: file.bytes }
}

/** Those that the header names and does not refuse by `q=0` (RFC 9110 §12.5.3). */
function readCodings(header: string | string[]): ReadonlySet<string> {
  const parts = String(header).toLowerCase().split(',')
  const isRefused = (part: string) => /;\s*q=0(?:\.0*)?\s*$/.test(part)
  return new Set(
    parts.flatMap((part) => (isRefused(part) ? [] : (part.split(';', 1)[0] ?? '').trim())),
  )
}
