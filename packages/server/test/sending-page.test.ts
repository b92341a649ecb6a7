/** docs/sending.md against the code: each curl is an operation that takes its body. */
import { readFileSync } from 'node:fs'
import * as contract from '@postrider/contract'
import { createTemplateRenderer } from '@postrider/mail'
import type { TSchema } from 'typebox'
import { Value } from 'typebox/value'
import { afterAll, expect, it } from 'vitest'
import { checkEmail } from '../src/sending/accept/check-email.ts'
import { renderEmail } from '../src/sending/accept/render-email.ts'
import { readSelection } from '../src/sending/bulk/read-selection.ts'
import { callsOf } from './page-calls.ts'

const page = readFileSync(new URL('../../../docs/sending.md', import.meta.url), 'utf8')
const templates = createTemplateRenderer()
afterAll(() => templates.stop())

const schemas = new Map(Object.entries(contract))

const calls = callsOf(page)
const bodies = calls.flatMap(({ operation, json }) =>
  json === undefined ? [] : [{ operation, body: JSON.parse(json) }],
)
const of = (name: keyof typeof contract.operations) =>
  bodies.filter(({ operation }) => operation === name).map(({ body }) => body)

it('has curls that are operations, with a body exactly where one is accepted', () => {
  expect(calls.length).toBe(page.match(/^curl /gm)?.length)
  expect(calls.filter(({ operation }) => operation === undefined)).toEqual([])
  const wrong = calls.filter(
    ({ operation, json }) => schemas.has(`${operation}Body`) !== (json !== undefined),
  )
  expect(wrong).toEqual([])
})

it('has bodies that match the schema of their operation', () => {
  for (const { operation, body } of bodies) {
    const schema = schemas.get(`${operation}Body`) as TSchema
    expect(Value.Errors(schema, body), JSON.stringify(body)).toEqual([])
  }
})

it('has emails and rescues that all checks accept, and that render', async () => {
  const emails = of('sendEmail')
  expect(emails.length).toBeGreaterThan(5)
  for (const body of emails) {
    const checked = checkEmail(body, { maxAttempts: 5, expiresInMs: 1_000 })
    const { content } = await renderEmail(templates, 'tn_a', checked, body.template_data)
    expect(content.templateProblem).toBeUndefined()
    expect(`${content.subject}${content.html}${content.text}`).not.toMatch(/\{[{%]/)
  }
  for (const body of of('rescueEmails')) readSelection(body, contract.rescuableStatuses)
})

it('names each setting of an email and each scope of a key', () => {
  const { sendSettings, apiKeyScopes } = contract
  const settings = of('sendEmail').flatMap((body) => Object.keys(body.settings ?? {}))
  expect([...new Set(settings)].sort()).toEqual(Object.keys(sendSettings.properties).sort())
  for (const scope of apiKeyScopes) expect(page).toContain(`\`${scope}\``)
})
