import { expect, it } from 'vitest'
import { searchEntries } from './command-search.ts'

const words = { searchEmails: (q: string) => `emails ${q}`, searchAll: (q: string) => `all ${q}` }
const entries = (query: string, tenantId: string | undefined, isOperator: boolean) =>
  searchEntries({ query, tenantId, isOperator, words }).map(({ label, to, search }) => [
    ...[label, to, search.q],
  ])

it('leads to the emails of the tenant, and for operators to all tenants', () => {
  const inTenant = ['emails ada', '/t/$tenantId/emails', 'ada']
  const overAll = ['all ada', '/operator/search', 'ada']
  expect(entries(' ada ', 'tn_1', false)).toEqual([inTenant])
  expect(entries('ada', 'tn_1', true)).toEqual([inTenant, overAll])
  expect(entries('ada', undefined, true)).toEqual([overAll])
  expect(entries('ada', undefined, false)).toEqual([])
  expect(entries('  ', 'tn_1', true)).toEqual([])
})
