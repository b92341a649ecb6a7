/**
 * The OpenAPI 3.1 description at /openapi.json, made from the routes themselves and from the
 * contract's events, and the reference written from it at /docs.
 */
import { readFileSync } from 'node:fs'
import type { FastifyInstance } from 'fastify'
import type { DescribedOperation } from './description/describe-operation.ts'
import { writeDocument } from './description/document.ts'
import { type Document, writePage } from './reference/write-page.ts'

/** The page loads its own files and nothing else. No upgrade to https: the host may serve plain http. */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const PAGE_HEADERS = {
  'content-security-policy': PAGE_POLICY,
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
}

const HTML = 'text/html; charset=utf-8'
const FOLDER = new URL('reference/', import.meta.url)
const FILES = {
  'reference.css': 'text/css; charset=utf-8',
  'reference.js': 'text/javascript; charset=utf-8',
} as const

/** Call before any route is added. */
export function describeRoutes(
  app: FastifyInstance,
  o: { readonly publicUrl: string; readonly version: string },
): void {
  const operations = new Map<string, DescribedOperation>()
  app.addHook('onRoute', ({ config }) => {
    const operation = config?.operation
    if (operation !== undefined) operations.set(operation.id, operation)
  })
  const readDocument = once(() => writeDocument([...operations.values()], o))
  const offer = (path: string, type: string, write: () => string) => {
    const read = once(() => Buffer.from(write()))
    app.get(path, { config: { auth: 'public' }, schema: { hide: true } }, (_request, reply) =>
      reply.headers(PAGE_HEADERS).type(type).send(read()),
    )
  }
  offer('/openapi.json', 'application/json', () => JSON.stringify(readDocument()))
  // Its links are relative: it may be reached below another path.
  for (const [path, up] of [
    ['/docs', './'],
    ['/docs/', '../'],
  ] as const)
    offer(path, HTML, () => writePage(readDocument() as unknown as Document, up))
  for (const [name, type] of Object.entries(FILES))
    offer(`/docs/${name}`, type, () => readFileSync(new URL(name, FOLDER), 'utf8'))
}

/** Written once, and the same for all: frequent or slow readers cost nothing. */
function once<T>(write: () => T): () => T {
  let written: { readonly value: T } | undefined
  return () => {
    written ??= { value: write() }
    return written.value
  }
}
