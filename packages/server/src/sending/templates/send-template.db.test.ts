/** sendEmail with a stored template, from the request to what is stored and read again. */
import type { SendEmailBody } from '@postrider/contract'
import { createLinkFinder, createTemplateRenderer } from '@postrider/mail'
import { createConcurrencyLimiter } from '@postrider/runtime/concurrency-limiter'
import type { FastifyInstance } from 'fastify'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { TestDatabase } from '../../../test/database.ts'
import { emptyTables } from '../../../test/empty-tables.ts'
import { noUsageCounts } from '../../../test/sender.ts'
import { addMailer, createSendingDatabase, emailBody, silent } from '../../../test/sending.ts'
import { createHttpApp } from '../../platform/http/app.ts'
import { newId } from '../../platform/ids.ts'
import { createMetrics } from '../../platform/metrics.ts'
import { noDiskGuard } from '../../platform/process/disk-guard.ts'
import { createAcceptEmails } from '../accept/accept-email.ts'
import { createKeysInProgress } from '../accept/idempotency.ts'
import { batchRoutes } from '../batch/routes.ts'
import { createQueueWakeups } from '../queue/queue-wakeups.ts'
import { readEmail } from '../record/email-store.ts'
import { readSmall, type StoredContent } from '../record/stored-content.ts'
import { sendRoutes } from '../routes.ts'
import { createTemplate, updateTemplate } from './change-template.ts'
import { deleteTemplate } from './delete-template.ts'

const TENANT = { tenantId: 'tn_a', keyId: 'key_a', scopes: [] } as const
const templates = createTemplateRenderer()
const links = createLinkFinder()
let database: TestDatabase
let app: FastifyInstance

beforeAll(async () => {
  database = await createSendingDatabase()
  const { db } = database
  await addMailer(db)
  app = createHttpApp({ log: silent, metrics: createMetrics(), authenticateKey: () => TENANT })
  const sendDeps = {
    ...{ db, templates, links, log: silent },
    emails: createAcceptEmails({
      ...{ db, failpoints: { hit: () => undefined }, disk: noDiskGuard },
      usageCounts: noUsageCounts,
    }),
    keysInProgress: createKeysInProgress(),
    wakeups: createQueueWakeups(),
    defaults: { maxAttempts: 5, expiresInMs: 3_600_000 },
  }
  sendRoutes(app, sendDeps)
  const limits = { atOnceMax: 1, atOncePerCallerMax: 1, waitingPerCallerMax: 1 }
  const limiter = createConcurrencyLimiter({ ...limits, name: 'batches-at-once' })
  batchRoutes(app, { ...sendDeps, limiter })
  await app.ready()
})
afterAll(async () => {
  await app.close()
  await templates.stop()
  await links.stop()
  await database.close()
})
beforeEach(() => emptyTables(database.db, 'sending_template', 'sending_email', 'sending_content'))

const deps = () => ({ db: database.db, renderer: templates })

async function make(tenantId = 'tn_a'): Promise<string> {
  const { templateId } = await createTemplate(deps(), tenantId, {
    name: 'Receipt',
    subject: 'Order {{ id }}',
    content: [{ type: 'text/html', value: '<p>{{ name }}</p>' }],
    sample_data: { id: 1, name: 'Sample' },
  })
  return templateId
}

const change = (templateId: string, subject: string) =>
  updateTemplate(deps(), { tenantId: 'tn_a', templateId }, { subject })

async function send(fields: Partial<SendEmailBody>, key?: string) {
  const { subject: _, content: __, ...rest } = emailBody()
  const response = await app.inject({
    method: 'POST',
    url: '/v1/email/send',
    headers: { authorization: 'Bearer a', ...(key && { 'idempotency-key': key }) },
    payload: { ...rest, ...fields },
  })
  return { status: response.statusCode, headers: response.headers, body: response.json() }
}

async function stored(refId: string) {
  const { rows } = await database.db.query<{ subject: string; day: string } & StoredContent>(
    'select subject, day, content, attachments from sending_email join sending_content using (tenant_id, ref_id, day) where ref_id = $1',
    [refId],
  )
  const [email] = rows.map((row) => ({ ...row, content: readSmall(row)(refId) }))
  const record = await readEmail(database.db, 'tn_a', { refId, day: email?.day ?? '' })
  return { ...email, ...record }
}

describe('an email of a stored template', () => {
  it('holds what the newest version renders to, and remembers which it was', async () => {
    const template_id = await make()
    await change(template_id, 'Receipt {{ id }}')
    const sent = await send({ template_id, template_data: { id: 7, name: 'Ada & Bob' } })
    expect(sent.status).toBe(202)
    expect(await stored(sent.body.ref_id)).toMatchObject({
      subject: 'Receipt 7',
      content: { subject: 'Receipt 7', html: '<p>Ada &amp; Bob</p>' },
      templateId: template_id,
      templateVersion: 2,
    })
  })

  it('takes the version that is asked for', async () => {
    const template_id = await make()
    await change(template_id, 'Receipt {{ id }}')
    const sent = await send({ template_id, template_version: 1, template_data: { id: 7 } })
    expect(await stored(sent.body.ref_id)).toMatchObject({ subject: 'Order 7', templateVersion: 1 })
  })

  it('is rendered without data, too, and never with the sample data', async () => {
    const sent = await send({ template_id: await make() })
    expect(await stored(sent.body.ref_id)).toMatchObject({
      subject: 'Order',
      content: { html: '<p></p>' },
    })
  })

  it('stays as it was when the template changes or is deleted before it is sent', async () => {
    const template_id = await make()
    const send_at = new Date(Date.now() + 3_600_000).toISOString()
    const sent = await send({ template_id, template_data: { id: 7 }, send_at })
    await change(template_id, 'Other')
    await deleteTemplate(deps(), { tenantId: 'tn_a', templateId: template_id }, undefined)
    expect(await stored(sent.body.ref_id)).toMatchObject({
      subject: 'Order 7',
      templateId: template_id,
      templateVersion: 1,
    })
  })

  it('fails at its first attempt when its data cannot be rendered', async () => {
    const sent = await send({ template_id: await make(), template_data: { id: { a: 1 } } })
    expect(sent.status).toBe(202)
    expect(await stored(sent.body.ref_id)).toMatchObject({
      content: { templateProblem: expect.stringMatching(/^subject: an object.*, line:1, col:7$/) },
    })
  })

  it('is answered again under its key, after the template has changed or is gone', async () => {
    const template_id = await make()
    const first = await send({ template_id, template_data: { id: 7 } }, 'k')
    await change(template_id, 'Other')
    const again = await send({ template_id, template_data: { id: 7 } }, 'k')
    await deleteTemplate(deps(), { tenantId: 'tn_a', templateId: template_id }, undefined)
    const last = await send({ template_id, template_data: { id: 7 } }, 'k')
    for (const replay of [again, last]) {
      expect(replay.headers['idempotent-replayed']).toBe('true')
      expect(replay.body).toEqual(first.body)
    }
    expect(await send({ template_id }, 'another')).toMatchObject({ status: 422 })
  })
})

describe('an email of a template is refused', () => {
  it('when the template, or its version, is not there', async () => {
    const template_id = await make()
    const absent = (message: string) => ({ status: 422, body: { code: 'no_template', message } })
    for (const id of [newId('tpl'), 'nope', await make('tn_b')])
      expect(await send({ template_id: id })).toMatchObject(absent(`There is no template ${id}`))
    expect(await send({ template_id, template_version: 2 })).toMatchObject(
      absent(`There is no template ${template_id}, or it has no version 2`),
    )
    const { rowCount } = await database.db.query('select from sending_email')
    expect(rowCount).toBe(0)
  })

  it.each<[what: string, fields: Partial<SendEmailBody>, paths: string[]]>([
    ['with a subject', { subject: 'Hello' }, ['/subject']],
    [
      'with content, too',
      { subject: 'Hello', content: [{ type: 'text/plain', value: 'Hello' }] },
      ['/subject', '/content'],
    ],
  ])('%s', async (_what, fields, paths) => {
    const refused = await send({ template_id: await make(), ...fields })
    expect(refused).toMatchObject({ status: 400, body: { code: 'validation_failed' } })
    expect(refused.body.errors.map(({ path }: { path: string }) => path)).toEqual(paths)
  })

  it('when only a version is given', async () => {
    const { subject, content } = emailBody()
    const refused = await send({ subject, content, template_version: 1 } as SendEmailBody)
    expect(refused.body.errors).toEqual([
      { path: '/template_version', message: 'needs template_id' },
    ])
  })
})

it('may be a message of a batch, where it is refused for itself', async () => {
  const template_id = await make()
  const { subject: _, content: __, ...rest } = emailBody()
  const messages = [
    { ...rest, template_id, template_data: { id: 7, name: 'Ada' } },
    { ...rest, template_id, template_version: 2 },
    rest,
  ]
  const response = await app.inject({
    ...{ method: 'POST', url: '/v1/email/batch', headers: { authorization: 'Bearer a' } },
    payload: { messages },
  })
  const { results } = response.json()
  expect(results).toMatchObject([
    { index: 0, ref_id: expect.any(String) },
    { index: 1, code: 'no_template' },
    { index: 2, code: 'validation_failed' },
  ])
  expect(await stored(results[0].ref_id)).toMatchObject({
    ...{ subject: 'Order 7', templateId: template_id, templateVersion: 1 },
  })
})

it('names a missing subject and content together with all that is wrong', async () => {
  const refused = await send({ settings: { max_attempts: 0 } })
  const paths = refused.body.errors.map(({ path }: { path: string }) => path)
  expect(paths.sort()).toEqual(['/content', '/settings/max_attempts', '/subject'])
})
