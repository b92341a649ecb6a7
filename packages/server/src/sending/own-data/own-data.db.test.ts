/** Recipients with data of their own, from the request to their copies, their events and the record. */
import type { SendEmailBody } from '@postrider/contract'
import PostalMime from 'postal-mime'
import { describe, expect, it } from 'vitest'
import { OWN_ARGS, order, SHARED_ARGS, useOwnData } from '../../../test/own-data.ts'
import { drain, eventsOf, inShort, recipientsOf, useSending } from '../../../test/sender.ts'
import { addMailer, trackingUrls } from '../../../test/sending.ts'
import { ApiError } from '../../platform/errors.ts'
import { dayOfUlid } from '../../platform/ids.ts'
import { buildRaw } from '../content/build-raw.ts'
import { getContent } from '../content/get-content.ts'
import { lockReported } from '../record/report-store.ts'
import { buildSentCopy } from '../sent-copies/build-sent-copy.ts'
import { findLink, findTrackedCopies, findTracks } from '../tracking/store.ts'
import { createOwnBudget, type OwnBudget } from './render-own-data.ts'

const world = useSending()
const { accept, ready } = useOwnData(world)

const refusalOf = async (change: Partial<SendEmailBody>, budget?: OwnBudget) => {
  try {
    await accept(change, budget)
  } catch (error) {
    if (error instanceof ApiError) return error.errors
    throw error
  }
  throw new Error('it was accepted')
}

const html = (value: string): NonNullable<SendEmailBody['content']> => [
  { type: 'text/html', value },
]

/** By recipient: what the mail server got, last. */
async function copiesOf(server: Awaited<ReturnType<typeof world.serve>>) {
  const copies = new Map<string, { subject?: string | undefined; html?: string | undefined }>()
  for (const { raw, recipients } of server.messages) {
    const { subject, html: body } = await PostalMime.parse(raw)
    copies.set(String(recipients[0]).replace(/[<>]/g, ''), { subject, html: body })
  }
  return copies
}

describe('copies', () => {
  it('are rendered with the data of their recipient, over those of the email', async () => {
    const server = await world.serve()
    await addMailer(world.db, { port: server.port })
    await accept(order)
    await drain(world.db, world.sender())
    const copies = await copiesOf(server)
    expect(copies.get('ada@example.com')).toEqual({
      subject: 'Order 1 of Tea',
      html: '<p>Ada at Tea</p>\n',
    })
    expect(copies.get('bob@example.com')?.subject).toBe('Order 2 of Tea')
    for (const other of ['cy@example.com', 'dee@example.com'])
      expect(copies.get(other)).toEqual({
        subject: 'Order of Tea',
        html: '<p>friend at Tea</p>\n',
      })
  })

  it.each([
    ['one recipient after the other', 1],
    ['all at once', 16],
  ])('never hold data of another recipient, sent %s', async (_, concurrency) => {
    const server = await world.serve()
    await addMailer(world.db, { port: server.port })
    const names = Array.from({ length: 40 }, (_value, i) => `secret${i}x`)
    await accept({
      content: html('<p>{{ own }}</p>'),
      to: names.map((own, i) => ({
        email: `to${i}@example.com`,
        ...(i % 4 === 3 ? {} : { template_data: { own } }),
      })),
    })
    await drain(world.db, world.sender({ concurrency }))
    const copies = await copiesOf(server)
    expect(copies.size).toBe(40)
    for (const [i, own] of names.entries()) {
      const { html: body = '' } = copies.get(`to${i}@example.com`) ?? {}
      expect(body.match(/secret\d+x/g) ?? []).toEqual(i % 4 === 3 ? [] : [own])
    }
  })

  it('are the same at each attempt, and share a rendering where the data are the same', async () => {
    const codes = [450, 450, 250, 250]
    const server = await world.serve(({ phase }) =>
      phase === 'rcpt' && codes.shift() === 450 ? '450 4.2.1 later' : undefined,
    )
    await addMailer(world.db, { port: server.port })
    const template_data = { name: 'Ada' }
    const refId = await accept({
      content: html('<p>{{ name }}</p>'),
      to: ['ada@example.com', 'eve@example.com'].map((email) => ({ email, template_data })),
    })
    const { rows } = await world.db.query('select rendering, subject from sending_rendering')
    expect(rows).toHaveLength(1)
    await drain(world.db, world.sender())
    for (const { html: body } of (await copiesOf(server)).values())
      expect(body).toBe('<p>Ada</p>\n')
    expect((await eventsOf(world.db, refId)).map(inShort).sort()).toEqual([
      'MAIL_DELIVERED',
      'MAIL_DELIVERED',
      'SMTP_ERROR 1 retry',
      'SMTP_ERROR 1 retry',
    ])
  })

  it('have what the email has beside its templates, also where that is large', async () => {
    const server = await world.serve()
    await addMailer(world.db, { port: server.port })
    const content = Buffer.alloc(200_000, 'abc').toString('base64')
    await accept({ ...order, attachments: [{ filename: 'a.bin', content }] })
    await drain(world.db, world.sender())
    expect(server.messages).toHaveLength(4)
    for (const { raw } of server.messages)
      expect((await PostalMime.parse(raw)).attachments[0]?.content).toHaveProperty(
        'byteLength',
        200_000,
      )
  })

  it('fail alone where their data cannot be rendered', async () => {
    const server = await world.serve()
    await addMailer(world.db, { port: server.port })
    const refId = await accept({
      content: html('{{ 1 | divided_by: by }}'),
      template_data: { by: 1 },
      to: [{ email: 'ada@example.com', template_data: { by: 0 } }, { email: 'bob@example.com' }],
    })
    await drain(world.db, world.sender())
    expect(await recipientsOf(world.db, refId)).toMatchObject([
      { email: 'ada@example.com', status: 'failed' },
      { email: 'bob@example.com', status: 'delivered' },
    ])
    const failed = (await eventsOf(world.db, refId)).find(({ event }) => event === 'SMTP_ERROR')
    expect(failed?.details).toMatchObject({
      email: ['ada@example.com'],
      provider_error: 'html: divided by 0, line:1, col:1',
    })
  })

  it('that hold phishing are stopped, and the others are sent', async () => {
    const server = await world.serve()
    await addMailer(world.db, { port: server.port })
    await world.db.query(
      `insert into sending_phishing_settings (tenant_id, is_enabled, threshold, blocked_domains)
       values ('tn_a', true, 60, '{evil.example}')`,
    )
    const refId = await accept({
      content: html('<a href="https://{{ host }}/x">x</a>'),
      template_data: { host: 'good.example' },
      to: [
        { email: 'ada@example.com', template_data: { host: 'evil.example' } },
        { email: 'bob@example.com', template_data: { host: 'fine.example' } },
        { email: 'cy@example.com' },
      ],
    })
    await drain(world.db, world.sender())
    expect((await recipientsOf(world.db, refId)).map(({ status }) => status)).toEqual([
      'blocked',
      'delivered',
      'delivered',
    ])
  })
})

describe('events', () => {
  it('carry the custom_args of their recipient, over those of the email', async () => {
    const server = await world.serve(({ phase, recipient = '' }) =>
      phase === 'rcpt' && recipient.includes('ada') ? '550 5.7.1 no' : undefined,
    )
    await addMailer(world.db, { port: server.port })
    const refId = await accept(order)
    await drain(world.db, world.sender())
    const argsOf = new Map(
      (await eventsOf(world.db, refId)).map(({ details }) => [
        details.email[0],
        details.custom_args,
      ]),
    )
    expect(argsOf.get('ada@example.com')).toEqual(OWN_ARGS)
    expect(argsOf.get('bob@example.com')).toEqual(SHARED_ARGS)
    expect(argsOf.get('dee@example.com')).toEqual(SHARED_ARGS)
  })

  it('of reports and of tracking carry them, too, and the order of keys is that of the request', async () => {
    await addMailer(world.db)
    const refId = await accept({ ...order, settings: { open_tracking: true } })
    const keys = [0, 1, 2].map((n) => ({ refId, n, day: dayOfUlid(refId) }))
    const reported = await world.db.transaction((tx) => lockReported(tx, 'tn_a', keys))
    const copies = await findTrackedCopies(
      world.db,
      keys.map(({ n }) => ({ tenantId: 'tn_a', refId, n })),
    )
    for (const found of [reported, copies])
      expect(found.map((one) => JSON.stringify(one?.customArgs))).toEqual(
        [OWN_ARGS, SHARED_ARGS, SHARED_ARGS].map((args) => JSON.stringify(args)),
      )
  })
})

describe('tracked links', () => {
  const tracked: Partial<SendEmailBody> = {
    ...order,
    content: html(
      '<a href="https://shop.example/{{ name }}">a</a><a href="https://shop.example/all">b</a>',
    ),
    settings: { click_tracking: true, open_tracking: true, unsubscribe: true },
  }

  it('lead each recipient to its own address', async () => {
    const server = await world.serve()
    await addMailer(world.db, { port: server.port })
    const refId = await accept(tracked)
    await drain(world.db, world.sender())
    const wanted = ['Ada', 'Bob', 'friend', 'friend'].map((name) => [
      `https://shop.example/${name}`,
      'https://shop.example/all',
    ])
    for (const [n, urls] of wanted.entries()) {
      const who = { tenantId: 'tn_a', refId, n }
      const tracks = await findTracks(world.db, who)
      expect(tracks?.isOpenTracked).toBe(true)
      expect(tracks?.links.map(({ url }) => url)).toEqual(urls)
      const to = ['ada', 'bob', 'cy', 'dee'][n] ?? ''
      const message = server.messages.find(({ recipients }) => String(recipients[0]).includes(to))
      const { html: body = '' } = await PostalMime.parse(message?.raw ?? '')
      for (const { link, url } of tracks?.links ?? []) {
        expect(body).toContain(trackingUrls.clickUrl(who, link))
        expect(await findLink(world.db, who, link)).toBe(url)
      }
      expect(body.match(/<a /g)).toHaveLength(2)
      expect(body).not.toContain('shop.example')
      expect(body).toContain(trackingUrls.openUrl(who))
    }
  })
})

describe('the record', () => {
  it('shows each recipient what it got: content, message and Sent copy', async () => {
    await addMailer(world.db)
    const refId = await accept(order)
    const subjectOf = async (email?: string) =>
      (await getContent(world.db, 'tn_a', refId, email)).subject
    expect(await subjectOf('ADA@example.com')).toBe('Order 1 of Tea')
    expect(await subjectOf('cy@example.com')).toBe('Order of Tea')
    expect(await subjectOf()).toBe('Order of Tea')
    await expect(subjectOf('nobody@example.com')).rejects.toMatchObject({ code: 'not_found' })
    await expect(subjectOf('nobody')).rejects.toMatchObject({ code: 'validation_failed' })
    const deps = { db: world.db, trackingUrls }
    const raw = await PostalMime.parse(await buildRaw(deps, 'tn_a', refId, 'bob@example.com'))
    expect(raw).toMatchObject({ subject: 'Order 2 of Tea', html: '<p>Bob at Tea</p>\n' })
    const messageId = `<${refId}.1@example.com>`
    const copy = await buildSentCopy(world.db, { tenantId: 'tn_a', refId, messageId })
    expect(await PostalMime.parse(copy ?? '')).toMatchObject({ subject: 'Order 2 of Tea' })
  })

  it('says that content was removed where its day leaves between two looks', async () => {
    await addMailer(world.db)
    const refId = await accept(order)
    await world.db.query('delete from sending_content where rendering > 0')
    const id = { tenantId: 'tn_a', refId }
    await expect(getContent(world.db, 'tn_a', refId, 'ada@example.com')).rejects.toMatchObject({
      code: 'content_removed',
    })
    await expect(
      buildRaw({ db: world.db, trackingUrls }, 'tn_a', refId, 'bob@example.com'),
    ).rejects.toMatchObject({ code: 'content_removed' })
    const messageId = `<${refId}.1@example.com>`
    expect(await buildSentCopy(world.db, { ...id, messageId })).toBeUndefined()
    expect(await findTracks(world.db, { ...id, n: 1 })).toBeUndefined()
    // Who has no data of their own gets the content of the email, which is there.
    expect((await getContent(world.db, 'tn_a', refId, 'cy@example.com')).subject).toBe(
      'Order of Tea',
    )
  })
})

describe('mail without data of recipients', () => {
  it('has no rows of its own, and no mark', async () => {
    await addMailer(world.db)
    await accept({ template_data: {}, to: [{ email: 'ada@example.com', custom_args: {} }] })
    await accept({})
    for (const table of ['sending_own', 'sending_rendering'])
      expect((await world.db.query(`select from ${table}`)).rows).toEqual([])
    const { rows } = await world.db.query('select from sending_email where has_own is not null')
    expect(rows).toEqual([])
  })
})

describe('a request is refused by the entry', () => {
  it.each([
    ['custom_args of 10 KiB by themselves', { custom_args: { x: 'x'.repeat(10_240) } }, {}],
    [
      'custom_args of 10 KiB with those of the email',
      { custom_args: { x: 'x'.repeat(6_000) } },
      { custom_args: { y: 'y'.repeat(6_000) } },
    ],
    [
      'template_data of 1 MiB with those of the email',
      { template_data: { x: 'x'.repeat(600_000) } },
      { template_data: { y: 'y'.repeat(600_000) } },
    ],
  ])('with %s', async (_what, own, shared) => {
    const to = [{ email: 'ada@example.com' }, { email: 'bob@example.com', ...own }]
    const [name] = Object.keys(own)
    expect(await refusalOf({ ...shared, to })).toMatchObject([{ path: `/to/1/${name}` }])
  })

  it.each([
    ['bytes', { bytes: 4_000 }, /more than 41943040 bytes/],
    ['time', { cpuMs: -1 }, /longer than 20 s/],
  ])('with which the request has used up its %s', async (what, budget, message) => {
    const long = html('{{ x }}')
    const x = 'x'.repeat(3_000)
    const to = [1, 2].map((i) => ({ email: `a${i}@example.com`, template_data: { x, i } }))
    const n = what === 'time' ? 0 : 1
    expect(await refusalOf({ content: long, to }, { ...createOwnBudget(), ...budget })).toEqual([
      { path: `/to/${n}/template_data`, message: expect.stringMatching(message) },
    ])
  })

  it('with which several emails of one request have used it up together', async () => {
    const budget = { ...createOwnBudget(), bytes: 4_000 }
    const change = {
      content: html('{{ x }}'),
      to: [{ email: 'ada@example.com', template_data: { x: 'x'.repeat(3_000) } }],
    }
    await ready(change, budget)
    expect(await refusalOf(change, budget)).toMatchObject([{ path: '/to/0/template_data' }])
  })

  it('with more tracked links than an email may have: that rendering goes without, and is told', async () => {
    const { email, leftOut } = await ready({
      content: html(
        '{% for i in (1..900) %}<a href="https://a.example/{{ own }}/{{ i }}">x</a>{% endfor %}',
      ),
      settings: { click_tracking: true },
      to: Array.from({ length: 24 }, (_, own) => ({
        email: `to${own}@example.com`,
        template_data: { own: `o${own}` },
      })),
    })
    expect(leftOut).toBe('clicks: too many links')
    expect(email.links?.length).toBeLessThanOrEqual(20_000)
    expect(email.own?.renderings).toHaveLength(24)
  })
})
