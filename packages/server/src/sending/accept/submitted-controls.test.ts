/** What a control field with JSON may not hold: what a body of sendEmail may not, named by the field. */
import type { RawMessage } from '@postrider/mail'
import { expect, it } from 'vitest'
import { bodyOfSubmitted } from './submitted-controls.ts'

const message: RawMessage = {
  message: Buffer.from(''),
  from: { address: 'ada@example.com' },
  to: [],
  cc: [],
  subject: 'Hello',
  controls: {},
  headers: [],
  attachments: [],
  isSealed: false,
  hasUtf8Header: false,
  digest: '',
}

const bodyOf = (field: string, value: string) =>
  bodyOfSubmitted({ ...message, controls: { [`x-postrider-${field}`]: value } }, [
    'bob@example.com',
  ])

const nested = (depth: number) => `{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`

it.each([
  ['no JSON', 'args', '{a: 1}', 'X-Postrider-Args', /must be a JSON object/],
  ['thousands of levels', 'args', nested(5_000), /^X-Postrider-Args\/a/, /nested deeper/],
  ['as many in data', 'template-data', nested(32_000), /^X-Postrider-Template-Data/, /nested/],
  ['a prototype', 'args', '{"__proto__":{"x":1}}', 'X-Postrider-Args/__proto__', /forbidden name/],
  ['a name twice', 'template-data', '{"a":1,"a":2}', 'X-Postrider-Template-Data/a', /given twice/],
  ['a NUL', 'args', '{"a":"\\u0000"}', 'X-Postrider-Args/a', /must not contain NUL/],
  ['half a character', 'args', '{"a":"\\ud800"}', 'X-Postrider-Args/a', /well-formed/],
])('%s is refused', (_what, field, value, path, said) => {
  expect(() => bodyOf(field, value)).toThrow(
    expect.objectContaining({
      code: 'validation_failed',
      errors: [
        {
          path: path instanceof RegExp ? expect.stringMatching(path) : path,
          message: expect.stringMatching(said),
        },
      ],
    }),
  )
})

it('is taken where it is an object', () => {
  expect(bodyOf('args', '{"a":[1]}').custom_args).toEqual({ a: [1] })
  expect(bodyOf('template-data', '{"n":"Ada"}').template_data).toEqual({ n: 'Ada' })
})
