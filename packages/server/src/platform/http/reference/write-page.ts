/**
 * The reference of the API at /docs: one page, written from the OpenAPI description. It needs no script
 * to be read; reference.js adds the search, the choice of colors and the forms to try an operation.
 */
import { escapeHtml } from '../page.ts'
import { writeFields, writeType } from './write-fields.ts'
import { type Schema, writeJson, writeMarkdown } from './write-text.ts'

interface Parameter {
  readonly $ref?: string
  readonly name: string
  readonly in: string
  readonly required?: boolean
  readonly description?: string
  readonly schema: Schema
}

interface Content {
  readonly schema: Schema
  readonly example?: unknown
}

interface Response {
  readonly $ref?: string
  readonly description: string
  readonly content?: Readonly<Record<string, Content>>
}

interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly description?: string
  readonly tags: readonly string[]
  readonly security: readonly Readonly<Record<string, unknown>>[]
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly content: Readonly<Record<string, Content>> }
  readonly responses: Readonly<Record<string, Response>>
  readonly 'x-required-scope'?: readonly string[]
}

export interface Document {
  readonly info: {
    readonly title: string
    readonly version: string
    readonly description: string
  }
  readonly servers: readonly { readonly url: string }[]
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly webhooks: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>
    readonly parameters: Readonly<Record<string, Parameter>>
    readonly responses: Readonly<Record<string, Response>>
  }
}

interface Shown extends Operation {
  readonly method: string
  readonly path: string
}

/** @param up the way from the page's address to the root of the service: `./` or `../` */
export function writePage(document: Document, up: string): string {
  const shown = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...operation,
      ...{ method: method.toUpperCase(), path },
    })),
  )
  const { title, version, description } = document.info
  const groups = document.tags.map((tag) => ({
    ...tag,
    operations: shown.filter(({ tags }) => tags.includes(tag.name)),
    webhooks: Object.entries(document.webhooks).filter(([, { post }]) =>
      post?.tags.includes(tag.name),
    ),
  }))
  return `<!doctype html>
<html lang="en" data-up="${up}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)} API</title>
<link rel="icon" href="${ICON}">
<link rel="stylesheet" href="${up}docs/reference.css">
<script type="module" src="${up}docs/reference.js"></script>
</head>
<body>
<nav aria-label="Operations">
<p class="brand"><a class="home" href="#top">${escapeHtml(title)}</a> <small>API ${escapeHtml(version)}</small></p>
<p class="tools"><input type="search" id="find-operations" placeholder="Search" aria-label="Search operations" hidden> <button type="button" id="theme" hidden>Dark</button></p>
<p id="nothing" role="status"></p>
<ul>
${groups.map(writeNavGroup).join('\n')}
<li><a class="to-group" href="#shapes">Shapes</a></li>
</ul>
</nav>
<main id="top">
<header>
<h1>${escapeHtml(title)} API</h1>
${writeMarkdown(description)}
<p><a href="${up}openapi.json">OpenAPI description</a>, for generators of clients and other tools.</p>
<p id="key" hidden><label>API key, to try operations here <input type="password" autocomplete="off" spellcheck="false"></label> <small>Kept in this page only, until it is closed.</small></p>
</header>
${groups.map((group) => writeGroup(group, document)).join('\n')}
<section class="group" id="shapes">
<h2>Shapes</h2>
<p>Everything that has a name above.</p>
${Object.entries(document.components.schemas).map(writeShape).join('\n')}
</section>
</main>
</body>
</html>
`
}

const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Crect width='16' height='16' rx='4' fill='%230f6b5c'/%3E%3Cpath d='M3.5 5h9v6h-9z M3.5 5l4.500 3.500L12.500 5' fill='none' stroke='%23fff' stroke-width='1.200'/%3E%3C/svg%3E"

interface Group {
  readonly name: string
  readonly description: string
  readonly operations: readonly Shown[]
  readonly webhooks: readonly (readonly [string, Readonly<Record<string, Operation>>])[]
}

function idOf(name: string): string {
  return `group-${name.toLowerCase().replaceAll(/\W+/g, '-')}`
}

function writeNavGroup({ name, operations, webhooks }: Group): string {
  const entries = [
    ...operations.map(
      ({ operationId, summary, method, path }) =>
        `<li data-words="${escapeHtml(`${operationId} ${summary} ${path}`.toLowerCase())}"><a class="to-operation" href="#${operationId}"><span class="method ${method.toLowerCase()}">${method}</span> ${escapeHtml(summary)}</a></li>`,
    ),
    ...webhooks.map(
      ([event]) =>
        `<li data-words="${event.toLowerCase()} webhook"><a class="to-operation" href="#webhook-${event}"><span class="method event">EVENT</span> ${event}</a></li>`,
    ),
  ]
  return `<li><a class="to-group" href="#${idOf(name)}">${escapeHtml(name)}</a><ul>${entries.join('')}</ul></li>`
}

function writeGroup(group: Group, document: Document): string {
  return `<section class="group" id="${idOf(group.name)}">
<h2>${escapeHtml(group.name)}</h2>
${writeMarkdown(group.description)}
${group.operations.map((operation) => writeOperation(operation, document)).join('\n')}
${group.webhooks.map(([event, { post }]) => (post === undefined ? '' : writeWebhook(event, post, document))).join('\n')}
</section>`
}

function writeOperation(operation: Shown, document: Document): string {
  const { operationId, summary, description, method, path, requestBody } = operation
  const parameters = (operation.parameters ?? []).map((one) => resolve(one, document))
  const [[type = '', body] = []] = Object.entries(requestBody?.content ?? {})
  const [[status = '', answer] = []] = Object.entries(operation.responses)
  return `<section class="operation" id="${operationId}" data-method="${method}" data-path="${escapeHtml(path)}">
<div class="about">
<h3><a class="anchor" href="#${operationId}">${escapeHtml(summary)}</a></h3>
<p class="route"><span class="method ${method.toLowerCase()}">${method}</span> <code>${escapeHtml(path)}</code> <small>${operationId}</small></p>
${writeMarkdown(description ?? '')}
<p class="scope">${writeScope(operation)}</p>
${parameters.length === 0 ? '' : `<h4>Parameters</h4>${writeParameters(parameters)}`}
${body === undefined ? '' : `<h4>Body</h4>${writeTyped(type, body, document)}`}
<h4>Answer ${status}</h4>
${Object.entries(answer?.content ?? {})
  .map(([kind, content]) => writeTyped(kind, content, document))
  .join('\n')}
<details><summary>Refusals</summary>${writeRefusals(operation, document)}</details>
</div>
<div class="examples">
<h4>Request</h4>
<pre><code>${writeCurl(operation, { parameters, type, body, document })}</code></pre>
${writeExample(`Answer ${status}`, Object.values(answer?.content ?? {})[0]?.example)}
</div>
</section>`
}

function writeWebhook(event: string, operation: Operation, document: Document): string {
  const content = operation.requestBody?.content['application/json']
  return `<section class="operation" id="webhook-${event}">
<div class="about">
<h3><a class="anchor" href="#webhook-${event}">${event}</a></h3>
<p class="route"><span class="method event">EVENT</span> A request that your webhook receives</p>
<p>${escapeHtml(operation.summary)}.</p>
${writeMarkdown(operation.description ?? '')}
<h4>Body</h4>
${content === undefined ? '' : writeContent(content, document)}
</div>
<div class="examples">${writeExample('Request', content?.example)}</div>
</section>`
}

function writeScope({ security, 'x-required-scope': scopes }: Operation): string {
  const [first] = security
  if (first === undefined) return 'Without a key, by the dashboard.'
  if ('session' in first) return 'With the cookie of a session, by the dashboard.'
  if (scopes === undefined || security.every((one) => !('apiKey' in one)))
    return "With the operator's token."
  if (scopes.length === 0) return 'With an API key without scopes.'
  const names = scopes.map((scope) => `<code>${escapeHtml(scope)}</code>`).join(' or ')
  return `With an API key that has the scope ${names}, or none.`
}

function writeParameters(parameters: readonly Parameter[]): string {
  const properties = parameters.map(({ name, description, schema, in: place }) => [
    name,
    {
      ...schema,
      description: `${place === 'query' ? '' : `In the ${place}. `}${description ?? ''}`,
    },
  ])
  const required = parameters.flatMap((one) => (one.required === true ? one.name : []))
  return writeFields({
    properties: Object.fromEntries(properties),
    required,
    additionalProperties: false,
  })
}

/** The fields of a shape that has a name are written where it is used first: here. */
function writeContent({ schema }: Content, document: Document): string {
  const name = nameOf(schema)
  const shape = name === undefined ? schema : document.components.schemas[name]
  return shape?.properties === undefined ? `<p>${writeType(schema)}</p>` : writeFields(shape)
}

function writeTyped(type: string, content: Content, document: Document): string {
  if (type === 'application/json') return writeContent(content, document)
  return `<p><code>${escapeHtml(type)}</code></p>`
}

function writeRefusals({ responses }: Operation, document: Document): string {
  const rows = Object.entries(responses)
    .filter(([status]) => status >= '400')
    .map(([status, response]) => {
      const name = nameOf(response)
      const { description } = (name && document.components.responses[name]) || response
      return `<dt>${status}</dt><dd>${writeMarkdown(description)}</dd>`
    })
  return `<dl class="refusals">${rows.join('')}</dl>`
}

function writeExample(title: string, example: unknown): string {
  if (example === undefined) return ''
  const text = typeof example === 'string' ? escapeHtml(example) : writeJson(example)
  return `<h4>${title}</h4>\n<pre><code>${text}</code></pre>`
}

function writeCurl(
  { method, path }: Shown,
  o: {
    readonly parameters: readonly (Parameter & { readonly example?: unknown })[]
    /** Of the body. */
    readonly type: string
    readonly body: Content | undefined
    readonly document: Document
  },
): string {
  const values = new Map(o.parameters.map(({ name, example }) => [name, example]))
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name) =>
    encodeURIComponent(String(values.get(name) ?? name)),
  )
  const given = o.parameters.filter(({ in: place, example }) => place === 'query' && example)
  const query = new URLSearchParams(
    given.map(({ name, example }): [string, string] => [name, String(example)]),
  )
  const url = `${escapeHtml(filled)}${given.length === 0 ? '' : escapeHtml(`?${query}`)}`
  const origin = escapeHtml(o.document.servers.at(-1)?.url ?? '')
  const verb = method === 'GET' ? '' : `-X ${method} `
  const lines = [
    `curl ${verb}'<span class="origin">${origin}</span>${url}'`,
    `-H 'Authorization: Bearer <b>&lt;API_KEY&gt;</b>'`,
    ...(o.body === undefined
      ? []
      : [
          `-H 'Content-Type: ${escapeHtml(o.type)}'`,
          o.type === 'application/json'
            ? `-d '${writeJson(o.body.example ?? {}).replaceAll('&#39;', "'\\''")}'`
            : '--data-binary @FILE',
        ]),
  ]
  return lines.join(' \\\n  ')
}

function writeShape([name, schema]: readonly [string, Schema]): string {
  const about = schema.description === undefined ? '' : writeMarkdown(schema.description)
  return `<section class="shape" id="shape-${name}"><h3><a class="anchor" href="#shape-${name}">${name}</a></h3>${about}${writeFields(schema)}</section>`
}

function resolve(parameter: Parameter, document: Document): Parameter {
  const name = nameOf(parameter)
  return (name === undefined ? undefined : document.components.parameters[name]) ?? parameter
}

function nameOf({ $ref }: { readonly $ref?: string }): string | undefined {
  return $ref?.split('/').at(-1)
}
