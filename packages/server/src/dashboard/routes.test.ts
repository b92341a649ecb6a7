/** The dashboard as it is served (docs/reference/dashboard.md), from a folder of the test's own. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib'
import type { InjectOptions } from 'fastify'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createHttpApp, type HttpApp } from '../platform/http/app.ts'
import { createLogger } from '../platform/log.ts'
import { createMetrics } from '../platform/metrics.ts'
import { createDashboard } from './create.ts'

const SCRIPT = 'console.log("the script of the page")'
const folder = mkdtempSync(join(tmpdir(), 'postrider-dashboard-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function write(name: string, content: string | Buffer): void {
  writeFileSync(join(folder, name), content)
}

function appWith(built: string): HttpApp {
  const log = createLogger({ level: 'silent' })
  const app = createHttpApp({ log, metrics: createMetrics(), authenticateKey: () => undefined })
  createDashboard({
    ...{ log, hasOidc: true, isOidcOnly: false },
    folder: pathToFileURL(`${built}/`),
  }).routes(app)
  return app
}

describe('the dashboard', () => {
  let app: HttpApp
  beforeAll(() => {
    mkdirSync(join(folder, 'assets'))
    write(
      'index.html',
      '<meta name="csp-nonce" content="__CSP_NONCE__" /><meta name="login-ways" content="__LOGIN_WAYS__" /><div id="root"></div>',
    )
    write('secret.txt', 'not of the page')
    write('assets/index-abc.js', SCRIPT)
    write('assets/index-abc.js.br', brotliCompressSync(SCRIPT))
    write('assets/index-abc.js.gz', gzipSync(SCRIPT))
    write('assets/inter-def.woff2', Buffer.from([0, 1, 2]))
    app = appWith(folder)
  })
  afterAll(() => app.close())

  const get = (url: string, o: InjectOptions = {}) => app.inject({ method: 'GET', url, ...o })

  it.each([
    '/app',
    '/app/',
    '/app/login',
    '/app/t/tn_1/emails/em_1?status=failed&page=2',
    '/app/index.html',
    '/app/t/100%',
    '/app/%00',
    '/app/a%2fb',
  ])('answers the page at %s', async (url) => {
    const answer = await get(url)
    expect(answer.statusCode).toBe(200)
    expect(answer.headers['content-type']).toBe('text/html; charset=utf-8')
    expect(answer.headers['cache-control']).toBe('no-store')
    expect(answer.body).toContain('<div id="root">')
  })

  it('writes into the page how people log in', async () => {
    const { body } = await get('/app/login')
    expect(body).toContain('<meta name="login-ways" content="password oidc" />')
  })

  it('puts a nonce of each answer into the page and into its policy', async () => {
    const answers = [await get('/app/'), await get('/app/')]
    const nonces = answers.map(({ body, headers }) => {
      const [, nonce] = /content="([^"]+)"/.exec(body) ?? []
      expect(nonce).toMatch(/^[\w+/]{22}==$/)
      expect(headers['content-security-policy']).toBe(
        `default-src 'none'; script-src 'self'; style-src 'self' 'nonce-${nonce}'; img-src 'self' data:; font-src 'self'; connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'`,
      )
      return nonce
    })
    expect(new Set(nonces).size).toBe(2)
  })

  it('tells browsers to guess no type, to keep the address, the window and every device to itself', async () => {
    const { headers } = await get('/app/')
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'same-origin',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
    })
    const permissions = String(headers['permissions-policy']).split(', ')
    expect(permissions).toContain('camera=()')
    expect(permissions.filter((one) => !one.endsWith('=()'))).toEqual([])
  })

  it('writes nothing of the address into the page', async () => {
    const { body } = await get('/app/%3Cscript%3Ealert(1)%3C/script%3E?q=%22%3E%3Cscript%3E#__CSP')
    expect(body).not.toMatch(/<script|alert/)
  })

  it.each([
    ['br, gzip', 'br', brotliDecompressSync],
    ['gzip, deflate, br;q=0', 'gzip', gunzipSync],
    ['GZIP;q=0.5', 'gzip', gunzipSync],
    ['br;q=0.0, gzip;q=0', undefined, (bytes: Buffer) => bytes],
    ['', undefined, (bytes: Buffer) => bytes],
    ['bread', undefined, (bytes: Buffer) => bytes],
  ])('sends a file to a client that accepts "%s" as %s', async (accepted, coding, expand) => {
    const answer = await get('/app/assets/index-abc.js', {
      headers: { 'accept-encoding': accepted },
    })
    expect(answer.statusCode).toBe(200)
    expect(answer.headers).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
      'x-content-type-options': 'nosniff',
      vary: 'accept-encoding',
    })
    expect(answer.headers['content-encoding']).toBe(coding)
    expect(expand(answer.rawPayload).toString()).toBe(SCRIPT)
  })

  it('sends a file that has no compressed copy as it is', async () => {
    const headers = { 'accept-encoding': 'br, gzip' }
    const answer = await get('/app/assets/inter-def.woff2', { headers })
    expect(answer.headers['content-type']).toBe('font/woff2')
    expect(answer.headers['content-encoding']).toBeUndefined()
    expect(answer.rawPayload).toEqual(Buffer.from([0, 1, 2]))
  })

  it.each([
    '',
    'gone-123.js',
    'index-abc.js.br',
    'index-abc.js/',
    '..%2fsecret.txt',
    '/etc/passwd',
    '%2fetc%2fpasswd',
    'index-abc.js%00',
    'index-abc.js%',
    'constructor',
    '__proto__',
  ])('answers 404 for the file "%s", and never the page', async (name) => {
    const answer = await get(`/app/assets/${name}`)
    expect(answer.statusCode).toBe(404)
    expect(answer.headers['cache-control']).toBe('no-store')
    expect(answer.json()).toMatchObject({ code: 'not_found' })
  })

  it('answers HEAD without a body, of the same length', async () => {
    for (const url of ['/app/t/tn_1', '/app/assets/index-abc.js']) {
      const [head, whole] = [await get(url, { method: 'HEAD' }), await get(url)]
      expect(head.statusCode).toBe(200)
      expect(head.body).toBe('')
      expect(head.headers['content-length']).toBe(whole.headers['content-length'])
    }
  })

  it('refuses other methods', async () => {
    const answer = await get('/app/login', { method: 'POST' })
    expect(answer.statusCode).toBe(405)
    expect(answer.headers.allow).toBe('GET, HEAD')
  })

  it('is where / leads to', async () => {
    const answer = await get('/')
    expect(answer.statusCode).toBe(302)
    expect(answer.headers.location).toBe('/app/')
  })
})

describe('a dashboard that is not built', () => {
  it('says so, and how to build it, in place of the page', async () => {
    const app = appWith(join(folder, 'nothing'))
    const answer = await app.inject({ method: 'GET', url: '/app/login' })
    expect(answer.statusCode).toBe(503)
    expect(answer.body).toContain('npm run build')
    expect(answer.headers['content-security-policy']).toContain("default-src 'none'")
    const file = await app.inject({ method: 'GET', url: '/app/assets/index-abc.js' })
    expect(file.statusCode).toBe(404)
    await app.close()
  })
})

describe('a file of a type that is not known', () => {
  it('is refused at start, by its name', async () => {
    const other = join(folder, 'other')
    mkdirSync(join(other, 'assets'), { recursive: true })
    writeFileSync(join(other, 'index.html'), '')
    writeFileSync(join(other, 'assets', 'page.exe'), '')
    expect(() => appWith(other)).toThrow(/page\.exe/)
  })
})
