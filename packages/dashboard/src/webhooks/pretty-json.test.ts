import { expect, it } from 'vitest'
import { prettyJson } from './pretty-json.ts'

it('writes JSON on lines, and leaves what is none', () => {
  expect(prettyJson('{"a":[1,{"b":null}]}')).toBe(
    '{\n  "a": [\n    1,\n    {\n      "b": null\n    }\n  ]\n}',
  )
  expect(prettyJson('{"a":')).toBe('{"a":')
})
