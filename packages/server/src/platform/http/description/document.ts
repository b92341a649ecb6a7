/** The OpenAPI 3.1 document: what callers need to know at first, and every operation and webhook. */
import { type OperationId, operations, type Tag, tags } from '@postrider/contract'
import { tenantHeader } from '../act-for-tenant.ts'
import { type DescribedOperation, describeOperation, pageParameters } from './describe-operation.ts'
import { describeWebhooks } from './describe-webhooks.ts'
import { readExamples } from './examples.ts'
import { answerHeaders, headerParameters } from './headers.ts'
import { createRefusals } from './refusals.ts'
import { createShapes, type Schema } from './shapes.ts'

const INTRODUCTION = `Email delivery with an exact ledger and webhooks that are never lost.

**Keys.** Every call has a key: \`Authorization: Bearer <API_KEY>\`. A key may have scopes. Each operation names the scopes of which one is enough (\`x-required-scope\`). A key without scopes may do everything.

**Answers.** JSON with \`success\` and \`message\` for people, and what the operation is about. A refusal has a \`code\` for programs, a \`request_id\` (also in the header \`X-Request-Id\`), and \`errors\` with the path of each field at fault. Later versions add fields to answers and events, and words to their lists: skip what you do not know. Requests are closed: an unknown field is refused. \`null\` for an optional field means that it is absent; in an update it removes what is stored, and a field that cannot be removed refuses it.

**Lists.** Newest first, up to \`pageSize\` at once. Follow \`nextPageToken\` until there is none.

**Times and ids.** RFC 3339 in UTC. An id is a prefix and a ULID, such as \`smtp_01JD4M8W6ZQ3V5T7X9Y2A4C6E8\`. The \`ref_id\` of an email is a ULID alone.

**Repeating.** After 429 and 503, repeat after \`Retry-After\`: nothing was done, unless the 503 has \`outcome: "unknown"\`; then see first whether it was. Give \`Idempotency-Key\` where an operation takes it, so that nothing is sent twice. A \`traceparent\` of yours is continued up to the webhooks.`

const securitySchemes = {
  apiKey: { type: 'http', scheme: 'bearer', description: "A tenant's API key" },
  adminToken: {
    type: 'http',
    scheme: 'bearer',
    description: `The operator's token. On operations under /v1 it acts for the tenant that the header ${tenantHeader} names; without that header it is 401.`,
  },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: '__Host-postrider_session',
    description:
      'The cookie that createSession sets. It opens every operation under /ui/api and its path, as far as the role of the person allows (x-roles), for the tenant in X-Postrider-Tenant. A change also needs the header X-Postrider-Session: 1 and an Origin that is the one of the service.',
  },
  actingFor: {
    type: 'apiKey',
    in: 'header',
    name: tenantHeader,
    description:
      "With the operator's token alone: the id of the tenant that it acts for. An unknown tenant is 404, anything else than an id 400. Every call that may change something is recorded.",
  },
}

export function writeDocument(
  described: readonly DescribedOperation[],
  o: { readonly publicUrl: string; readonly version: string },
): Schema {
  const shapes = createShapes()
  const examples = readExamples()
  const webhooks = describeWebhooks(shapes, examples.webhooks)
  const refusals = createRefusals(shapes)
  const byTag = inOrder(described).map(
    (one) =>
      [
        one,
        describeOperation(one, { shapes, refusals, example: examples.operations[one.id] }),
      ] as const,
  )
  const paths: Record<string, Record<string, Schema>> = {}
  for (const [{ id }, describe] of byTag) {
    const { path, method } = operations[id]
    paths[path] = { ...paths[path], [method.toLowerCase()]: describe() }
  }
  const parameters = { ...pageParameters(shapes), ...headerParameters }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Postrider',
      version: o.version,
      description: INTRODUCTION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    // By whatever name the service is reached; and as it is known outside.
    servers: [{ url: '/' }, { url: o.publicUrl }],
    tags: tags.filter(({ name }) => described.some(({ details }) => details.tag === name)),
    paths,
    webhooks,
    components: {
      schemas: shapes.components(),
      responses: refusals.components(),
      parameters,
      headers: answerHeaders,
      securitySchemes,
    },
  }
}

/** By tag, then as the contract lists them. */
function inOrder(described: readonly DescribedOperation[]): DescribedOperation[] {
  const places = new Map(Object.keys(operations).map((id, n) => [id as OperationId, n]))
  const placeOf = (tag: Tag) => tags.findIndex(({ name }) => name === tag)
  return described.toSorted(
    (a, b) =>
      placeOf(a.details.tag) - placeOf(b.details.tag) ||
      (places.get(a.id) ?? 0) - (places.get(b.id) ?? 0),
  )
}
