/**
 * The OpenAPI 3.1 description at /openapi.json, made from the routes themselves and from the
 * contract's events, and its pages at /docs.
 */
import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import { errorBody } from '@postrider/contract'
import type { FastifyInstance } from 'fastify'
import { webhookDescriptions, webhookSchemas } from './describe-webhooks.ts'

export const docsPrefix = '/docs'
export const errorSchemaId = 'Error'

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
          adminToken: { type: 'http', scheme: 'bearer', description: "The operator's token" },
        },
      },
    },
  })
  app.register(swaggerUi, { routePrefix: docsPrefix, staticCSP: true })
  app.get(
    '/openapi.json',
    { config: { auth: 'public' }, schema: { hide: true } },
    (_request, reply) => {
      reply.type('application/json')
      return app.swagger()
    },
  )
}
