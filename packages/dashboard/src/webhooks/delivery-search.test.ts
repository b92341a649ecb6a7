import { expect, it } from 'vitest'
import { readDeliverySearch } from './delivery-search.ts'

it('reads filters from the address, and leaves what is none', () => {
  expect(readDeliverySearch({ status: 'retrying', event: 'MAIL_BOUNCE', ref_id: 'em_1' })).toEqual({
    status: 'retrying',
    event: 'MAIL_BOUNCE',
    ref_id: 'em_1',
  })
  expect(readDeliverySearch({ status: 'x', event: 3, ref_id: '', page: 2 })).toEqual({})
})
