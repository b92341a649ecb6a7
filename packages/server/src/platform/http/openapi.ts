/**
 * The OpenAPI 3.1 description at /openapi.json, made from the routes themselves and from the
 * contract's events, and its pages at /docs.
 */
import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import { errorBody } from '@postrider/contract'
import type { FastifyInstance } from 'fastify'
import { tenantHeader } from './act-for-tenant.ts'
import { webhookDescriptions, webhookSchemas } from './describe-webhooks.ts'

export const docsPrefix = '/docs'
export const errorSchemaId = 'Error'

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
  app.addSchema({ ...errorBody, $id: errorSchemaId })
  app.register(swagger, {
    refResolver: { buildLocalReference: (schema) => String(schema.$id) },
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Postrider',
        version: o.version,
        description: 'Email delivery with an exact ledger and webhooks that are never lost.',
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: o.publicUrl }],
      webhooks: webhookDescriptions,
      components: {
        schemas: webhookSchemas,
        securitySchemes: {
          apiKey: { type: 'http', scheme: 'bearer', description: "A tenant's API key" },
          adminToken: {
            type: 'http',
            scheme: 'bearer',
            description: `The operator's token. On operations under /v1 it acts for the tenant that the header ${tenantHeader} names; without that header it is 401.`,
          },
          actingFor: {
            type: 'apiKey',
            in: 'header',
            name: tenantHeader,
            description:
              "With the operator's token alone: the id of the tenant that it acts for. An unknown tenant is 404, anything else than an id 400. Every call that may change something is recorded.",
          },
        },
      },
    },
  })
  app.register(swaggerUi, { routePrefix: docsPrefix, staticCSP: docsPolicy })
  // Written once, and the same bytes for all: whoever asks often, or does not read, costs nothing.
  let description: Buffer | undefined
  app.get(
    '/openapi.json',
    { config: { auth: 'public' }, schema: { hide: true } },
    (_request, reply) => {
      description ??= Buffer.from(JSON.stringify(app.swagger()))
      return reply.type('application/json').send(description)
    },
  )
}
