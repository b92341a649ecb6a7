/**
 * What SparkPost says is wrong: `{ "errors": [{ "message", "description"?, "code"? }] }`. Since 2019
 * the message alone may say all; both spellings are about.
 */
import { memberOf, parseJson } from '../../platform/values/json.ts'
import { textOf, wordsMax } from '../callbacks/report-fields.ts'

export interface SparkPostError {
  /** As text; empty without. */
  readonly code: string
  /** Message and description. */
  readonly words: string
}

/** Undefined where the body is none of its API, but some page on the way. */
export function readErrors(body: string): readonly SparkPostError[] | undefined {
  const errors = errorsOf(memberOf(parseJson(body), 'errors'))
  return errors.length === 0 ? undefined : errors
}

export function errorsOf(list: unknown): readonly SparkPostError[] {
  if (!Array.isArray(list)) return []
  return list.flatMap((one: unknown) => {
    const said = ['message', 'description'].flatMap((name) => textOf(one, name, wordsMax) ?? [])
    const code = textOf(one, 'code') ?? ''
    return said.length === 0 && code === '' ? [] : [{ code, words: said.join(': ') }]
  })
}

export function sentenceOf(errors: readonly SparkPostError[]): string {
  return errors
    .map(({ code, words }) => (code === '' ? words : `${words} (${code})`.trim()))
    .join('; ')
}
