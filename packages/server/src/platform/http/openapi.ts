/**
 * The OpenAPI 3.1 description at /openapi.json, made from the routes themselves and from the
 * contract's events, and its pages at /docs.
 */
import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { FastifyInstance } from 'fastify'
import type { DescribedOperation } from './description/describe-operation.ts'
import { writeDocument } from './description/document.ts'

export const docsPrefix = '/docs'

/** The pages load their own files and nothing else. No upgrade to https: the host may serve plain http. */
const docsPolicy = [
  "default-src 'self'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "object-src 'none'",
  "script-src-attr 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

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
  // Written once, and the same for all: whoever asks often, or does not read, costs nothing.
  let written: { readonly document: object; readonly bytes: Buffer } | undefined
  const write = () => {
    const document = writeDocument([...operations.values()], o)
    return { document, bytes: Buffer.from(JSON.stringify(document)) }
  }
  app.register(swagger, { openapi: {} })
  app.register(swaggerUi, {
    routePrefix: docsPrefix,
    staticCSP: docsPolicy,
    transformSpecification() {
      written ??= write()
      return written.document as Record<string, unknown>
    },
  })
  app.get(
    '/openapi.json',
    { config: { auth: 'public' }, schema: { hide: true } },
    (_request, reply) => {
      written ??= write()
      return reply.type('application/json').send(written.bytes)
    },
  )
}
