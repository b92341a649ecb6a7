import { zeroTracking } from '@postrider/contract'
import { describe, expect, it } from 'vitest'
import {
  CHROME,
  hitsOf,
  sumsOf,
  type TrackedMail,
  tokens,
  useTracking,
} from '../../test/tracking.ts'
import { newId, newUlid, ulidAtTime } from '../platform/ids.ts'
import { hitsAnHourMax } from './intake/flood-guard.ts'
import { pageTexts } from './pages/page-texts.ts'

const world = useTracking()
const forged = (path: string) =>
  path.replace(/.(?=(\.gif)?$)/, (last) => (last === 'A' ? 'B' : 'A'))

describe('GET /t/o/{token}.gif', () => {
  it('[2.5] answers a pixel that nobody caches, and reports the open with all that is known', async () => {
    const mail = await world.send({ email: { custom_args: { order: 7 } } })
    const answer = await world.get(mail.open)
    expect(answer.statusCode).toBe(200)
    expect(answer.rawPayload).toHaveLength(43)
    expect(answer.rawPayload.subarray(0, 6).toString()).toBe('GIF89a')
    expect(answer.headers).toMatchObject({
      'content-type': 'image/gif',
      'cache-control': 'no-store',
    })
    expect(answer.headers).not.toHaveProperty('set-cookie')
    const [event] = await world.events(mail)
    expect(event).toMatchObject({
      event: 'MAIL_OPENED',
      success: true,
      details: {
        ref_id: mail.refId,
        email: ['ada@example.com'],
        custom_args: { order: 7 },
        thread_id: '',
        failed_reason: '',
        message_id: `<${mail.refId}.0@example.com>`,
      },
    })
    const { time, ...tracking } = event?.details.tracking ?? {}
    expect(time).toBe(event?.details.event_at)
    expect(tracking).toEqual({
      ip: '127.0.0.1',
      user_agent: CHROME,
      browser_name: 'Chrome',
      browser_version: '142.0.0.0',
      os: 'Windows 10',
      device_type: 'desktop',
      platform: 'Windows',
      country: '',
      city: '',
      region: '',
      time_zone: '',
      bot: false,
    })
    expect(Object.keys(event?.details.tracking ?? {})).toEqual(Object.keys(zeroTracking))
    expect(await sumsOf(world.db, mail)).toMatchObject({ opens: 1, bot_opens: 0, opened: true })
  })

  it('answers the pixel for any path, without an event', async () => {
    const mail = await world.send()
    const paths = [forged(mail.open), mail.open.replace('.gif', '.png'), '/t/o/x.gif', '/t/o/x']
    paths.push('/t/o/', '/t/o/a/b.gif', `/t/o/${'x'.repeat(5_000)}.gif`)
    paths.push(mail.open.replace(/[^/]+\.gif/, `${mail.click(0).split('/').at(-1)}.gif`))
    for (const path of paths) {
      const answer = await world.get(path)
      expect([answer.statusCode, answer.rawPayload.length], path).toEqual([200, 43])
    }
    expect(await world.events(mail)).toEqual([])
  })

  it('records no hit for HEAD', async () => {
    const mail = await world.send()
    const answer = await world.get(mail.open, { method: 'HEAD' })
    expect(answer.statusCode).toBe(200)
    expect(answer.headers['content-length']).toBe('43')
    expect(await world.events(mail)).toEqual([])
    expect(await sumsOf(world.db, mail)).toBeUndefined()
  })

  it('answers the pixel for a removed email, without an event', async () => {
    const who = {
      tenantId: newId('tn'),
      refId: ulidAtTime(Date.parse('2020-01-01')),
      n: 0,
      link: 0,
    }
    const answer = await world.get(`/t/o/${tokens.make({ ...who, kind: 'open' })}.gif`)
    expect([answer.statusCode, answer.rawPayload.length]).toEqual([200, 43])
    expect(await world.events({ ...who, open: '', unsubscribe: '', click: () => '' })).toEqual([])
  })

  it.each([
    ['sec-purpose', 'prefetch;prerender'],
    ['purpose', 'Prefetch'],
    ['x-purpose', 'preview'],
    ['x-moz', 'prefetch'],
  ])('counts a prefetch as automated: %s: %s', async (name, value) => {
    const mail = await world.send()
    await world.get(mail.open, { headers: { 'user-agent': CHROME, [name]: value } })
    const [event] = await world.events(mail)
    expect(event?.details.tracking.bot).toBe(true)
    expect(await hitsOf(world.db, mail)).toMatchObject([{ kind: 'open', rule: 'prefetch' }])
    expect(await sumsOf(world.db, mail)).toMatchObject({ opens: 1, bot_opens: 1, opened: false })
  })

  it('reports long headers shortened', async () => {
    const mail = await world.send()
    await world.get(mail.open, { headers: { 'user-agent': 'x'.repeat(9_000) } })
    await world.get(mail.open, { headers: { 'user-agent': CHROME, 'x-moz': 'PREFETCH' } })
    const [first, second] = await hitsOf(world.db, mail)
    expect(first?.user_agent).toHaveLength(512)
    expect(second?.rule).toBe('prefetch')
  })

  it('counts an open before the first attempt and a click right after delivery as automated', async () => {
    const [early, soon] = [
      await world.send({ deliveredAgoMs: null }),
      await world.send({ deliveredAgoMs: 0 }),
    ]
    await world.get(early.open)
    await world.get(soon.click(0))
    expect(await hitsOf(world.db, early)).toMatchObject([{ rule: 'before_delivery' }])
    expect(await hitsOf(world.db, soon)).toMatchObject([{ rule: 'too_soon' }])
  })

  it('counts an open after an attempt as one by a person, also when it was delivered meanwhile', async () => {
    const mail = await world.send({ deliveredAgoMs: null })
    const set = (change: string) =>
      world.db.query(`update sending_recipient set ${change} where ref_id = $1`, [mail.refId])
    await world.get(mail.open)
    await set('attempts = 1')
    await world.get(mail.open)
    await set('attempts = 2, delivered_at = now()')
    await world.get(mail.open)
    const rules = (await hitsOf(world.db, mail)).map(({ rule }) => rule)
    expect(rules).toEqual(['before_delivery', null, 'too_soon'])
  })
})

describe('GET /t/c/{token}', () => {
  it('is judged by the state of delivery at its time', async () => {
    const mail = await world.send({ deliveredAgoMs: null })
    await world.get(mail.click(0))
    await world.db.query(
      `update sending_recipient set status = 'delivered', attempts = 1,
         delivered_at = now() - interval '1 minute' where ref_id = $1`,
      [mail.refId],
    )
    await world.get(mail.click(0))
    const rules = (await hitsOf(world.db, mail)).map(({ rule }) => rule)
    expect(rules).toEqual(['before_delivery', null])
    expect(await sumsOf(world.db, mail)).toMatchObject({ clicks: 2, bot_clicks: 1, clicked: true })
  })

  it('redirects to the URL as it stands in the email, and reports the click', async () => {
    const mail = await world.send()
    const answer = await world.get(`${mail.click(0)}?utm_source=x&fbclid=y`)
    expect(answer.statusCode).toBe(302)
    expect(answer.headers).toMatchObject({
      location: 'https://shop.example.com/?a=1&b=%20x',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
    })
    expect(answer.headers).not.toHaveProperty('set-cookie')
    expect(answer.payload).toBe('')
    const [event] = await world.events(mail)
    expect(event?.event).toBe('MAIL_CLICKED')
    expect(event?.details.tracking.url).toBe('https://shop.example.com/?a=1&b=%20x')
    expect(await sumsOf(world.db, mail)).toMatchObject({ clicks: 1, clicked: true, opens: 0 })
    expect(await hitsOf(world.db, mail)).toMatchObject([{ kind: 'click', link: 0, rule: null }])
  })

  it('redirects with a trailing slash as well', async () => {
    const mail = await world.send()
    expect((await world.get(`${mail.click(1)}/`)).headers.location).toBe('https://example.com/2')
    expect((await world.get(`${mail.unsubscribe}/`)).statusCode).toBe(200)
  })

  it('redirects to an internationalised host in ASCII, and reports it as written', async () => {
    const written = 'https://bücher.example/ä?q=ü'
    const content = [{ type: 'text/html', value: `<a href="${written}">x</a>` }] as const
    const mail = await world.send({ email: { content: [...content] } })
    const { location } = (await world.get(mail.click(0))).headers
    expect(location).toBe('https://xn--bcher-kva.example/%C3%A4?q=%C3%BC')
    const [event] = await world.events(mail)
    expect(event?.details.tracking.url).toBe(written)
  })

  it('answers the same 404 to every invalid token, without an event', async () => {
    const mail = await world.send()
    const other = mail.click(0).replace(/[^/]+$/, mail.open.slice(5, -4))
    const answers = await Promise.all(
      [
        forged(mail.click(0)),
        '/t/c/x',
        '/t/c/',
        '/t/c/x/y//',
        `/t/c/${'x'.repeat(2000)}`,
        other,
        `${mail.click(0)}A`,
      ].map((path) => world.get(path)),
    )
    for (const answer of answers) {
      expect(answer.statusCode).toBe(404)
      expect(answer.payload).toBe(answers[0]?.payload)
      expect(answer.headers).not.toHaveProperty('location')
    }
    expect(await world.events(mail)).toEqual([])
  })

  it('[fault T4] answers 410 for a removed email', async () => {
    const who = {
      tenantId: newId('tn'),
      refId: ulidAtTime(Date.parse('2020-01-01')),
      n: 0,
      link: 0,
    }
    const answer = await world.get(`/t/c/${tokens.make({ ...who, kind: 'click' })}`)
    expect(answer.statusCode).toBe(410)
  })

  it('does not redirect to a link that the email does not have, or to an email of another tenant', async () => {
    const mail = await world.send()
    expect((await world.get(mail.click(99))).statusCode).toBe(410)
    const stolen = tokens.make({ ...mail, tenantId: newId('tn'), link: 0, kind: 'click' })
    expect((await world.get(`/t/c/${stolen}`)).statusCode).toBe(410)
    expect(await world.events(mail)).toEqual([])
  })

  it('records no hit for HEAD, and redirects equally', async () => {
    const mail = await world.send()
    const answer = await world.get(mail.click(1), { method: 'HEAD' })
    expect([answer.statusCode, answer.headers.location]).toEqual([302, 'https://example.com/2'])
    expect(await world.events(mail)).toEqual([])
  })

  it('counts three different links in quick succession as automated, the first two included', async () => {
    const mail = await world.send()
    for (const link of [0, 1, 2, 3]) await world.get(mail.click(link))
    const events = await world.events(mail)
    expect(events.map(({ details }) => details.tracking.bot)).toEqual([false, false, true, true])
    const hits = await hitsOf(world.db, mail)
    expect(hits.map(({ rule }) => rule)).toEqual(Array(4).fill('links_at_once'))
    expect(await sumsOf(world.db, mail)).toMatchObject({ clicks: 4, bot_clicks: 4, clicked: false })
  })

  it('counts repeated clicks on one link as clicks by a person', async () => {
    const mail = await world.send()
    for (const link of [1, 1, 1, 1]) await world.get(mail.click(link))
    expect(await sumsOf(world.db, mail)).toMatchObject({ clicks: 4, bot_clicks: 0, clicked: true })
  })
})

describe('/t/u/{token}', () => {
  const suppressionOf = async (tenantId: string) => {
    const { rows } = await world.db.query<{ email: string; reason: string }>(
      'select email, reason from suppressions_address where tenant_id = $1',
      [tenantId],
    )
    return rows
  }
  const post = (url: string, payload = 'List-Unsubscribe=One-Click', type?: string) =>
    world.get(url, {
      method: 'POST',
      payload,
      headers: { 'content-type': type ?? 'application/x-www-form-urlencoded' },
    })

  it('GET asks in the language of the reader, on a page without a script, and changes nothing', async () => {
    const mail = await world.send()
    const answer = await world.get(mail.unsubscribe, {
      headers: { 'accept-language': 'xx, de-CH;q=0.9, en;q=0.8' },
    })
    expect(answer.statusCode).toBe(200)
    expect(answer.payload).toContain('<html lang="de">')
    expect(answer.payload).toContain('<button type="submit">Abmelden</button>')
    expect(answer.payload).toContain('<form method="post">')
    expect(answer.payload).not.toMatch(/<script|https?:/)
    expect(answer.headers['content-security-policy']).toMatch(
      /^default-src 'none'; style-src 'sha256-[^']+'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'$/,
    )
    expect(answer.headers).toMatchObject({
      'referrer-policy': 'no-referrer',
      'x-robots-tag': 'noindex, nofollow',
      'cache-control': 'no-store',
    })
    expect(await suppressionOf(mail.tenantId)).toEqual([])
    expect(await world.events(mail)).toEqual([])
  })

  it('[RFC 8058] POST suppresses the address, and reports that once', async () => {
    const mail = await world.send({ email: { to: [{ email: 'Ada@Example.com' }] } })
    const answers = [await post(mail.unsubscribe), await post(mail.unsubscribe)]
    for (const answer of answers) {
      expect(answer.statusCode).toBe(200)
      expect(answer.payload).toContain(pageTexts.en?.unsubscribed.title)
    }
    const email = 'Ada@Example.com'
    expect(await suppressionOf(mail.tenantId)).toEqual([{ email, reason: 'unsubscribed' }])
    const events = await world.events(mail)
    expect(events).toHaveLength(1)
    expect(events[0]).toMatchObject({
      event: 'MAIL_UNSUBSCRIBED',
      success: true,
      details: { email: [email], tracking: { ip: '127.0.0.1', bot: false } },
    })
    expect(events[0]?.details.tracking).not.toHaveProperty('url')
    expect(await sumsOf(world.db, mail)).toMatchObject({ unsubscribed: true, opens: 0 })
    expect(await hitsOf(world.db, mail)).toHaveLength(1)
  })

  it('concurrent POSTs report it once', async () => {
    const mail = await world.send()
    const answers = await Promise.all(Array.from({ length: 20 }, () => post(mail.unsubscribe)))
    expect(answers.map(({ statusCode }) => statusCode)).toEqual(Array(20).fill(200))
    expect(await world.events(mail)).toHaveLength(1)
  })

  it('POST reports it again when the address was resubscribed meanwhile', async () => {
    const mail = await world.send()
    await post(mail.unsubscribe)
    await world.db.query('delete from suppressions_address where tenant_id = $1', [mail.tenantId])
    await post(mail.unsubscribe)
    expect(await suppressionOf(mail.tenantId)).toHaveLength(1)
    expect(await world.events(mail)).toHaveLength(2)
  })

  it('POST is reported whenever it changes something, however often it was repeated before', async () => {
    const mail = await world.send()
    const before = Array.from({ length: hitsAnHourMax + 5 }, () => post(mail.unsubscribe))
    await Promise.all(before)
    expect(await world.events(mail)).toHaveLength(1)
    await world.db.query('delete from suppressions_address where tenant_id = $1', [mail.tenantId])
    const answers = await Promise.all([post(mail.unsubscribe), post(mail.unsubscribe)])
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([200, 200])
    expect(await suppressionOf(mail.tenantId)).toHaveLength(1)
    expect(await world.events(mail)).toHaveLength(2)
  })

  it('POST keeps the reason of an address that has complained', async () => {
    const mail = await world.send()
    await world.db.query(
      `insert into suppressions_address (tenant_id, email_key, email, reason, id)
       values ($1, 'ada@example.com', 'ada@example.com', 'complained', $2)`,
      [mail.tenantId, newUlid()],
    )
    await post(mail.unsubscribe)
    expect(await suppressionOf(mail.tenantId)).toMatchObject([{ reason: 'complained' }])
    expect(await world.events(mail)).toHaveLength(1)
  })

  it.each([
    ['a form of several parts', 'multipart/form-data; boundary=x'],
    ['text', 'text/plain'],
    ['JSON', 'application/json'],
    ['what no program calls itself', 'one click'],
  ])('POST accepts %s', async (_what, type) => {
    const mail = await world.send()
    expect((await post(mail.unsubscribe, 'List-Unsubscribe=One-Click', type)).statusCode).toBe(200)
    expect(await suppressionOf(mail.tenantId)).toHaveLength(1)
  })

  it('POST refuses more than a form', async () => {
    const mail = await world.send()
    expect((await post(mail.unsubscribe, 'x'.repeat(20_000))).statusCode).toBe(413)
    expect(await suppressionOf(mail.tenantId)).toEqual([])
  })

  it('answers 404 to an invalid token', async () => {
    const mail = await world.send()
    for (const path of [forged(mail.unsubscribe), mail.click(0).replace('/c/', '/u/')]) {
      expect((await world.get(path)).statusCode).toBe(404)
      expect((await post(path)).statusCode).toBe(404)
    }
    expect(await suppressionOf(mail.tenantId)).toEqual([])
  })

  /** As retention does. */
  const forget = async ({ refId }: TrackedMail) => {
    for (const table of ['sending_email', 'sending_recipient', 'sending_link'])
      await world.db.query(`delete from ${table} where ref_id = $1`, [refId])
  }

  it('suppresses no address of a removed email without an unsubscribe link', async () => {
    const mail = await world.send({ email: { settings: { open_tracking: true } } })
    await forget(mail)
    expect((await post(mail.unsubscribe)).statusCode).toBe(410)
    expect(await suppressionOf(mail.tenantId)).toEqual([])
  })

  it('works for each recipient of a removed email, without an event', async () => {
    const to = [{ email: 'a@example.com' }, { email: 'B@Example.com' }]
    const mail = await world.send({ email: { to }, n: 1 })
    await forget(mail)
    expect((await post(mail.unsubscribe)).statusCode).toBe(200)
    expect((await post(mail.unsubscribe)).statusCode).toBe(200)
    expect(await suppressionOf(mail.tenantId)).toEqual([
      { email: 'B@Example.com', reason: 'unsubscribed' },
    ])
    expect(await world.events(mail)).toEqual([])
  })

  it('answers 410 for an email whose recipients were removed as well', async () => {
    const who = {
      tenantId: newId('tn'),
      refId: ulidAtTime(Date.parse('2020-01-01')),
      n: 0,
      link: 0,
    }
    const url = `/t/u/${tokens.make({ ...who, kind: 'unsubscribe' })}`
    expect((await post(url)).statusCode).toBe(410)
    // Nor is there a button for it.
    const page = await world.get(url)
    expect(page.statusCode).toBe(410)
    expect(page.payload).not.toContain('<button')
  })
})

it.each([
  ['/t/o/%00.gif', 200, 'image/gif'],
  ['/t/o/x.gif?y=%00', 200, 'image/gif'],
  ['/t/o/%ZZ.gif', 200, 'image/gif'],
  ['/t/o/%c3.gif?a=%', 200, 'image/gif'],
  ['/t/c/%00', 404, 'text/html'],
  ['/t/c/%', 404, 'text/html'],
  ['/t/c/%FF?b#%ZZ', 404, 'text/html'],
  ['/t/u/%2', 404, 'text/html'],
  ['/t/u/%00', 404, 'text/html'],
])('answers %s like any invalid token', async (url, status, type) => {
  const answer = await world.get(url)
  expect(answer.statusCode).toBe(status)
  expect(answer.headers['content-type']).toContain(type)
})

it('redirects whatever was appended to the link', async () => {
  const mail = await world.send()
  expect((await world.get(`${mail.click(0)}?utm=%00`)).statusCode).toBe(302)
})

it('[5, trusted proxies] trusts X-Forwarded-For of the trusted proxies only', async () => {
  const mail = await world.send()
  const headers = { 'user-agent': CHROME, 'x-forwarded-for': '192.0.2.9, 203.0.113.7' }
  await world.get(mail.open, { headers })
  const behind = await world.another({ trustedProxies: ['127.0.0.0/8'] })
  await behind.app.inject({ url: mail.open, headers })
  const hits = await hitsOf(world.db, mail)
  expect(hits.map(({ ip }) => ip)).toEqual(['127.0.0.1', '203.0.113.7'])
})

it('counts the outcomes of requests', async () => {
  const mail = await world.send()
  await world.get(mail.open)
  await world.get(forged(mail.click(0)))
  const text = await world.metrics.registry.metrics()
  expect(text).toContain('postrider_tracking_hits_total{kind="open",result="recorded"} 1')
  expect(text).toContain('postrider_tracking_hits_total{kind="click",result="forged"} 1')
  expect(text).toContain('postrider_tracking_hits_total{kind="unsubscribe",result="recorded"} 0')
  expect(text).toContain('postrider_tracking_group_size_count 1')
})
