/** [6.4.6] Templates, from the request to the mail server and the events. */
import type { SendEmailBody } from '@postrider/contract'
import { createTemplateRenderer } from '@postrider/mail'
import PostalMime from 'postal-mime'
import { afterAll, describe, expect, it } from 'vitest'
import {
  accept,
  attemptsOf,
  eventsOf,
  noUsageCounts,
  queueOf,
  recipientsOf,
  TRACEPARENT,
  useSending,
} from '../../../test/sender.ts'
import { addMailer, emailBody } from '../../../test/sending.ts'
import { noDiskGuard } from '../../platform/process/disk-guard.ts'
import { readSmall, type StoredContent } from '../record/stored-content.ts'
import { createAcceptEmails } from './accept-email.ts'
import { checkEmail } from './check-email.ts'
import { renderEmail } from './render-email.ts'

const world = useSending()
const templates = createTemplateRenderer()
afterAll(() => templates.stop())

/** As the route does. */
async function acceptTemplate(change: Partial<SendEmailBody>): Promise<string> {
  const body = emailBody(change)
  const checked = checkEmail(body, { maxAttempts: 5, expiresInMs: 86_400_000 })
  const email = await renderEmail(templates, 'tn_a', checked, body.template_data)
  const emails = createAcceptEmails({
    db: world.db,
    failpoints: { hit: () => undefined },
    disk: noDiskGuard,
    usageCounts: noUsageCounts,
  })
  return (await emails.accept({ tenantId: 'tn_a', email, traceparent: TRACEPARENT, isTest: false }))
    .refId
}

const content = (html: string, text?: string): NonNullable<SendEmailBody['content']> => [
  { type: 'text/html', value: html },
  ...(text === undefined ? [] : [{ type: 'text/plain' as const, value: text }]),
]
const two = [{ email: 'ada@example.com' }, { email: 'bob@example.com' }]

describe('an email with template_data', () => {
  it('renders a template once: stored and sent text are the same', async () => {
    const server = await world.serve()
    await addMailer(world.db, { port: server.port })
    const refId = await acceptTemplate({
      to: two,
      subject: 'Order {{ id }}',
      content: content('<p>{{ name }}</p>', '{{ name }}'),
      template_data: { id: 7, name: 'Ada & Bob' },
    })
    const { rows } = await world.db.query<{ subject: string } & StoredContent>(
      'select subject, content, attachments from sending_email join sending_content using (tenant_id, ref_id, day) where ref_id = $1',
      [refId],
    )
    expect(rows).toMatchObject([{ subject: 'Order 7' }])
    expect(rows.map((row) => readSmall(row)(refId))).toMatchObject([
      { subject: 'Order 7', html: '<p>Ada &amp; Bob</p>' },
    ])
    await world.sender().runOnce()
    expect(server.messages).toHaveLength(2)
    for (const { raw } of server.messages)
      expect(await PostalMime.parse(raw)).toMatchObject({
        subject: 'Order 7',
        html: '<p>Ada &amp; Bob</p>\n',
        text: 'Ada & Bob\n',
      })
  })

  it('leaves braces alone without template_data', async () => {
    const server = await world.serve()
    await addMailer(world.db, { port: server.port })
    await accept(world.db, { subject: '{{ id', content: content('{% nope %}', '{{ a }}') })
    await world.sender().runOnce()
    const parsed = await PostalMime.parse(server.messages[0]?.raw ?? '')
    expect(parsed).toMatchObject({ subject: '{{ id', html: '{% nope %}\n', text: '{{ a }}\n' })
  })

  it.each([
    ['small', '{{ name'],
    ['larger than what is loaded with a claim', `{{ name ${' '.repeat(200_000)}`],
    ['of a kind that renders to too much', '{% for i in (1..6000) %}{{ x }}{% endfor %}'],
  ])(
    '[6.4.6] fails every recipient for good when a template cannot be rendered: %s',
    async (_what, html) => {
      const server = await world.serve()
      await addMailer(world.db, { port: server.port })
      const refId = await acceptTemplate({
        to: two,
        bcc: [{ email: 'cy@example.com' }],
        content: content(html),
        template_data: { x: 'x'.repeat(1_000) },
      })
      await world.sender().runOnce()
      expect(server.connections).toEqual([])
      expect(await queueOf(world.db)).toEqual([])
      const events = await eventsOf(world.db, refId)
      expect(events.map(({ details }) => details.email[0]).sort()).toEqual([
        'ada@example.com',
        'bob@example.com',
        'cy@example.com',
      ])
      for (const event of events)
        expect(event).toMatchObject({
          event: 'SMTP_ERROR',
          success: false,
          details: {
            attempt: 1,
            max_attempts: 5,
            retry_scheduled: false,
            failed_reason: 'The template could not be rendered',
            provider_error: expect.stringMatching(/^html: (output|renders to more)/),
            message_id: '',
            thread_id: '',
          },
        })
      for (const row of await recipientsOf(world.db, refId))
        expect(row).toMatchObject({ status: 'failed', attempts: 1 })
      expect(await attemptsOf(world.db, refId)).toHaveLength(3)
    },
  )

  it('reports a template that cannot be rendered at the first attempt, not before send_at', async () => {
    await addMailer(world.db)
    const send_at = new Date(Date.now() + 3_600_000).toISOString()
    const refId = await acceptTemplate({ content: content('{{'), template_data: {}, send_at })
    await world.sender().runOnce()
    expect(await eventsOf(world.db)).toEqual([])
    expect(await recipientsOf(world.db, refId)).toMatchObject([{ status: 'scheduled' }])
  })
})
