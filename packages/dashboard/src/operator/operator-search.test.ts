import { expect, it } from 'vitest'
import {
  readFindSearch,
  readQueuesSearch,
  readSystemSearch,
  readTenantsSearch,
  readUsersSearch,
} from './operator-search.ts'

it('reads what each address may hold', () => {
  expect(readTenantsSearch({ name: 2030 })).toStrictEqual({ name: '2030' })
  expect(readQueuesSearch({ kind: 'webhook' })).toStrictEqual({ kind: 'webhook' })
  expect(readFindSearch({ q: 'ada@example.com' })).toStrictEqual({ q: 'ada@example.com' })
  const system = { tab: 'storage', find: 'OIDC' }
  expect(readSystemSearch(system)).toStrictEqual(system)
  expect(readUsersSearch({ invite: '' })).toStrictEqual({ invite: '' })
})

it('undoes what it does not know, which would stay otherwise', () => {
  expect(readTenantsSearch({ name: '' })).toStrictEqual({ name: undefined })
  expect(readQueuesSearch({ kind: 'mailbox' })).toStrictEqual({ kind: undefined })
  expect(readFindSearch({ q: ['a'] })).toStrictEqual({ q: undefined })
  const system = { tab: 'secrets', find: {} }
  expect(readSystemSearch(system)).toStrictEqual({ tab: undefined, find: undefined })
  expect(readUsersSearch({ invite: true })).toStrictEqual({ invite: undefined })
})
