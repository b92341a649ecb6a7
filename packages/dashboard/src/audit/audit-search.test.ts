import { expect, it } from 'vitest'
import { readAuditSearch, toAuditQuery } from './audit-search.ts'

it('reads the filters of an address, and asks by those that are given', () => {
  const search = readAuditSearch({
    ...{ operation: 'updateTenant', actor: ' operator ', target: 7, start: '2026-11-20' },
    ...{ end: 'tomorrow', tab: 'audit' },
  })
  expect(toAuditQuery(search)).toEqual({
    ...{ operation: 'updateTenant', actor: 'operator', target: '7', start: '2026-11-20' },
  })
})

it('says of what is no filter that there is none', () => {
  expect(readAuditSearch({ operation: '', actor: {}, start: 5 })).toStrictEqual({
    ...{ operation: undefined, actor: undefined, target: undefined },
    ...{ start: undefined, end: undefined },
  })
})
