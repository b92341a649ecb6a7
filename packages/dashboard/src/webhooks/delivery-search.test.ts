import { expect, it } from 'vitest'
import { readDeliverySearch } from './delivery-search.ts'

it('reads filters from the address, and leaves what is none', () => {
  expect(readDeliverySearch({ status: 'retrying', event: 'MAIL_BOUNCE', ref_id: 'em_1' })).toEqual({
    status: 'retrying',
    event: 'MAIL_BOUNCE',
    ref_id: 'em_1',
  })
  const open = { status: 'open', webhook_id: 'wh_1' }
  expect(readDeliverySearch({ ...open, webhook: 'wh_2' })).toEqual(open)
  expect(readDeliverySearch({ webhook_id: '' })).toEqual({})
  expect(readDeliverySearch({ status: 'x', event: 3, ref_id: '', page: 2 })).toEqual({})
})
