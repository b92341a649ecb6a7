import { PostriderError } from '@postrider/client'
import { expect, it } from 'vitest'
import { fieldErrors } from './field-errors.ts'

const refused = (...errors: { path: string; message: string }[]) =>
  new PostriderError('Validation Failed', { status: 400, code: 'validation_failed', errors })

it('gives each field its sentence, also one about a part of the field', () => {
  const error = refused(
    { path: '/config/port', message: 'must be at most 65535' },
    { path: '/folders/1', message: 'The mailbox has no folder Orders' },
  )
  const { of, rest } = fieldErrors(error, ['/config/port', '/folders'])
  expect(of('/config/port')).toBe('must be at most 65535')
  expect(of('/folders')).toBe('The mailbox has no folder Orders')
  expect(of('/config/host')).toBeUndefined()
  expect(rest).toBeUndefined()
})

it('keeps a refusal that names a field which the form does not show', () => {
  const error = refused(
    { path: '/config/port', message: 'is required' },
    { path: '/configuration', message: 'is unknown' },
  )
  expect(fieldErrors(error, ['/config/port', '/config']).rest).toBe(error)
})

it('keeps a failure that names no field', () => {
  const failure = new PostriderError('No answer', { status: 0, code: 'timeout' })
  expect(fieldErrors(failure, ['/name']).rest).toBe(failure)
  expect(fieldErrors(undefined, ['/name']).rest).toBeUndefined()
  expect(fieldErrors(refused(), ['/name']).rest).toBeInstanceOf(PostriderError)
})
