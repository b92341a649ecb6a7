import { expect, it } from 'vitest'
import { readConnectedSearch } from './connected-search.ts'

it('reads a login that succeeded with its mailer', () => {
  const found = { success: true, mailer_id: 'smtp_1', error: 'left' }
  expect(readConnectedSearch(found)).toEqual({ success: true, mailer_id: 'smtp_1' })
})

it('takes a success without a mailer, or in other words, for none', () => {
  expect(readConnectedSearch({ success: true })).toEqual({ success: false })
  expect(readConnectedSearch({ success: 'yes', mailer_id: 'smtp_1' })).toEqual({ success: false })
})

it('reads the code of a failure as text of bounded length', () => {
  expect(readConnectedSearch({ success: false, error: 403 })).toEqual({
    success: false,
    error: '403',
  })
  expect(readConnectedSearch({ error: 'x'.repeat(1_000) }).error).toHaveLength(200)
})
