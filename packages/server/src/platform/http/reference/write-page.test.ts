import { describe, expect, it } from 'vitest'
import { type Document, writePage } from './write-page.ts'
import { writeInline, writeJson, writeMarkdown } from './write-text.ts'

const HOSTILE = '<script>alert("x")</script>'
const schema = { type: 'object', properties: { name: { type: 'string', description: HOSTILE } } }
const document: Document = {
  info: { title: 'API', version: '1', description: HOSTILE },
  servers: [{ url: '/' }, { url: 'https://mail.example.com' }],
  tags: [{ name: 'Email', description: HOSTILE }],
  paths: {
    '/v1/things/{name}': {
      post: {
        operationId: 'sendEmail',
        summary: HOSTILE,
        description: HOSTILE,
        tags: ['Email'],
        security: [{ apiKey: [] }],
        'x-required-scope': ['send', 'read'],
        parameters: [
          { name: 'name', in: 'path', required: true, schema: { type: 'string' } },
          { $ref: '#/components/parameters/X-Tenant' } as never,
        ],
        requestBody: {
          content: { 'application/json': { schema, example: { name: "it's <b>", n: 1 } } },
        },
        responses: {
          200: {
            description: 'Done',
            content: {
              'application/json': {
                schema: { $ref: '#/components/schemas/Thing' },
                example: { name: HOSTILE },
              },
            },
          },
          401: { $ref: '#/components/responses/Unauthorized' } as never,
        },
      },
    },
  },
  webhooks: {},
  components: {
    schemas: { Thing: { ...schema, description: HOSTILE } },
    parameters: {
      'X-Tenant': { name: 'X-Tenant', in: 'header', description: HOSTILE, schema: {} },
    },
    responses: { Unauthorized: { description: HOSTILE } },
  },
}

describe('the reference', () => {
  const page = writePage(document, '../')

  it('escapes the description as HTML', () => {
    expect(page).not.toContain('<script>')
    expect(page).not.toContain('<b>"')
    expect(page.match(/&lt;script&gt;/g)?.length).toBeGreaterThanOrEqual(8)
  })

  it('loads its own files relative to the root, and nothing inline', () => {
    const loaded = [...page.matchAll(/(?:src|href)="([^"#]+)"/g)].map(([, url]) => url)
    expect(loaded.slice(1)).toEqual([
      '../docs/reference.css',
      '../docs/reference.js',
      '../openapi.json',
    ])
    expect(loaded[0]).toMatch(/^data:image\/svg/)
    expect(page).not.toMatch(/ style=|<style| on[a-z]+=/)
  })

  it('shows a request that a shell accepts as it is', () => {
    expect(page).toContain("https://mail.example.com</span>/v1/things/name'")
    expect(page).toContain("it'\\''s &lt;b&gt;")
  })

  it('names the scopes, shared parameters and refusals', () => {
    expect(page).toContain('the scope <code>send</code> or <code>read</code>, or none')
    expect(page).toContain('<code>X-Tenant</code>')
    expect(page).toContain('<dt>401</dt>')
    expect(page).toContain('id="shape-Thing"')
  })
})

describe('the text of the reference', () => {
  it('is paragraphs, lists, code, strong words and links to operations', () => {
    expect(writeMarkdown('One **two**\n\n- a\n- `b`')).toBe(
      '<p>One <strong>two</strong></p>\n<ul><li>a</li><li><code>b</code></li></ul>',
    )
    expect(writeInline('as sendEmail does, `sendEmail`; redeliver it')).toBe(
      'as <a href="#sendEmail">sendEmail</a> does, <code>sendEmail</code>; redeliver it',
    )
  })

  it('is JSON with names marked apart from values', () => {
    expect(writeJson({ 'a"b': ['x: 1', -1.5, null] })).toBe(
      '{\n  &quot;a\\&quot;b&quot;: [\n    <q>&quot;x: 1&quot;</q>,\n    <i>-1.5</i>,\n    <i>null</i>\n  ]\n}',
    )
  })
})
