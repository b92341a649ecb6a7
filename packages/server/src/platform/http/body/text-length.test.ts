import { Ajv } from 'ajv'
import { expect, it } from 'vitest'
import { boundTextLength } from './validation.ts'

const check = boundTextLength(new Ajv()).compile({ type: 'string', minLength: 2, maxLength: 4 })

it.each([
  ['ab', true],
  ['abcd', true],
  ['☀☀☀☀', true],
  ['🎉🎉🎉🎉', true],
  ['🎉', false],
  ['a', false],
  ['abcde', false],
  ['🎉🎉🎉🎉🎉', false],
  ['x'.repeat(100), false],
])('counts characters, not code units: %j', (text, isRight) => {
  expect(check(text)).toBe(isRight)
})

it('names the limit', () => {
  check('abcde')
  expect(check.errors).toMatchObject([
    { keyword: 'maxLength', params: { limit: 4 }, instancePath: '' },
  ])
})
