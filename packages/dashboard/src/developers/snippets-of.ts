/** How a program does what an empty list begins with: one body, in both languages. It may have no apostrophe. */
export function snippetsOf(path: string, operation: string, body: object) {
  const json = JSON.stringify(body, null, 2)
  const literal = json.replace(/"(\w+)":/g, '$1:').replaceAll('"', "'")
  return {
    curl: `curl ${location.origin}${path} \\
  -H "Authorization: Bearer $POSTRIDER_API_KEY" -H 'Content-Type: application/json' \\
  -d '${json}'`,
    typescript: `await postrider.${operation}(${literal})`,
  }
}
