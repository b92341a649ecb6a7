/** How a program does what an empty list begins with: one call, in both languages, and what its key must be. */
import type { OperationId } from '@postrider/client'

export interface Snippets {
  readonly curl: string
  readonly typescript: string
  readonly operation: OperationId
  /** Where a key with the scope of the operation is not enough. */
  readonly needs?: 'all'
}

interface Call {
  readonly operation: OperationId
  /** With its parameters filled in. */
  readonly path: string
  /** It may have no apostrophe. */
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

/** Each function of a file `snippets.ts` answers such lines; snippets.slow.test.ts finds them all. */
export function snippetsOf({ operation, path, body, ...o }: Call): Snippets {
  const { key = 'POSTRIDER_API_KEY', method, result } = o
  const json = body === undefined ? '' : JSON.stringify(body, null, 2)
  const literal = json.replace(/"(\w+)":/g, '$1:').replaceAll('"', "'")
  const made = `await postrider.${operation}(${literal})`
  const call = result === undefined ? made : `const { ${result} } = ${made}`
  const note = json.includes(exampleHost) ? `// ${exampleHost}: put your own server here\n` : ''
  return {
    operation,
    ...(o.needs !== undefined && { needs: o.needs }),
    curl: `curl ${method === undefined ? '' : `-X ${method} `}${location.origin}${path} \\
  -H "Authorization: Bearer $${key}"${
    body === undefined ? '' : ` -H 'Content-Type: application/json' \\\n  -d '${json}'`
  }`,
    typescript: `import { Postrider } from '@postrider/client'

const postrider = new Postrider({ apiKey: process.env.${key}, basePath: '${location.origin}' })

${note}${o.typescript ?? (body === undefined ? `console.log(${call})` : call)}`,
  }
}
