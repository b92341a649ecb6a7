/** A page for each operation of the API, from `docs/openapi.json`, and a list of them. */
import { errorCatalogue } from '../../packages/contract/src/index.ts'
import {
  answerOf,
  type Called,
  type Content,
  description,
  type Operation,
  operations,
  type Parameter,
  parameterOf,
} from './description.ts'
import { tableOf, typeOf } from './fields.ts'
import { linkOperations } from './links.ts'
import { addressOf, cell, plain, type SitePage, slugOf } from './page.ts'

export function operationPages(): SitePage[] {
  return [indexPage(), ...operations.map(pageOf)]
}

export function slugOfOperation({ operationId }: Operation): string {
  return `api/${slugOf(operationId)}`
}

/** Codes of the refusals of an operation. */
export function refusalsOf(operation: Operation): string[] {
  return Object.entries(operation.responses).flatMap(([status, answer]) =>
    status < '400' ? [] : codesOf(answerOf(answer).description),
  )
}

function codesOf(text: string): string[] {
  return [...text.matchAll(/^- `(\w+)`:/gm)].map(([, code = '']) => code)
}

function indexPage(): SitePage {
  const groups = description.tags.map(({ name, description: about }) => {
    const rows = operations
      .filter(({ tags }) => tags.includes(name))
      .map(
        (one) =>
          `| [${one.summary}](${addressOf(slugOfOperation(one))}) | \`${one.method}\` | \`${one.path}\` |`,
      )
    return `## ${name}

${linkOperations(about)}

| Operation | Method | Path |
|---|---|---|
${rows.join('\n')}`
  })
  return {
    slug: 'api',
    title: 'API',
    description: 'Every operation of the HTTP API, by subject.',
    markdown: `${linkOperations(description.info.description)}

[OpenAPI description](/openapi.json), for generators of clients and other tools. A running service has this reference at \`/docs\`, with forms to try each operation.

${groups.join('\n\n')}
`,
  }
}

function pageOf(operation: Called): SitePage {
  const { operationId, summary, method, path, requestBody } = operation
  const parameters = (operation.parameters ?? []).map(parameterOf)
  const [[type = '', body] = []] = Object.entries(requestBody?.content ?? {})
  const [[status = '', answer] = []] = Object.entries(operation.responses)
  const [[kind = '', content] = []] = Object.entries(answer?.content ?? {})
  const parts = [
    `<p class="route"><span class="method ${method.toLowerCase()}">${method}</span> <code>${path}</code> <span class="id">${operationId}</span></p>`,
    linkOperations(operation.description ?? ''),
    permissionOf(operation),
    parameters.length === 0 ? '' : `## Parameters\n\n${parametersOf(parameters)}`,
    body === undefined ? '' : `## Body\n\n${contentOf(type, body)}`,
    `## Example\n\n\`\`\`sh\n${curlOf(operation, { parameters, type, body })}\n\`\`\``,
    content?.example === undefined
      ? `The answer is \`${status}\`.`
      : `The answer, \`${status}\`:\n\n${exampleOf(content.example)}`,
    content === undefined ? '' : `## Answer\n\n${contentOf(kind, content)}`,
    `## Errors\n\n${errorsOf(operation)}`,
  ]
  return {
    slug: slugOfOperation(operation),
    title: summary,
    description: `${method} ${path}. ${plain(operation.description ?? summary).split('. ')[0]}`,
    markdown: `${parts.filter((part) => part !== '').join('\n\n')}\n`,
  }
}

function permissionOf({ security, 'x-required-scope': scopes, 'x-roles': roles }: Operation) {
  const people =
    roles === undefined
      ? ''
      : ` People with the role ${listOf(roles)} may call it by the dashboard.`
  return `**Permission:** ${keysOf(security, scopes)}${people} ([all permissions](/reference/permissions/))`
}

function keysOf(security: Operation['security'], scopes: readonly string[] | undefined): string {
  const [first] = security
  if (first === undefined) return 'without a key, by the dashboard.'
  if ('session' in first) return 'with the cookie of a session, by the dashboard.'
  if (scopes === undefined || security.every((one) => !('apiKey' in one)))
    return "with the operator's token."
  if (scopes.length === 0) return 'with an API key without scopes.'
  return `with an API key that has the scope ${listOf(scopes)}, or with a key without scopes.`
}

function listOf(words: readonly string[]): string {
  const quoted = words.map((word) => `\`${word}\``)
  const last = quoted.pop()
  return quoted.length === 0 ? `${last}` : `${quoted.join(', ')} or ${last}`
}

function parametersOf(parameters: readonly Parameter[]): string {
  const properties = parameters.map(({ name, description: about, schema, in: place }) => [
    name,
    { ...schema, description: `${place === 'query' ? '' : `In the ${place}. `}${about ?? ''}` },
  ])
  const required = parameters.flatMap((one) => (one.required === true ? one.name : []))
  return tableOf({
    properties: Object.fromEntries(properties),
    required,
    additionalProperties: false,
  })
}

function contentOf(type: string, { schema }: Content): string {
  if (type !== 'application/json') return `\`${type}\``
  const table = tableOf(schema)
  return table === '' ? `A JSON value: ${typeOf(schema)}.` : table
}

function exampleOf(example: unknown): string {
  if (typeof example !== 'string') return `\`\`\`json\n${JSON.stringify(example, null, 2)}\n\`\`\``
  return `\`\`\`text\n${example.trimEnd()}\n\`\`\``
}

function errorsOf(operation: Operation): string {
  const rows = refusalsOf(operation).map((code) => {
    const { status, message } = errorCatalogue[code as keyof typeof errorCatalogue]
    return `| ${status} | [\`${code}\`](${addressOf(`errors/${slugOf(code)}`)}) | ${cell(message)} |`
  })
  return ['| Status | Code | Message |', '|---|---|---|', ...rows].join('\n')
}

function curlOf(
  { method, path }: Called,
  o: {
    readonly parameters: readonly Parameter[]
    /** Of the body. */
    readonly type: string
    readonly body: Content | undefined
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
  const url = `${description.servers.at(-1)?.url}${filled}${given.length === 0 ? '' : `?${query}`}`
  const isJson = o.type === 'application/json'
  const json = JSON.stringify(o.body?.example ?? {}, null, 2).replaceAll("'", "'\\''")
  const lines = [
    `curl ${method === 'GET' ? '' : `-X ${method} `}'${url}'`,
    `-H "Authorization: Bearer $KEY"`,
    ...(o.body === undefined ? [] : [`-H 'Content-Type: ${o.type}'`]),
    ...(o.body === undefined ? [] : [isJson ? `-d '${json}'` : '--data-binary @FILE']),
  ]
  return lines.join(' \\\n  ')
}
