import { expect, it } from 'vitest'
import {
  bodyOf,
  contentOf,
  draftOf,
  emptyDraft,
  mailOf,
  pathOf,
  readSample,
} from './template-draft.ts'
import { readTemplateSearch } from './template-search.ts'

const template = {
  template_id: 'tpl_1',
  name: 'Receipt',
  version: 1,
  subject: 'Order',
  content: [
    { type: 'text/plain' as const, value: 'Hello' },
    { type: 'text/html' as const, value: '<p>Hello' },
  ],
  sample_data: { id: 1 },
  created_at: '2026-11-20T13:01:02.123Z',
  updated_at: '2026-11-20T13:01:02.123Z',
}

it('reads a template into its form, and the form into content', () => {
  const draft = draftOf(template)
  expect(draft).toEqual({
    ...{ name: 'Receipt', subject: 'Order', html: '<p>Hello', text: 'Hello' },
    sample: '{\n  "id": 1\n}',
  })
  expect(contentOf(draft)).toEqual(template.content.toReversed())
  expect(draftOf({ ...template, content: [], sample_data: null })).toMatchObject({
    ...{ html: '', text: '', sample: '' },
  })
  expect(contentOf(emptyDraft)).toEqual([])
})

it('takes sample data that is a JSON object, or none', () => {
  expect(readSample('{"a": [1]}')).toEqual({ a: [1] })
  expect(readSample(' ')).toBeNull()
  for (const wrong of ['{', '[]', '1', 'null']) expect(readSample(wrong)).toBeUndefined()
})

it('knows where a part stands in the content', () => {
  expect(pathOf('html', { ...emptyDraft, html: 'a', text: 'b' })).toBe('/content/0')
  expect(pathOf('text', { ...emptyDraft, html: 'a', text: 'b' })).toBe('/content/1')
  expect(pathOf('text', { ...emptyDraft, text: 'b' })).toBe('/content/0')
})

it('reads the version of an address', () => {
  expect(readTemplateSearch({ version: 2 })).toEqual({ version: 2 })
  expect(readTemplateSearch({ version: '2' })).toEqual({ version: 2 })
  for (const version of [undefined, 'x', 0, -1, 1.5])
    expect(readTemplateSearch({ version })).toEqual({})
})

it('makes a body without sample data where there is none, or none that is JSON', () => {
  const draft = { ...emptyDraft, name: 'Receipt', subject: 'Order', text: 'Hello' }
  const content = [{ type: 'text/plain', value: 'Hello' }]
  expect(bodyOf(draft)).toEqual({ subject: 'Order', content })
  expect(bodyOf({ ...draft, sample: '{' })).toEqual({ subject: 'Order', content })
  expect(bodyOf({ ...draft, sample: '{"id":7}' }).sample_data).toEqual({ id: 7 })
})

it('sends a stored version by its id, and a changed form as it is written', () => {
  const draft = { ...emptyDraft, subject: 'Order {{ id }}', text: 'Hello', sample: '{"id":7}' }
  expect(mailOf(draft, { template_id: 'tpl_1', version: 3 })).toEqual({
    ...{ template_id: 'tpl_1', template_version: 3, template_data: { id: 7 } },
  })
  expect(mailOf(draft, undefined)).toEqual({
    subject: 'Order {{ id }}',
    content: [{ type: 'text/plain', value: 'Hello' }],
    template_data: { id: 7 },
  })
  expect(mailOf({ ...draft, sample: '' }, undefined).template_data).toEqual({})
})
