/** How a program does what an empty list begins with: one call, in both languages, and what its key must be. */
import type { OperationId } from '@postrider/client'

export interface Snippets {
  readonly curl: string
  readonly typescript: string
  readonly operation: OperationId
  /** Where a live key with the scope of the operation is not enough, or too much. */
  readonly needs?: 'all' | 'test'
}

interface Call {
  readonly operation: OperationId
  /** With its parameters filled in. */
  readonly path: string
  readonly body?: object
  readonly method?: 'PUT'
  readonly needs?: 'all'
  /** What the TypeScript keeps of the answer. */
  readonly result?: string
  /** Of the TypeScript, where its call takes something else than the body. */
  readonly typescript?: string
  /** The variable of the environment that has the key. */
  readonly key?: 'POSTRIDER_ADMIN_TOKEN' | 'POSTRIDER_TEST_KEY'
}

/** The host in lines that stands for a server of the reader's own. */
export const exampleHost = 'hooks.example.com'

/**
 * One word of a command. What a tenant has chosen, such as an address, may hold an apostrophe or a `$`, and
 * somebody else pastes the line.
 */
export function quoteForShell(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}

/** JSON as people write it in TypeScript. A string that needs an escape stays as JSON has it. */
export function literalOf(json: string): string {
  return json.replace(/"((?:[^"\\]|\\.)*)"(:?)/g, (whole, text: string, colon: string) => {
    // As a plain name it would be the object's prototype, and no field.
    if (colon !== '' && text === '__proto__') return `['__proto__']:`
    if (colon !== '' && /^[a-z_]\w*$/i.test(text)) return text + colon
    return /['\\]/.test(text) ? whole : `'${text}'${colon}`
  })
}

/** Each function of a file `snippets.ts` answers such lines; snippets.slow.test.ts finds them all. */
export function snippetsOf({ operation, path, body, ...o }: Call): Snippets {
  const { key = 'POSTRIDER_API_KEY', method, result } = o
  const needs = key === 'POSTRIDER_TEST_KEY' ? 'test' : o.needs
  const json = body === undefined ? '' : JSON.stringify(body, null, 2)
  const made = `await postrider.${operation}(${literalOf(json)})`
  const call = result === undefined ? made : `const { ${result} } = ${made}`
  const note = json.includes(exampleHost) ? `// ${exampleHost}: put your own server here\n` : ''
  return {
    operation,
    ...(needs !== undefined && { needs }),
    curl: `curl ${method === undefined ? '' : `-X ${method} `}${quoteForShell(location.origin + path)} \\
  -H "Authorization: Bearer $${key}"${
    body === undefined ? '' : ` -H 'Content-Type: application/json' \\\n  -d ${quoteForShell(json)}`
  }`,
    typescript: `import { Postrider } from '@postrider/client'

const postrider = new Postrider({ apiKey: process.env.${key}, basePath: '${location.origin}' })

${note}${o.typescript ?? (body === undefined ? `console.log(${call})` : call)}`,
  }
}
