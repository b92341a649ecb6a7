/**
 * `minLength` and `maxLength` of JSON Schema, which count characters (code points), at a cost that the
 * limit bounds and not the text: Ajv counts every character of a text of megabytes to refuse it.
 */
import type { Ajv, FuncKeywordDefinition } from 'ajv'

export function boundTextLength(ajv: Ajv): Ajv {
  for (const keyword of ['minLength', 'maxLength'] as const) {
    ajv.removeKeyword(keyword)
    ajv.addKeyword(keywordOf(keyword))
  }
  return ajv
}

function keywordOf(keyword: 'minLength' | 'maxLength'): FuncKeywordDefinition {
  const fits = keyword === 'minLength' ? isLongEnough : isShortEnough
  return {
    keyword,
    type: 'string',
    schemaType: 'number',
    errors: true,
    compile(limit: number) {
      const check: ReturnType<NonNullable<FuncKeywordDefinition['compile']>> = (text: string) => {
        if (fits(text, limit)) return true
        const what = keyword === 'minLength' ? 'fewer' : 'more'
        const message = `must NOT have ${what} than ${limit} characters`
        check.errors = [{ keyword, params: { limit }, message }]
        return false
      }
      return check
    },
  }
}

/** A character is one or two units of a string. */
function isShortEnough(text: string, max: number): boolean {
  if (text.length <= max) return true
  return text.length <= 2 * max && countCharacters(text) <= max
}

function isLongEnough(text: string, min: number): boolean {
  if (text.length < min) return false
  return text.length >= 2 * min || countCharacters(text) >= min
}

function countCharacters(text: string): number {
  let count = 0
  for (const _ of text) count += 1
  return count
}
