/** Stored templates: what is kept, what is refused, and what a preview shows. */
import {
  createTemplateAnswer,
  deleteTemplateAnswer,
  getTemplateAnswer,
  listTemplatesAnswer,
  previewTemplateAnswer,
  previewTemplateDraftAnswer,
  templatesBytesMax,
  templatesMax,
  templateVersionsMax,
  updateTemplateAnswer,
} from '@postrider/contract'
import { createTemplateRenderer } from '@postrider/mail'
import { afterAll, describe, expect, it } from 'vitest'
import { untilBlocked } from '../../../test/blocked.ts'
import { type Key, useOperations } from '../../../test/operations.ts'
import { newId } from '../../platform/ids.ts'
import { templateRoutes } from './routes.ts'
import { lockTemplates } from './template-store.ts'

const renderer = createTemplateRenderer()
afterAll(() => renderer.stop())

const api = useOperations({
  routes: (app, { db }) => templateRoutes(app, { db, renderer }),
  table: 'sending_template',
  answers: {
    createTemplate: createTemplateAnswer,
    updateTemplate: updateTemplateAnswer,
    getTemplate: getTemplateAnswer,
    listTemplates: listTemplatesAnswer,
    deleteTemplate: deleteTemplateAnswer,
    previewTemplate: previewTemplateAnswer,
    previewTemplateDraft: previewTemplateDraftAnswer,
  },
})

const html = (value: string) => ({ type: 'text/html' as const, value })
const text = (value: string) => ({ type: 'text/plain' as const, value })
const receipt = {
  name: 'Receipt',
  subject: 'Order {{ order_id }}',
  content: [html('<p>Thank you, {{ name }}</p>'), text('Thank you, {{ name }}')],
  sample_data: { order_id: 7, name: 'Ada & Bob' },
}
const create = (change: object = {}, key: Key = 'a') =>
  api.call('createTemplate', { key, body: { ...receipt, ...change } })
const update = (template_id: string, body: object, key: Key = 'a') =>
  api.call('updateTemplate', { key, body, params: { template_id } })
const get = (template_id: string, query = '', key: Key = 'a') =>
  api.call('getTemplate', { key, query, params: { template_id } })
const remove = (template_id: string, query = '', key: Key = 'a') =>
  api.call('deleteTemplate', { key, query, params: { template_id } })
const preview = (template_id: string, body: object = {}, key: Key = 'a') =>
  api.call('previewTemplate', { key, body, params: { template_id } })
const idOf = async (change: object = {}) => (await create(change)).body.template.template_id

describe('templates', () => {
  it('keeps a template with its name, content and sample data', async () => {
    const { status, body } = await create()
    expect(status).toBe(201)
    const { template } = body
    expect(template).toEqual({
      ...receipt,
      template_id: expect.stringMatching(/^tpl_[0-9A-HJKMNP-TV-Z]{26}$/),
      version: 1,
      created_at: expect.stringMatching(/Z$/),
      updated_at: expect.stringMatching(/Z$/),
    })
    const found = await get(template.template_id, '', 'reader')
    expect(found.body).toMatchObject({ template, versions: [{ version: 1 }] })
  })

  it('makes a version of each change, and keeps the older ones as they were', async () => {
    const id = await idOf()
    const changed = await update(id, { subject: 'Receipt {{ order_id }}', sample_data: null })
    expect(changed).toMatchObject({
      status: 200,
      body: {
        message: 'Template Updated',
        template: { version: 2, subject: 'Receipt {{ order_id }}', sample_data: null },
      },
    })
    expect(changed.body.template.content).toEqual(receipt.content)
    const first = await get(id, '?version=1')
    expect(first.body.template).toMatchObject({ ...receipt, version: 1 })
    expect(first.body.versions).toMatchObject([
      { version: 2, subject: 'Receipt {{ order_id }}' },
      { version: 1, subject: receipt.subject },
    ])
  })

  it('makes no version of another name, nor of what is the same', async () => {
    const id = await idOf()
    const named = await update(id, { name: 'Invoice' })
    expect(named.body).toMatchObject({
      message: 'Template Has No New Version',
      template: { name: 'Invoice', version: 1 },
    })
    const { name: _, ...same } = receipt
    expect((await update(id, same)).body.template).toMatchObject({ name: 'Invoice', version: 1 })
  })

  it('lists templates page by page, newest first, or one by its name', async () => {
    const ids = []
    for (const name of ['One', 'Two', 'Three']) ids.unshift(await idOf({ name }))
    await update(ids[0] ?? '', { subject: 'New' })
    await create({ name: 'Of another' }, 'b')
    const first = await api.call('listTemplates', { query: '?pageSize=2' })
    expect(first.body.templates).toMatchObject([
      { template_id: ids[0], name: 'Three', version: 2, subject: 'New' },
      { template_id: ids[1], name: 'Two', version: 1 },
    ])
    expect(first.body.templates[0]).not.toHaveProperty('content')
    const query = `?pageSize=2&pageToken=${first.body.nextPageToken}`
    const second = await api.call('listTemplates', { query })
    expect(second.body.templates.map(({ name }) => name)).toEqual(['One'])
    expect(second.body.nextPageToken).toBeUndefined()
    const named = await api.call('listTemplates', { query: '?name=Two' })
    expect(named.body.templates.map(({ template_id }) => template_id)).toEqual([ids[1]])
  })

  it('deletes a template, and its name is free', async () => {
    const id = await idOf()
    expect(await remove(id)).toMatchObject({ status: 200 })
    expect(await get(id)).toMatchObject({ status: 404 })
    expect(await remove(id)).toMatchObject({ status: 404 })
    expect((await api.db.query('select from sending_template_version')).rowCount).toBe(0)
    expect(await create()).toMatchObject({ status: 201 })
  })

  it('deletes one version, but for the newest', async () => {
    const id = await idOf()
    await update(id, { subject: 'New' })
    expect(await remove(id, '?version=2')).toMatchObject({
      status: 409,
      body: { code: 'conflict', message: expect.stringContaining('newest') },
    })
    expect(await remove(id, '?version=1')).toMatchObject({ status: 200 })
    expect(await remove(id, '?version=1')).toMatchObject({ status: 404 })
    expect((await get(id)).body.versions.map(({ version }) => version)).toEqual([2])
    expect((await update(id, { subject: 'Newer' })).body.template.version).toBe(3)
  })
})

describe('templates of others', () => {
  it('are 404, and their names are free', async () => {
    const id = await idOf()
    for (const answer of [
      await get(id, '', 'b'),
      await update(id, { subject: 'Mine' }, 'b'),
      await remove(id, '', 'b'),
      await remove(id, '?version=1', 'b'),
      await preview(id, {}, 'b'),
    ])
      expect(answer).toMatchObject({ status: 404, body: { code: 'not_found' } })
    expect((await get(id)).body.template).toMatchObject({ ...receipt, version: 1 })
    expect(await create({}, 'b')).toMatchObject({ status: 201 })
  })

  it.each(['nope', newId('tpl'), newId('smtp')])('are as absent as %s', async (id) => {
    expect(await get(id)).toMatchObject({ status: 404 })
    expect(await update(id, {})).toMatchObject({ status: 404 })
    expect(await remove(id)).toMatchObject({ status: 404 })
    expect(await preview(id)).toMatchObject({ status: 404 })
  })

  it('are changed with the scope send, and read with read or send', async () => {
    const id = (await create({}, 'sender')).body.template.template_id
    expect(await get(id, '', 'sender')).toMatchObject({ status: 200 })
    expect(await preview(id, {}, 'reader')).toMatchObject({ status: 200 })
    expect(await create({ name: 'Another' }, 'reader')).toMatchObject({ status: 403 })
    expect(await update(id, { name: 'Another' }, 'reader')).toMatchObject({ status: 403 })
    expect(await remove(id, '', 'reader')).toMatchObject({ status: 403 })
  })
})

describe('a template is refused', () => {
  it('with line and column of everything that Liquid says', async () => {
    const broken = {
      subject: '{{ order | nope }}',
      content: [html('<p>\n{% if a %}</p>'), text('Hello\n\n  {% nope %}')],
    }
    const errors = [
      {
        path: '/content/0/value',
        message: expect.stringMatching(/if.* not closed, line:2, col:1/),
      },
      { path: '/content/1/value', message: expect.stringMatching(/nope.*, line:3, col:3/) },
      { path: '/subject', message: 'undefined filter: nope, line:1, col:1' },
    ]
    const refused = { status: 400, body: { code: 'validation_failed', errors } }
    const { sample_data: _, ...bare } = receipt
    expect(await api.call('createTemplate', { body: { ...bare, ...broken } })).toMatchObject(
      refused,
    )
    expect(await create(broken)).toMatchObject(refused)
    const id = await idOf()
    expect(await update(id, broken)).toMatchObject(refused)
    const { name: __, ...draft } = receipt
    const body = { ...draft, ...broken }
    expect(await api.call('previewTemplateDraft', { body })).toMatchObject(refused)
    expect((await get(id)).body.template.version).toBe(1)
  })

  it('when its own sample data cannot be rendered', async () => {
    const refused = await create({ sample_data: { order_id: { a: 1 }, name: 'Ada' } })
    expect(refused).toMatchObject({
      status: 400,
      body: {
        errors: [{ path: '/subject', message: expect.stringMatching(/object.*, line:1, col:7/) }],
      },
    })
    const id = await idOf()
    expect(await update(id, { sample_data: { name: { a: 1 } } })).toMatchObject({ status: 400 })
  })

  it.each([
    ['without content', { content: [] }, '/content'],
    ['with two parts of a kind', { content: [html('a'), html('b')] }, '/content/1/type'],
    ['with a line end in the subject', { subject: 'a\nb' }, '/subject'],
    ['with a blank name', { name: ' ' }, '/name'],
    ['with control characters in the name', { name: 'a\u0007b' }, '/name'],
    ['with more than 512 KiB', { content: [html('x'.repeat(512 * 1024))] }, '/content'],
    ['with fields that are unknown', { engine: 'liquid' }, '/engine'],
  ])('%s', async (_what, change, path) => {
    const refused = await create(change)
    expect(refused).toMatchObject({ status: 400 })
    expect(refused.body.errors?.map((error) => error.path)).toEqual([path])
  })

  it('with a name that another one has, which is named', async () => {
    const id = await idOf()
    const taken = {
      status: 409,
      body: { code: 'template_exists', message: expect.stringContaining(id) },
    }
    expect(await create()).toMatchObject(taken)
    const other = await idOf({ name: 'Other' })
    expect(await update(other, { name: 'Receipt' })).toMatchObject(taken)
    const both = await Promise.all([create({ name: 'Twin' }), create({ name: 'Twin' })])
    expect(both.map(({ status }) => status).sort()).toEqual([201, 409])
  })

  it('beyond the limits, each by its name', async () => {
    const id = await idOf()
    const versions = (of: string, from: string, to: number, bytes = 1) =>
      api.db.query(
        `insert into sending_template_version (tenant_id, template_id, version, subject, content, bytes)
         select 'tn_a', $1, n, '', '[]', $4 from generate_series($2::int, $3::int) n`,
        [of, from, to, bytes],
      )
    const limit = (name: string) => ({
      status: 409,
      body: { code: 'too_many_templates', errors: [{ path: `/limits/${name}` }] },
    })
    await versions(id, '2', templateVersionsMax)
    await api.db.query('update sending_template set version = $1', [templateVersionsMax])
    expect(await update(id, { subject: 'One more' })).toMatchObject(limit('versions'))
    expect(await update(id, { name: 'No version' })).toMatchObject({ status: 200 })
    await remove(id, '?version=1')
    await api.db.query(`update sending_template_version set bytes = $1 where version = 2`, [
      templatesBytesMax,
    ])
    expect(await create({ name: 'Large' })).toMatchObject(limit('bytes'))
    await remove(id, '?version=2')
    await api.db.query(
      `with made as (
         insert into sending_template (tenant_id, template_id, name, version)
         select 'tn_a', 'tpl_' || n, 'Name ' || n, 1 from generate_series(2, $1::int) n
         returning template_id)
       insert into sending_template_version (tenant_id, template_id, version, subject, content, bytes)
       select 'tn_a', template_id, 1, '', '[]', 1 from made`,
      [templatesMax],
    )
    expect(await create({ name: 'One more' })).toMatchObject(limit('templates'))
    expect(await create({ name: 'One more' }, 'b')).toMatchObject({ status: 201 })
  })

  it('when somebody else changed it meanwhile', async () => {
    const id = await idOf()
    // Both have read the template before one of them changes it.
    const both = await api.db.transaction(async (tx) => {
      await lockTemplates(tx, 'tn_a')
      const updates = [update(id, { subject: 'One' }), update(id, { subject: 'Two' })]
      await untilBlocked(api.db, 2)
      return updates
    })
    expect((await Promise.all(both)).map(({ status }) => status).sort()).toEqual([200, 409])
    expect((await get(id)).body.versions).toHaveLength(2)
  })
})

describe('a preview', () => {
  it('shows subject, HTML and text with the sample data', async () => {
    const id = await idOf()
    expect((await preview(id)).body.preview).toEqual({
      subject: 'Order 7',
      html: '<p>Thank you, Ada &amp; Bob</p>',
      text: 'Thank you, Ada & Bob',
    })
  })

  it('takes other data, and other versions', async () => {
    const id = await idOf()
    await update(id, { content: [html('<p>Hello {{ name }}</p>')], sample_data: null })
    const template_data = { name: 'Cy', order_id: 8 }
    expect((await preview(id, { template_data })).body.preview).toEqual({
      subject: 'Order 8',
      html: '<p>Hello Cy</p>',
      // As it is sent beside HTML alone.
      text: 'Hello Cy',
    })
    expect((await preview(id)).body.preview.subject).toBe('Order')
    expect((await preview(id, { version: 1 })).body.preview.text).toBe('Thank you, Ada & Bob')
    expect(await preview(id, { version: 3 })).toMatchObject({ status: 404 })
  })

  it('tells where data cannot be rendered', async () => {
    const id = await idOf()
    expect(await preview(id, { template_data: { name: { a: 1 } } })).toMatchObject({
      status: 400,
      body: {
        errors: [
          { path: '/content/0/value', message: expect.stringMatching(/object.*, line:1, col:15/) },
          { path: '/content/1/value', message: expect.stringMatching(/object.*, line:1, col:12/) },
        ],
      },
    })
  })

  it('shows what is not stored, and stores nothing', async () => {
    const { body } = await api.call('previewTemplateDraft', { body: receipt, key: 'reader' })
    expect(body.preview).toMatchObject({ subject: 'Order 7', text: 'Thank you, Ada & Bob' })
    const { sample_data: _, ...bare } = receipt
    const without = await api.call('previewTemplateDraft', { body: bare })
    expect(without.body.preview).toMatchObject({ subject: 'Order', text: 'Thank you, ' })
    expect((await api.call('listTemplates')).body.templates).toEqual([])
  })

  it('ends a template that takes too long, and names the part', async () => {
    const endless =
      '{% for a in (1..9000) %}{% for b in (1..9000) %}{{ a }}{% endfor %}{% endfor %}'
    const refused = await create({ content: [text('fine'), html(endless)] })
    expect(refused.body).toMatchObject({ code: 'validation_failed' })
    expect(refused.body.errors?.map(({ path }) => path)).toEqual(['/content/1/value'])
  })
})
