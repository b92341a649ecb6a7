/** docs/mailboxes.md against the code: each curl is an operation that takes its body, the events are some. */
import { readFileSync } from 'node:fs'
import * as contract from '@postrider/contract'
import { classifyImapFailure, IMAP_REFUSALS } from '@postrider/mail'
import type { TSchema } from 'typebox'
import { Value } from 'typebox/value'
import { expect, it } from 'vitest'
import { parseWebhook } from '../../client/src/webhooks/index.ts'
import { configPrefix, variables } from '../src/config.ts'
import { callsOf } from './page-calls.ts'

const page = readFileSync(new URL('../../../docs/mailboxes.md', import.meta.url), 'utf8')
const schemas = new Map(Object.entries(contract))
const calls = callsOf(page)
const bodyOf = (operation: string | undefined) =>
  schemas.get(`${operation?.replace('IMAP', 'Imap')}Body`) as TSchema | undefined

it('has curls that are operations, with a body exactly where one is accepted', () => {
  expect(calls.length).toBe(page.match(/^curl /gm)?.length)
  for (const { operation, json, line } of calls) {
    expect(operation, line).toBeDefined()
    const schema = bodyOf(operation)
    expect(schema === undefined, line).toBe(json === undefined)
    if (schema !== undefined && json !== undefined)
      expect(Value.Errors(schema, JSON.parse(json)), json).toEqual([])
  }
})

it('shows every operation on mailboxes', () => {
  const ids = Object.keys(contract.operations).filter((id) => id.includes('IMAP'))
  const shown = new Set(calls.map(({ operation }) => operation))
  expect(ids.filter((id) => !shown.has(id))).toEqual([])
})

it('has events that the client accepts', () => {
  const bodies = [...page.matchAll(/^```json\n(.*?)^```/gms)].map(([, json = '']) => json)
  const events = bodies.flatMap((body) => parseWebhook(body))
  expect(events.map(({ event }) => event)).toEqual(['IMAP_ERROR', 'MAILER_DEACTIVATED'])
  expect(events).toEqual(bodies.map((body) => JSON.parse(body)))
})

it('names the existing reasons of events', () => {
  const systemCode = IMAP_REFUSALS.folderMissing
  const { failedReason } = classifyImapFailure({ stage: 'open', systemCode })
  expect(page).toContain(`"failed_reason": "${failedReason}"`)
  const text = 'NO [AUTHENTICATIONFAILED] Authentication failed.'
  const reply = { status: 'NO', code: 'AUTHENTICATIONFAILED', text } as const
  expect(page).toContain(`"provider_error": "${text}"`)
  expect(classifyImapFailure({ stage: 'auth', reply }).authRejected).toBe(true)
})

it('names existing variables, and the bound of folders', () => {
  const names = Object.values(variables).map(({ name }) => configPrefix + name)
  const named = page.match(/POSTRIDER_[A-Z_]+/g) ?? []
  expect(named.length).toBeGreaterThan(2)
  expect(named.filter((name) => !names.includes(name))).toEqual([])
  expect(page).toContain(`up to ${contract.imapFoldersMax}, are`)
})
