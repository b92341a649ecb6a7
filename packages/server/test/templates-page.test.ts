/** docs/templates.md against the code: each curl is an operation that takes its body, and its email can be sent. */
import { readFileSync } from 'node:fs'
import * as contract from '@postrider/contract'
import { createTemplateRenderer } from '@postrider/mail'
import type { TSchema } from 'typebox'
import { Value } from 'typebox/value'
import { afterAll, expect, it } from 'vitest'
import { checkTemplate } from '../src/sending/templates/check-template.ts'
import { callsOf } from './page-calls.ts'

const page = readFileSync(new URL('../../../docs/templates.md', import.meta.url), 'utf8')
const renderer = createTemplateRenderer()
afterAll(() => renderer.stop())
const schemas = new Map<string, unknown>(Object.entries(contract))
const calls = callsOf(page)

it('has curls of templates and of sendEmail, with bodies that match their schemas', () => {
  expect(calls.length).toBe(page.match(/^curl /gm)?.length)
  expect(calls.map(({ operation }) => operation)).toEqual([
    'createTemplate',
    'sendEmail',
    'updateTemplate',
    'previewTemplate',
    'deleteTemplate',
  ])
  for (const { operation, json } of calls) {
    if (json === undefined) continue
    const schema = schemas.get(`${operation}Body`) as TSchema
    expect(Value.Errors(schema, JSON.parse(json)), json).toEqual([])
  }
})

it('has a template that is accepted, and an error that Liquid gives', async () => {
  const { subject, content, sample_data: sampleData } = JSON.parse(calls[0]?.json ?? '')
  const template = { subject, content, sampleData }
  const { rendered } = await checkTemplate(renderer, 'tn_a', template)
  expect(rendered).toMatchObject({ subject: 'Order 1234', html: '<p>Thank you, Ada.</p>' })
  const wrong = [{ type: 'text/html' as const, value: '<p>Thank you, {{ name | upcasee }}</p>' }]
  const told = /```json\n(.*)\n```/.exec(page)?.[1] ?? ''
  await expect(checkTemplate(renderer, 'tn_a', { ...template, content: wrong })).rejects.toThrow(
    expect.objectContaining({ errors: [JSON.parse(told)] }),
  )
})
