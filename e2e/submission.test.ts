/** Mail that programs hand in over SMTP, from the login to the server that it goes to. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import {
  createScene,
  createSubmissionWorld,
  FROM,
  greet,
  greetOverTls,
  lines,
  logIn,
  plainToken,
  refOf,
  type SubmissionWorld,
  submit,
} from './submission-scene.ts'

let world: SubmissionWorld
beforeAll(async () => {
  world = await createSubmissionWorld()
  await world.start()
})
afterEach(() => world.closePeers())
afterAll(() => world.destroy())

const HEADER = [
  `From: The News <${FROM}>`,
  'To: Ada <ada@example.test>',
  'Subject: Hello',
  'Message-ID: <one@sender.test>',
  'Date: Thu, 26 Nov 2026 10:00:00 +0100',
]
const message = (...more: readonly string[]) =>
  lines(...HEADER, ...more, '', 'Hello Ada', '.', '..')

describe('[contract 8] a login', () => {
  it('is an API key as the password, with any user name or none, by PLAIN or LOGIN', async () => {
    const { apiKey } = await createScene(world)
    const encode = (text: string) => Buffer.from(text).toString('base64')
    for (const user of ['postrider', '']) {
      const plain = await greet(world.port)
      expect(await plain.ask(`AUTH PLAIN ${plainToken(apiKey, user)}`)).toMatch(/^235 2\.7\.0 /)
      const login = await greet(world.port)
      expect(await login.ask('AUTH LOGIN')).toBe('334 VXNlcm5hbWU6\r\n')
      expect(await login.ask(encode(user))).toBe('334 UGFzc3dvcmQ6\r\n')
      expect(await login.ask(encode(apiKey))).toMatch(/^235 2\.7\.0 /)
      for (const client of [plain, login]) client.close()
    }
  })

  it('is refused with a wrong key, and with a key that may not send', async () => {
    const { apiKey, client: api } = await createScene(world)
    const { api_key: reader } = await api.createKey({ name: 'reader', scopes: ['read'] })
    const client = await greet(world.port)
    const wrong = `${apiKey.slice(0, -1)}${apiKey.endsWith('a') ? 'b' : 'a'}`
    expect(await client.ask(`AUTH PLAIN ${plainToken(wrong)}`)).toMatch(/^535 5\.7\.8 /)
    expect(await client.ask(`AUTH PLAIN ${plainToken(reader)}`)).toMatch(/^535 5\.7\.8 .*"send"/)
    expect(await client.ask(`MAIL FROM:<${FROM}>`)).toMatch(/^530 5\.7\.0 /)
    client.close()
  })

  it('ends with its key: a revoked one sends no more', async () => {
    const { client: api } = await createScene(world)
    const { api_key: key, key_id: keyId } = await api.createKey({ name: 'short', scopes: ['send'] })
    const client = await logIn(world.port, key)
    expect(await submit(client, message())).toMatch(/^250 /)
    await api.revokeKey(keyId)
    expect(await submit(client, message())).toMatch(/^535 5\.7\.8 /)
    await client.end()
  })

  it('is possible over STARTTLS, and over TLS from the first byte', async () => {
    const { apiKey, smtp } = await createScene(world)
    const plain = await greet(world.port)
    expect(await plain.ask('STARTTLS')).toMatch(/^220 /)
    const upgraded = await plain.startTls({ rejectUnauthorized: false })
    await upgraded.ask('EHLO client.test')
    const secure = await greetOverTls(world.tlsPort)
    for (const client of [upgraded, secure]) {
      expect(await client.ask(`AUTH PLAIN ${plainToken(apiKey)}`)).toMatch(/^235 /)
      expect(await submit(client, message())).toMatch(/^250 /)
      client.close()
    }
    await smtp.waitForMessages(2)
  })
})

describe('[contract 8] a message', () => {
  it('goes out byte for byte, with the reference of its 250 in the record', async () => {
    const { apiKey, client: api, smtp, mailerId } = await createScene(world)
    const client = await logIn(world.port, apiKey)
    const refId = refOf(await submit(client, message()))
    const [sent] = await smtp.waitForMessages(1)
    expect(sent?.raw.toString()).toBe(message())
    const { email } = await api.getEmail(refId)
    expect(email).toMatchObject({ from: FROM, subject: 'Hello', mailer_id: mailerId })
    expect(email.recipients).toMatchObject([
      { email: 'ada@example.test', type: 'to', message_id: '<one@sender.test>' },
    ])
    expect(await new Response((await api.getRawEmail(refId)) as never).text()).toBe(message())
    client.close()
  })

  it('has recipients by its envelope, and hides those that stand in neither To nor Cc', async () => {
    const { apiKey, client: api, smtp } = await createScene(world)
    const client = await logIn(world.port, apiKey)
    const to = ['ada@example.test', 'bob@example.test', 'cy@example.test', 'ADA@example.test']
    const raw = message('Cc: Cy <CY@example.test>', 'Bcc: bob@example.test', 'X-Kept: yes')
    const refId = refOf(await submit(client, raw, to))
    const sent = await smtp.waitForMessages(3)
    expect(sent.map(({ recipients: [only] }) => only?.toLowerCase()).sort()).toEqual(to.slice(0, 3))
    for (const one of sent) {
      expect(one.raw.toString()).toBe(raw.replace('Bcc: bob@example.test\r\n', ''))
    }
    const { email } = await api.getEmail(refId)
    expect(email.recipients.map(({ email: one, type }) => [one.toLowerCase(), type])).toEqual([
      ['ada@example.test', 'to'],
      ['cy@example.test', 'cc'],
      ['bob@example.test', 'bcc'],
    ])
    client.close()
  })

  it('gets a Message-ID and a Date where it has none', async () => {
    const { apiKey, client: api, smtp } = await createScene(world)
    const client = await logIn(world.port, apiKey)
    const raw = lines(`From: ${FROM}`, 'Subject: Bare', '', 'Hello')
    const refId = refOf(await submit(client, raw))
    const [sent] = await smtp.waitForMessages(1)
    expect(sent?.raw.toString()).toMatch(
      /^Message-ID: <.*@sender\.test>\r\nDate: .* \+0000\r\nFrom: /,
    )
    expect(sent?.raw.toString()).toContain(raw)
    const { email } = await api.getEmail(refId)
    expect(sent?.raw.toString()).toContain(`Message-ID: ${email.recipients[0]?.message_id}\r\n`)
    client.close()
  })

  it('may come in chunks, of any size', async () => {
    const { apiKey, smtp } = await createScene(world)
    const client = await greet(world.port)
    expect(await client.ask('EHLO again.test')).toContain('CHUNKING\r\n')
    await client.ask(`AUTH PLAIN ${plainToken(apiKey)}`)
    await client.ask(`MAIL FROM:<${FROM}>`)
    await client.ask('RCPT TO:<ada@example.test>')
    const raw = message()
    client.send(`BDAT 20\r\n${raw.slice(0, 20)}`)
    expect(await client.see(/\r\n/)).toMatch(/^250 2\.0\.0 /)
    client.send(`BDAT ${raw.length - 20}\r\n${raw.slice(20)}BDAT 0 LAST\r\nNOOP\r\n`)
    expect(await client.see(/^250 .*\r\n250 2\.0\.0 Ok: queued as .*\r\n250 .*\r\n/)).toBeTruthy()
    const [sent] = await smtp.waitForMessages(1)
    expect(sent?.raw.toString()).toBe(raw)
    client.close()
  })

  it('in chunks is answered at its end, also where it was refused before', async () => {
    const { apiKey } = await createScene(world)
    const client = await logIn(world.port, apiKey)
    await client.ask(`MAIL FROM:<${FROM}>`)
    client.send('BDAT 5 LAST\r\nhello')
    expect(await client.see(/\r\n/)).toMatch(/^503 /)
    await client.ask('RCPT TO:<ada@example.test>')
    client.send('BDAT 12\r\nno field her')
    expect(await client.see(/\r\n/)).toMatch(/^250 /)
    client.send('BDAT 3 LAST\r\ne\r\n')
    expect(await client.see(/\r\n/)).toMatch(/^550 5\.6\.0 .*no field her/)
    expect(await client.ask(`MAIL FROM:<${FROM}>`)).toMatch(/^250 /)
    client.close()
  })

  it('of 36 MB goes out byte for byte', { timeout: 120_000 }, async () => {
    const { apiKey, smtp } = await createScene(world)
    const client = await logIn(world.port, apiKey)
    const base64 = `${'x'.repeat(76)}\r\n`.repeat(480_000)
    const raw =
      lines(
        ...HEADER,
        'MIME-Version: 1.0',
        'Content-Type: multipart/mixed; boundary=b',
        '',
        '--b',
        '',
        'See the file.',
        '--b',
        'Content-Type: application/octet-stream; name=a.bin',
        'Content-Transfer-Encoding: base64',
        '',
      ) +
      base64 +
      lines('--b--')
    await client.ask(`MAIL FROM:<${FROM}>`)
    await client.ask('RCPT TO:<ada@example.test>')
    await client.ask('DATA')
    client.send(`${raw}.\r\n`)
    const [sent] = await smtp.waitForMessages(1, 90_000)
    expect(sent?.raw.equals(Buffer.from(raw))).toBe(true)
    expect(await client.see(/\r\n/)).toMatch(/^250 /)
    client.close()
  })
})

describe('[contract 8] a control field', () => {
  it('means what the field of sendEmail means, and is taken out', async () => {
    const { apiKey, client: api, smtp } = await createScene(world)
    const client = await logIn(world.port, apiKey)
    const raw = message(
      'X-Postrider-Campaign: spring',
      'X-Postrider-Args: {"order":',
      ' 17}',
      'X-Postrider-Max-Attempts: 3',
      'X-Postrider-Expires-In: 6h',
      'X-Postrider-Whatever: goes',
      'X-Other: stays',
    )
    const refId = refOf(await submit(client, raw))
    const [sent] = await smtp.waitForMessages(1)
    expect(sent?.raw.toString()).toBe(message('X-Other: stays'))
    const { email } = await api.getEmail(refId)
    expect(email).toMatchObject({ campaign_id: 'spring', custom_args: { order: 17 } })
    client.close()
  })

  it.each([
    ['X-Postrider-Args: [1]', 'X-Postrider-Args'],
    ['X-Postrider-Args: {', 'X-Postrider-Args'],
    ['X-Postrider-Track: opens, replies', 'X-Postrider-Track'],
    ['X-Postrider-Send-At: tomorrow', 'X-Postrider-Send-At'],
    ['X-Postrider-Send-At: 2020-01-01T00:00:00Z', 'X-Postrider-Send-At'],
    ['X-Postrider-Max-Attempts: 21', 'X-Postrider-Max-Attempts'],
    ['X-Postrider-Max-Attempts: many', 'X-Postrider-Max-Attempts'],
    ['X-Postrider-Expires-In: soon', 'X-Postrider-Expires-In'],
    ['X-Postrider-Template-Data: "x"', 'X-Postrider-Template-Data'],
    ['X-Postrider-Campaign: a\r\nX-Postrider-Campaign: b', 'X-Postrider-Campaign'],
  ])('that does not fit is named: %s', async (field, name) => {
    const { apiKey } = await createScene(world)
    const client = await logIn(world.port, apiKey)
    const reply = await submit(client, message(...field.split('\r\n')))
    expect(reply).toMatch(/^550 5\.6\.0 /)
    expect(reply).toContain(name)
    client.close()
  })

  it('makes a message sent once, however often it is handed in', async () => {
    const { apiKey, smtp } = await createScene(world)
    const client = await logIn(world.port, apiKey)
    const keyed = (text: string, id: string) =>
      lines(
        `From: ${FROM}`,
        `Message-ID: <${id}@a.test>`,
        'X-Postrider-Idempotency-Key: k1',
        '',
        text,
      )
    const first = refOf(await submit(client, keyed('Hello', 'a')))
    expect(refOf(await submit(client, keyed('Hello', 'b')))).toBe(first)
    expect(await submit(client, keyed('Goodbye', 'c'))).toMatch(/^550 5\.6\.0 /)
    // To others it is another message: the first was not sent to them.
    expect(await submit(client, keyed('Hello', 'd'), ['bob@example.test'])).toMatch(/^550 5\.6\.0 /)
    await smtp.waitForMessages(1)
    expect(await submit(client, message())).toMatch(/^250 /)
    expect(await smtp.waitForMessages(2)).toHaveLength(2)
    client.close()
  })

  it('sends later', async () => {
    const { apiKey, client: api } = await createScene(world)
    const client = await logIn(world.port, apiKey)
    const sendAt = new Date(Date.now() + 3_600_000).toISOString()
    const refId = refOf(await submit(client, message(`X-Postrider-Send-At: ${sendAt}`)))
    const { email } = await api.getEmail(refId)
    expect(email.recipients).toMatchObject([{ status: 'scheduled' }])
    client.close()
  })
})

const ALTERNATIVE = ['MIME-Version: 1.0', 'Content-Type: multipart/alternative; boundary="b"']
const html = '<p>Gr=C3=BC=C3=9Fe <a href=3D"https://a.example/">here</a></p>'
const alternative = (...more: readonly string[]) =>
  lines(
    ...HEADER,
    ...ALTERNATIVE,
    ...more,
    '',
    'A preamble',
    '--b',
    'Content-Type: text/plain; charset=iso-8859-1',
    'Content-Transfer-Encoding: quoted-printable',
    '',
    'Gr=FC=DFe',
    '--b',
    'Content-Type: text/html; charset=utf-8',
    'X-Part: stays',
    'Content-Transfer-Encoding: quoted-printable',
    '',
    html,
    '--b--',
  )

describe('[contract 8] tracking', () => {
  it('changes the HTML part alone', async () => {
    const { apiKey, smtp } = await createScene(world)
    const client = await logIn(world.port, apiKey)
    const track = 'X-Postrider-Track: opens,clicks'
    expect(await submit(client, alternative(track))).toMatch(/^250 2\.0\.0 Ok: queued as \w+\r\n$/)
    const [sent] = await smtp.waitForMessages(1)
    const got = sent?.raw.toString() ?? ''
    const untouched = alternative()
    const at = untouched.indexOf('X-Part')
    const before = untouched.slice(0, untouched.lastIndexOf('Content-Type: text/html'))
    expect(got.startsWith(before)).toBe(true)
    expect(got.slice(before.length)).toContain('X-Part: stays\r\n')
    expect(got.endsWith('\r\n--b--\r\n')).toBe(true)
    const body = got.slice(got.indexOf('\r\n\r\n', at)).replaceAll('=\r\n', '')
    expect(body).toContain('Gr=C3=BC=C3=9Fe')
    expect(body).toContain('/t/c/')
    expect(body).toContain('/t/o/')
    expect(body).not.toContain('https://a.example/')
    client.close()
  })

  it('adds the header fields that unsubscribe', async () => {
    const { apiKey, smtp } = await createScene(world)
    const client = await logIn(world.port, apiKey)
    expect(await submit(client, message('X-Postrider-Track: unsubscribe'))).toMatch(/^250 /)
    const [sent] = await smtp.waitForMessages(1)
    const got = sent?.raw.toString() ?? ''
    expect(got).toMatch(/^List-Unsubscribe:\s+<http/)
    expect(got).toContain('List-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n')
    expect(got.endsWith(message())).toBe(true)
    client.close()
  })

  it('is left out of a signed message, and the 250 says so', async () => {
    const { apiKey, smtp } = await createScene(world)
    const client = await logIn(world.port, apiKey)
    const signed = (...more: readonly string[]) =>
      alternative(...more).replace(
        'multipart/alternative',
        'multipart/signed; protocol="application/pgp-signature"; micalg=pgp-sha256',
      )
    const reply = await submit(client, signed('X-Postrider-Track: opens,clicks,unsubscribe'))
    expect(reply).toMatch(/^250 2\.0\.0 Ok: queued as \w+ \(left out: tracking: .*signed/)
    const [sent] = await smtp.waitForMessages(1)
    expect(sent?.raw.toString()).toBe(signed())
    client.close()
  })

  it('comes after templates, which all parts are rendered as', async () => {
    const { apiKey, smtp } = await createScene(world)
    const client = await logIn(world.port, apiKey)
    const raw = alternative(
      'X-Postrider-Template-Data: {"name":"Ada"}',
      'X-Postrider-Track: opens',
    ).replaceAll(/Gr=\w\w=\w\we|Gr=C3=BC=C3=9Fe/g, 'Dear {{ name }}')
    expect(await submit(client, raw.replace('Subject: Hello', 'Subject: For {{ name }}'))).toMatch(
      /^250 /,
    )
    const [sent] = await smtp.waitForMessages(1)
    const got = sent?.raw.toString() ?? ''
    expect(got).toContain('Subject: For Ada\r\n')
    expect(got.match(/Dear Ada/g)).toHaveLength(2)
    expect(got).toContain('/t/o/')
    client.close()
  })
})

describe('[contract 8] a refusal', () => {
  it.each([
    ['without From', lines('To: a@example.test', '', 'x'), /^550 5\.6\.0 .*From/],
    [
      'with several authors',
      lines(`From: ${FROM}, b@sender.test`, '', 'x'),
      /^550 5\.6\.0 .*several authors/,
    ],
    [
      'with From twice',
      lines(`From: ${FROM}`, `From: ${FROM}`, '', 'x'),
      /^550 5\.6\.0 .*from twice/,
    ],
    ['with a byte order mark', `\u00ef\u00bb\u00bf${message()}`, /^550 5\.6\.0 .*byte order mark/],
    ['with a bare LF', message().replace('Ada\r\n.', 'Ada\n.'), /^550 5\.6\.0 .*bare/],
    ['with a NUL', message().replace('Hello Ada', 'Hello\0Ada'), /^550 5\.6\.0 .*NUL/],
    ['with a folded name', message('X-A', ' : b'), /^550 5\.6\.0 .*no field/],
    [
      'with a Message-ID without end',
      message().replace('one@', `${'x'.repeat(2_000)}@`),
      /^550 5\.6\.0 .*Message-ID/,
    ],
    [
      'from an address without a mailer',
      message().replace(FROM, 'who@sender.test'),
      /^550 5\.7\.1 /,
    ],
  ])('answers a message %s', async (_what, raw, expected) => {
    const { apiKey } = await createScene(world)
    const client = await logIn(world.port, apiKey)
    client.socket.setDefaultEncoding('latin1')
    expect(await submit(client, raw)).toMatch(expected)
    expect(await submit(client, message())).toMatch(/^250 /)
    client.close()
  })

  it('answers a mailer that is not active, a suspended tenant, a quota and a size', async () => {
    const { apiKey, client: api, mailerId, tenantId } = await createScene(world)
    const client = await logIn(world.port, apiKey)
    await api.setMailerActive({ mailer_id: mailerId, active: false })
    expect(await submit(client, message())).toMatch(/^550 5\.7\.1 /)
    await api.setMailerActive({ mailer_id: mailerId, active: true })
    expect(await client.ask(`MAIL FROM:<${FROM}> SIZE=99999999`)).toMatch(/^552 5\.3\.4 /)
    const operator = world.operator()
    await operator.updateTenant(tenantId, { quotas: { emails_per_day: 1 } })
    expect(await submit(client, message())).toMatch(/^250 /)
    expect(await submit(client, message())).toMatch(/^451 4\.7\.1 .*emails_per_day/)
    await operator.updateTenant(tenantId, { state: 'suspended' })
    expect(await submit(client, message())).toMatch(/^550 5\.7\.1 /)
    client.close()
  })

  it('answers an address that is none', async () => {
    const { apiKey } = await createScene(world)
    const client = await logIn(world.port, apiKey)
    expect(await submit(client, message(), ['ada@localhost'])).toMatch(/^553 5\.1\.3 /)
    client.close()
  })

  it('of many messages on one connection says what there was too much of', async () => {
    const { apiKey } = await createScene(world)
    const client = await logIn(world.port, apiKey)
    const bad = message().replace(FROM, 'who@sender.test')
    let reply = ''
    for (let i = 0; i < 102 && !reply.startsWith('421'); i++) reply = await submit(client, bad)
    expect(reply).toMatch(/^421 4\.7\.0 Too many refused messages/)
  })
})
