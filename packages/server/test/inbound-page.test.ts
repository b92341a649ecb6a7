/** docs/inbound.md against the code: each curl is an operation that takes its body, the event is one. */
import { readFileSync } from 'node:fs'
import * as contract from '@postrider/contract'
import type { TSchema } from 'typebox'
import { Value } from 'typebox/value'
import { expect, it } from 'vitest'
import { parseWebhook } from '../../client/src/webhooks/index.ts'
import { configPrefix, variables } from '../src/config.ts'
import { checkUsername, usernameOf } from '../src/inbound/domains/usernames/username.ts'
import { callsOf } from './page-calls.ts'

const page = readFileSync(new URL('../../../docs/inbound.md', import.meta.url), 'utf8')
const schemas = new Map(Object.entries(contract))
const calls = callsOf(page)

it('has curls that are operations, with a body exactly where one is accepted', () => {
  expect(calls.length).toBe(page.match(/^curl /gm)?.length)
  expect(calls.filter(({ operation }) => operation === undefined)).toEqual([])
  const wrong = calls.filter(
    ({ operation, json }) => schemas.has(`${operation}Body`) !== (json !== undefined),
  )
  expect(wrong).toEqual([])
})

it('has bodies and queries that match the schema of their operation', () => {
  for (const { operation, json, url } of calls) {
    if (json !== undefined)
      expect(
        Value.Errors(schemas.get(`${operation}Body`) as TSchema, JSON.parse(json)),
        json,
      ).toEqual([])
    const query: Record<string, unknown> = Object.fromEntries(
      new URL(url.replace('$BASE', 'http://x')).searchParams,
    )
    if ('pageSize' in query) query.pageSize = Number(query.pageSize)
    if (Object.keys(query).length > 0)
      expect(Value.Errors(schemas.get(`${operation}Query`) as TSchema, query), url).toEqual([])
  }
})

it('shows every operation on routes', () => {
  const ids = Object.keys(contract.operations).filter((id) => /Inbound(?!Message)/.test(id))
  const shown = new Set(calls.map(({ operation }) => operation))
  // It reads as the domain's.
  shown.add('getInboundUsername')
  expect(ids.filter((id) => !shown.has(id))).toEqual([])
})

it('has an event that the client accepts', () => {
  const json = /^```json\n(.*?)^```/ms.exec(page)?.[1] ?? ''
  const [event] = parseWebhook(json)
  expect(event?.event).toBe('INCOMING_EMAIL')
  expect(event).toEqual(JSON.parse(json))
})

it('names existing variables', () => {
  const names = Object.values(variables).map(({ name }) => configPrefix + name)
  const named = page.match(/POSTRIDER_[A-Z_]+/g) ?? []
  expect(named.length).toBeGreaterThan(2)
  expect(named.filter((name) => !names.includes(name))).toEqual([])
})

it('describes the comparison of local parts correctly', () => {
  expect(usernameOf('support+17')).toBe('support')
  expect(usernameOf('"support"')).toBe('support')
  expect(usernameOf('SUPPORT')).toBe('support')
  expect(checkUsername('support+17').ok).toBe(false)
  expect(usernameOf('sup.port')).toBe('sup.port')
})
