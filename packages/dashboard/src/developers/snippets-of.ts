/** How a program does what an empty list begins with: one body, in both languages. It may have no apostrophe. */
export function snippetsOf(path: string, operation: string, body: object) {
  const json = JSON.stringify(body, null, 2)
  const literal = json.replace(/"(\w+)":/g, '$1:').replaceAll('"', "'")
  return {
    curl: `curl ${location.origin}${path} \\
  -H "Authorization: Bearer $POSTRIDER_API_KEY" -H 'Content-Type: application/json' \\
  -d '${json}'`,
    typescript: withClient(`await postrider.${operation}(${literal})`),
  }
}

/** @param key the variable of the environment that has the API key */
export function withClient(call: string, key = 'POSTRIDER_API_KEY'): string {
  return `import { Postrider } from '@postrider/client'

const postrider = new Postrider({ apiKey: process.env.${key}, basePath: '${location.origin}' })

${call}`
}
