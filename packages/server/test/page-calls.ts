/** The curls of a page of docs, for tests that hold them against the code. */
import { operations } from '@postrider/contract'

export interface PageCall {
  readonly line: string
  /** Of this service; undefined for another, or none. */
  readonly operation: string | undefined
  readonly method: string
  /** As written: `$BASE/v1/…`, or a provider's address. */
  readonly url: string
  readonly json: string | undefined
}

export function callsOf(text: string): PageCall[] {
  const blocks = [...text.matchAll(/^```sh\n(.*?)^```/gms)].map(([, block = '']) => block)
  return blocks
    .flatMap((block) => block.split(/^(?=curl )/m).filter((part) => part.startsWith('curl ')))
    .map((curl) => {
      const json = /-d '([^']*)'/.exec(curl)?.[1]
      const method = /-X (\w+)/.exec(curl)?.[1] ?? (json === undefined ? 'GET' : 'POST')
      const url = /(?:\$BASE|https:\/\/)[^\s"]*/.exec(curl)?.[0] ?? ''
      const path = /^\$BASE(\/[^?]*)/.exec(url)?.[1] ?? ''
      const operation = operationAt(method, path)
      return { line: curl.split('\n')[0] ?? '', operation, method, url, json }
    })
}

function operationAt(method: string, path: string): string | undefined {
  const given = path.split('/')
  const found = Object.entries(operations).find(([, operation]) => {
    const parts = operation.path.split('/')
    return (
      operation.method === method &&
      parts.length === given.length &&
      parts.every((part, i) => part === given[i] || (part.startsWith('{') && given[i] !== ''))
    )
  })
  return found?.[0]
}
