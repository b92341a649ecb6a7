/** Tracked mail as its recipients get it (docs/reference/sending.md#tracking; RFC 8058). */
import type { SendEmailBody } from '@postrider/contract'
import PostalMime, { type Email } from 'postal-mime'
import { describe, expect, it } from 'vitest'
import { accept, drain, useSending } from '../../../test/sender.ts'
import { addMailer, trackingUrls } from '../../../test/sending.ts'
import { findLink, findTrackedCopies } from '../index.ts'

const world = useSending()
const HTML = `<!doctype html>
<body><!--[if mso]><a href="https://a.example/mso">x</a><![endif]-->
<p>Grüße, <a href='https://a.example/?a=1&amp;b=2'>here</a> or <A HREF=https://b.example/>there</A>
<a href="https://a.example/?a=1&b=2">again</a>, <a href="mailto:a@a.example">mail</a></p>
<a href="%unsubscribe_url%">No more</a>
</body>`
const everything = { open_tracking: true, click_tracking: true, unsubscribe: true }

interface Received {
  readonly to: string
  readonly raw: string
  readonly mail: Email
}

/** Sends it, and answers what arrived, by the recipients' names. */
async function receive(
  change: Partial<SendEmailBody>,
): Promise<{ readonly refId: string; readonly received: Received[] }> {
  const server = await world.serve()
  await addMailer(world.db, { port: server.port })
  const refId = await accept(world.db, change)
  await drain(world.db, world.sender())
  const received = await Promise.all(
    server.messages.map(async ({ recipients, raw }) => ({
      to: recipients.join(),
      raw: raw.toString('latin1'),
      mail: await PostalMime.parse(raw),
    })),
  )
  return { refId, received: received.sort((a, b) => a.to.localeCompare(b.to)) }
}

const headerOf = ({ mail }: Received, name: string) =>
  mail.headers.flatMap(({ key, value }) => (key === name ? [value] : []))
const whoOf = (refId: string, n: number) => ({ tenantId: 'tn_a', refId, n })
const htmlContent = (value: string) => [{ type: 'text/html' as const, value }]

/** A recipient's HTML with the URLs taken out that are its own. */
function withoutOwn(html: string, refId: string, n: number): string {
  const who = whoOf(refId, n)
  const pixel = /<img src="([^"]*)" alt="" [^>]*>/.exec(html)
  expect(pixel?.[1]).toBe(trackingUrls.openUrl(who))
  return html
    .replace(pixel?.[0] ?? '', '')
    .replaceAll(trackingUrls.clickUrl(who, 0), 'LINK 0')
    .replaceAll(trackingUrls.clickUrl(who, 1), 'LINK 1')
    .replaceAll(trackingUrls.unsubscribeUrl(who), 'PAGE')
}

describe('a tracked email', () => {
  it('has separate URLs for each recipient, bcc too, and is otherwise unchanged', async () => {
    const { refId, received } = await receive({
      content: htmlContent(HTML),
      bcc: [{ email: 'bob@example.com' }],
      settings: everything,
    })
    const expected = HTML.replace("'https://a.example/?a=1&amp;b=2'", "'LINK 0'")
      .replace('=https://b.example/', '=LINK 1')
      .replace('"https://a.example/?a=1&b=2"', '"LINK 0"')
      .replace('%unsubscribe_url%', 'PAGE')
    expect(received.map(({ to }) => to)).toEqual(['ada@example.com', 'bob@example.com'])
    for (const [n, { mail }] of received.entries())
      expect(withoutOwn(mail.html?.replace(/\n$/, '') ?? '', refId, n)).toBe(expected)
    const [ada, bob] = received
    expect(ada?.mail.html).not.toBe(bob?.mail.html)
  })

  it('[RFC 8058] has one-click unsubscribe headers for each recipient', async () => {
    const { refId, received } = await receive({
      to: [{ email: 'ada@example.com' }, { email: 'bob@example.com' }],
      settings: { unsubscribe: true },
    })
    for (const [n, one] of received.entries()) {
      const url = trackingUrls.unsubscribeUrl(whoOf(refId, n))
      expect(headerOf(one, 'list-unsubscribe')).toEqual([`<${url}>`])
      expect(headerOf(one, 'list-unsubscribe-post')).toEqual(['List-Unsubscribe=One-Click'])
    }
  })

  it('has no tracked links in its text, and the unsubscribe page where the text asks for it', async () => {
    const text = 'See https://a.example/ or %unsubscribe_url%'
    const { refId, received } = await receive({
      content: [{ type: 'text/plain', value: text }, ...htmlContent(HTML)],
      settings: everything,
    })
    const page = trackingUrls.unsubscribeUrl(whoOf(refId, 0))
    expect(received[0]?.mail.text?.trim()).toBe(`See https://a.example/ or ${page}`)
  })

  it('has text that is made from the HTML before tracking', async () => {
    const { refId, received } = await receive({
      content: htmlContent(HTML),
      settings: everything,
    })
    const page = trackingUrls.unsubscribeUrl(whoOf(refId, 0))
    expect(received[0]?.mail.text?.trim()).toBe(
      `Grüße, here <https://a.example/?a=1&b=2> or there <https://b.example/> again <https://a.example/?a=1&b=2>, mail <mailto:a@a.example>\n\nNo more <${page}>`,
    )
  })

  it('does not become many times as long when HTML has very many placeholders', async () => {
    const text = '%unsubscribe_url% '.repeat(1_002)
    const { refId, received } = await receive({
      content: [{ type: 'text/plain', value: text }, ...htmlContent(`<p>${text}</p>`)],
      settings: { unsubscribe: true },
    })
    const page = trackingUrls.unsubscribeUrl(whoOf(refId, 0))
    for (const body of [received[0]?.mail.text, received[0]?.mail.html]) {
      expect(body?.split(page)).toHaveLength(1_001)
      expect(body?.split('%unsubscribe_url%')).toHaveLength(3)
    }
  })

  it('has the same bytes at every attempt', async () => {
    const server = await world.serve({ 'ada@example.com': ['dot: 451 4.3.0 later', 'ok'] })
    await addMailer(world.db, { port: server.port })
    await accept(world.db, { content: htmlContent(HTML), settings: everything })
    await drain(world.db, world.sender())
    const [first, second] = server.transactions.map(({ raw }) => raw.toString('latin1'))
    expect(second).toContain('/t/c/')
    expect(second).toBe(first)
  })

  it.each([
    ['long', `${HTML}${'<td>ä</td>'.repeat(20_000)}`],
    ['of another script', HTML.replace('Grüße', '日本語のメールです。'.repeat(99))],
  ])('is otherwise unchanged when its HTML is %s', async (_, html) => {
    const { refId, received } = await receive({
      content: htmlContent(html),
      settings: { click_tracking: true },
      cc: [{ email: 'bob@example.com' }],
    })
    for (const [n, { mail }] of received.entries()) {
      const who = whoOf(refId, n)
      const urls = ['https://a.example/?a=1&amp;b=2', 'https://b.example/']
      expect(mail.html?.replaceAll('\r', '').trimEnd()).toBe(
        html
          .replace(`'${urls[0]}'`, `'${trackingUrls.clickUrl(who, 0)}'`)
          .replace(`=${urls[1]}>`, `=${trackingUrls.clickUrl(who, 1)}>`)
          .replace('"https://a.example/?a=1&b=2"', `"${trackingUrls.clickUrl(who, 0)}"`),
      )
    }
  })

  it('has nothing to track when it is text alone', async () => {
    const { received } = await receive({ settings: { open_tracking: true, click_tracking: true } })
    expect(received[0]?.mail).toMatchObject({ text: 'Hello Ada\n' })
    expect(received[0]?.raw).not.toContain('/t/')
  })
})

it('is off by default', async () => {
  const { refId, received } = await receive({ content: htmlContent(HTML) })
  expect(received[0]?.mail.html?.trimEnd()).toBe(HTML)
  expect(received[0]?.raw).not.toMatch(/^list-unsubscribe/im)
  expect(await findLink(world.db, whoOf(refId, 0), 0)).toBeUndefined()
})

describe('the lookup of a hit', () => {
  it('finds the target of a link and the recipient of the copy', async () => {
    const { refId } = await receive({
      content: htmlContent(HTML),
      bcc: [{ email: 'Bob@Example.com' }],
      custom_args: { order: 12 },
      settings: everything,
    })
    const { db } = world
    const links = await Promise.all([0, 1, 2].map((link) => findLink(db, whoOf(refId, 0), link)))
    expect(links).toEqual(['https://a.example/?a=1&b=2', 'https://b.example/', undefined])
    const copies = await findTrackedCopies(db, [whoOf(refId, 9), whoOf(refId, 1)])
    expect(copies).toEqual([
      undefined,
      {
        email: 'Bob@Example.com',
        mailerId: expect.stringMatching(/^smtp_/),
        campaignId: null,
        customArgs: { order: 12 },
        traceparent: expect.stringMatching(/^00-/),
        messageId: `<${refId}.1@example.com>`,
        deliveredAt: expect.any(Date),
        attempts: 1,
      },
    ])
  })

  it('finds nothing for another tenant, another email or an unknown recipient', async () => {
    const { refId } = await receive({ content: htmlContent(HTML), settings: everything })
    const { db } = world
    const foreign = { ...whoOf(refId, 0), tenantId: 'tn_b' }
    expect(await findLink(db, foreign, 0)).toBeUndefined()
    const copies = await findTrackedCopies(db, [foreign, whoOf(refId, 1)])
    expect(copies).toEqual([undefined, undefined])
    const another = `${refId.slice(0, -1)}${refId.endsWith('0') ? '1' : '0'}`
    expect(await findLink(db, whoOf(another, 0), 0)).toBeUndefined()
  })

  it('[contract 3 rescue] names the last mailer that sent the copy', async () => {
    const { refId } = await receive({ content: htmlContent(HTML), settings: everything })
    const { db } = world
    await db.query(
      `insert into sending_attempt (tenant_id, ref_id, n, attempt, day, mailer_id, max_attempts,
         started_at, finished_at, outcome, retry_scheduled)
       select tenant_id, ref_id, n, 2, day, 'smtp_other', 5, now(), now(), 'accepted', false
         from sending_attempts where ref_id = $1`,
      [refId],
    )
    const [copy] = await findTrackedCopies(db, [whoOf(refId, 0)])
    expect(copy?.mailerId).toBe('smtp_other')
  })
})
