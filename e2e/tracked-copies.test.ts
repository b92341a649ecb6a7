/** The copies of a tracked mail, as a real process sends them to a real SMTP server. */
import type { SendEmailBody } from '@postrider/contract'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { createWorld, type World } from './world.ts'

const FROM = 'news@sender.test'
/** What stands in mails; the service itself listens elsewhere. */
const ORIGIN = 'https://mail.sender.test'
const HTML = `<!doctype html>
<!--[if mso]><a href="https://shop.test/mso">Shop</a><![endif]-->
<p class=x>Grüße! <A HREF='https://shop.test/?a=1&amp;b=2' data-x={{x}}>Shop</A>
<a href=https://shop.test/quiet clicktracking=off>quiet</a> <a href="mailto:a@shop.test">mail</a></p>
<a href="%unsubscribe_url%">Unsubscribe</a>
</body>`

let world: World
beforeAll(async () => {
  world = createWorld({ PUBLIC_URL: ORIGIN })
  await world.start()
})
afterEach(() => world.closePeers())
afterAll(() => world.destroy())

/** The HTML part as it was before it was encoded. */
function htmlOf(raw: Buffer): string {
  const [, encoded = ''] =
    /text\/html; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n([\s\S]*?)\r\n--/.exec(
      raw.toString('latin1'),
    ) ?? []
  const bytes = encoded
    .replaceAll('=\r\n', '')
    .replace(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(bytes, 'latin1').toString().replaceAll('\r\n', '\n')
}

interface Copy {
  readonly pixel: string
  readonly link: string
  readonly page: string
  /** Its HTML without these three. */
  readonly rest: string
  readonly header: string
}

function readCopy(raw: Buffer): Copy {
  const html = htmlOf(raw)
  const [pixelTag = '', pixel = ''] = /<img src="([^"]*)" alt="" [^>]*>/.exec(html) ?? []
  const [, link = ''] = /HREF='([^']*)'/.exec(html) ?? []
  const [, page = ''] = /<a href="([^"]*)">Unsubscribe/.exec(html) ?? []
  const [, header = ''] =
    /^List-Unsubscribe:\s+<([^>]*)>\r\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\r$/m.exec(
      raw.toString('latin1'),
    ) ?? []
  const rest = html.replace(pixelTag, '').replace(link, 'LINK').replace(page, 'PAGE')
  return { pixel, link, page, rest, header }
}

async function sendTracked(change: Partial<SendEmailBody> = {}) {
  const [tenant, smtp] = await Promise.all([world.newTenant(), world.newSmtpServer()])
  await tenant.client.configureSMTP({
    name: 'News',
    email: FROM,
    config_type: 'smtp',
    connection_type: 'basic',
    config: { host: '127.0.0.1', port: smtp.port, secure: 'None' },
  })
  const { ref_id: refId } = await tenant.client.sendEmail({
    from: { email: FROM },
    to: [{ email: 'ada@recipient.test' }],
    bcc: [{ email: 'bob@recipient.test' }],
    subject: 'Hello',
    content: [{ type: 'text/html', value: HTML }],
    settings: { open_tracking: true, click_tracking: true, unsubscribe: true },
    ...change,
  })
  const messages = await smtp.waitForMessages(2)
  return { ...tenant, refId, copies: messages.map(({ raw }) => readCopy(raw)) }
}

it('[contract 3.1] each copy has a pixel, links and a page of its own, and is otherwise unchanged', async () => {
  const { copies } = await sendTracked()
  const expected = HTML.replace('https://shop.test/?a=1&amp;b=2', 'LINK').replace(
    '%unsubscribe_url%',
    'PAGE',
  )
  for (const { pixel, link, page, rest, header } of copies) {
    expect(rest).toBe(expected)
    expect(pixel).toMatch(new RegExp(`^${ORIGIN}/t/o/[\\w-]+\\.gif$`))
    expect(link).toMatch(new RegExp(`^${ORIGIN}/t/c/[\\w-]+$`))
    expect(page).toMatch(new RegExp(`^${ORIGIN}/t/u/[\\w-]+$`))
    expect(header).toBe(page)
  }
  expect(copies).toHaveLength(2)
  const urls = copies.flatMap(({ pixel, link, page }) => [pixel, link, page])
  expect(new Set(urls).size).toBe(6)
})
