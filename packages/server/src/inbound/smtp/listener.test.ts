import { createRawClient } from '@postrider/testkit'
import { describe, expect, it } from 'vitest'
import { smuggled, smugglers } from '../../../../mail/test/smugglers.ts'
import { sendData, useListeners } from './listener.fixture.ts'

const start = useListeners()

const MESSAGE = 'From: ada@sender.test\r\nSubject: one\r\n\r\nHello\r\n'
const bodyOf = (raw: Buffer | undefined) =>
  raw?.toString().split('\r\n\r\n').slice(1).join('\r\n\r\n')

describe('[contract 3.5] a conversation', () => {
  it('offers its extensions, and no login', async () => {
    const { open, port } = await start()
    const greeting = await createRawClient(port).see(/\r\n/)
    expect(greeting).toBe('220 mx.postrider.test ESMTP\r\n')
    const offered = await (await open()).ask('EHLO client.test')
    expect(offered.replaceAll('\r', '').split('\n')).toEqual([
      '250-mx.postrider.test',
      '250-PIPELINING',
      '250-8BITMIME',
      '250-SMTPUTF8',
      '250-ENHANCEDSTATUSCODES',
      '250-STARTTLS',
      '250 SIZE 1048576',
      '',
    ])
    expect(await (await open()).ask('AUTH PLAIN AGEAYg==')).toMatch(/^500 /)
  })

  it('answers with the id when the message is stored', async () => {
    const commit = Promise.withResolvers<{ inboundIds: string[] }>()
    const asked = Promise.withResolvers<void>()
    const { openFor } = await start({
      store() {
        asked.resolve()
        return commit.promise
      },
    })
    const client = await openFor('support@routed.test')
    const answer = sendData(client, MESSAGE)
    await asked.promise
    expect(client.unread()).toBe('')
    commit.resolve({ inboundIds: ['in_7'] })
    expect(await answer).toBe('250 2.0.0 queued as in_7\r\n')
  })

  it('stores the envelope, and trace lines before the message', async () => {
    const { openFor, stored } = await start()
    const client = await openFor('Support@Routed.test')
    expect(await sendData(client, MESSAGE)).toBe('250 2.0.0 queued as in_1\r\n')
    const mail = stored[0]
    expect(mail?.envelope).toEqual({
      from: 'ada@sender.test',
      to: ['Support@routed.test'],
      remoteIp: '127.0.0.1',
      helo: 'client.test',
      isTls: false,
    })
    expect(mail?.raw.toString()).toMatch(
      /^Return-Path: <ada@sender\.test>\r\nReceived: from client\.test \(\[127\.0\.0\.1\]\)\r\n\tby mx\.postrider\.test \(Postrider\) with ESMTP id \w+\.1\r\n\tfor <Support@routed\.test>;\r\n\t\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d \+0000\r\nFrom: /,
    )
    expect(mail?.raw.toString()).toMatch(
      /\+0000\r\nFrom: ada@sender\.test\r\nSubject: one\r\n\r\nHello\r\n$/,
    )
  })

  it('accepts reports with an empty sender', async () => {
    const { open, stored } = await start()
    const client = await open()
    await client.ask('MAIL FROM:<>')
    await client.ask('RCPT TO:<support@routed.test>')
    expect(await sendData(client, MESSAGE)).toMatch(/^250 /)
    expect(stored[0]?.envelope.from).toBe('')
    expect(stored[0]?.raw.toString()).toMatch(/^Return-Path: <>\r\n/)
  })

  it('divides recipients by their routes, and shows none of the others', async () => {
    const { openFor, stored } = await start()
    const client = await openFor('a@routed.test', 'b@other.test', 'c@routed.test', 'A@routed.test')
    await sendData(client, MESSAGE)
    expect(stored[0]?.routes.map(({ route, to }) => [route.tenantId, to])).toEqual([
      ['tn_one', ['A@routed.test', 'c@routed.test']],
      ['tn_other', ['b@other.test']],
    ])
    expect(stored[0]?.raw.toString()).not.toContain('other.test')
  })

  it('keeps SMTPUTF8, IDN and eight-bit text as they are', async () => {
    const { open, stored } = await start()
    const client = await open()
    client.send(Buffer.from('MAIL FROM:<jörg@bücher.test> SMTPUTF8 BODY=8BITMIME\r\n'))
    await client.see(/250/)
    client.send(Buffer.from('RCPT TO:<müller@routed.test>\r\n'))
    await client.see(/250/)
    expect(await sendData(client, Buffer.from('Subject: ü\r\n\r\n\xff\xfe', 'latin1'))).toMatch(
      /^250/,
    )
    expect(stored[0]?.envelope).toMatchObject({
      from: 'jörg@xn--bcher-kva.test',
      to: ['müller@routed.test'],
    })
    expect(stored[0]?.raw.subarray(-4)).toEqual(Buffer.from('\xff\xfe\r\n', 'latin1'))
    expect(stored[0]?.raw.toString()).toContain('with UTF8SMTP id')
  })

  it('accepts further messages, each by itself', async () => {
    const { openFor, stored } = await start()
    const client = await openFor('a@routed.test')
    await sendData(client, MESSAGE)
    expect(await client.ask('RCPT TO:<b@routed.test>')).toMatch(/^503 /)
    await client.ask('MAIL FROM:<bob@sender.test>')
    await client.ask('RCPT TO:<b@routed.test>')
    expect(await sendData(client, MESSAGE)).toMatch(/in_2/)
    expect(stored.map(({ envelope }) => [envelope.from, ...envelope.to])).toEqual([
      ['ada@sender.test', 'a@routed.test'],
      ['bob@sender.test', 'b@routed.test'],
    ])
    expect(await client.ask('QUIT')).toMatch(/^221 /)
  })

  it.each([
    ['a@elsewhere.test', 'unknown_domain'],
    ['a@unproven.test', 'unproven_domain'],
    ['a@unsure.test', 'unsure_domain'],
    ['Nobody@Routed.test', 'unknown_user'],
  ])('logs that %s was refused, and why: %s', async (recipient, why) => {
    const { open, log } = await start()
    const client = await open()
    await client.ask('MAIL FROM:<ada@sender.test>')
    await client.ask('RCPT TO:<a@routed.test>')
    await client.ask(`RCPT TO:<${recipient}>`)
    const refused = log()
      .split('\n')
      .filter((line) => line.includes('inbound_recipient.refused'))
      .map((line) => JSON.parse(line))
    const { 0: line, length } = refused
    expect(length).toBe(1)
    expect(line).toMatchObject({
      level: 'info',
      remote_ip: '127.0.0.1',
      from: 'ada@sender.test',
      why,
    })
    expect(line.recipient.toLowerCase()).toBe(recipient.toLowerCase())
    expect(line.connection_id).toMatch(/^\w+$/)
  })

  it('logs a bounded number of refused recipients of a connection', async () => {
    const { open, log } = await start({ limits: { refusedRecipientsMax: 2 } })
    const client = await open()
    await client.ask('MAIL FROM:<ada@sender.test>')
    for (let i = 0; i < 6; i++) expect(await client.ask('RCPT TO:<a@unsure.test>')).toMatch(/^451/)
    expect(log().match(/inbound_recipient\.refused/g)).toHaveLength(2)
  })

  it('is counted, and logged in one line, whatever the peer says', async () => {
    const { openFor, log, metrics } = await start()
    const client = await openFor('a@routed.test')
    expect(await client.ask('EHLO evil","level":"fatal"')).toMatch(/^250/)
    await client.ask('MAIL FROM:<ada@sender.test>')
    await client.ask('RCPT TO:<nobody@routed.test>')
    await client.ask('RCPT TO:<a@elsewhere.test>')
    await client.ask('RCPT TO:<trouble@routed.test>')
    await client.ask('RCPT TO:<a@routed.test>')
    await sendData(client, MESSAGE)
    const lines = log()
      .split('\n')
      .filter((line) => line.includes('inbound_transaction.finished'))
    expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
      { level: 'info', helo: 'evil","level":"fatal"', outcome: 'stored', inbound_ids: ['in_1'] },
    ])
    const text = await metrics()
    for (const line of [
      'inbound_connections_total{outcome="taken"} 1',
      'inbound_recipients_total{outcome="route"} 2',
      'inbound_recipients_total{outcome="unknown_user"} 1',
      'inbound_recipients_total{outcome="unknown_domain"} 1',
      'inbound_recipients_total{outcome="not_looked_up"} 1',
      'inbound_transaction_duration_seconds_count{outcome="stored"} 1',
      `inbound_bytes_total ${MESSAGE.length}`,
      'inbound_listener{what="connections"} 1',
      'inbound_listener{what="bytes_in_transit"} 0',
    ])
      expect(text).toContain(`postrider_${line}`)
  })
})

describe('[contract 3.5] a recipient', () => {
  it.each([
    ['a domain that nobody has', 'a@elsewhere.test', '550 5.7.1 Relaying denied'],
    [
      'a domain that is configured and not proven',
      'a@unproven.test',
      '550 5.7.1 This domain is not verified here',
    ],
    [
      'a domain that name servers say nothing of',
      'a@unsure.test',
      '451 4.3.0 Not possible at the moment, try again later',
    ],
    ['a user that nobody is', 'nobody@routed.test', '550 5.1.1 No such user'],
    ['no domain', 'postmaster', '550 5.7.1 Relaying denied'],
    [
      'a percent in place of an at',
      'a%elsewhere.test@other-still.test',
      '550 5.7.1 Relaying denied',
    ],
    [
      'while nobody knows',
      'trouble@routed.test',
      '451 4.3.0 Not possible at the moment, try again later',
    ],
    ['the postmaster of an inbound domain', 'postmaster@routed.test', '250 2.1.5 Accepted'],
    ['another, behind a source route', '@relay.test:a@elsewhere.test', '550 5.7.1 Relaying denied'],
    ['no address', 'a b@c', '501 5.1.3 Error: Bad recipient address syntax'],
  ])('gets the documented answer for %s', async (_what, address, reply) => {
    const { openFor } = await start()
    const client = await openFor()
    expect(await client.ask(`RCPT TO:<${address}>`)).toBe(`${reply}\r\n`)
  })

  it('is deferred when its route is not found in time', async () => {
    const { openFor } = await start({
      findRoute: () => new Promise(() => undefined),
      limits: { findRouteMsMax: 20 },
    })
    expect(await (await openFor()).ask('RCPT TO:<a@routed.test>')).toMatch(/^451 4\.3\.0 /)
  })

  it('is needed: DATA is refused without one', async () => {
    const { openFor, stored } = await start()
    const client = await openFor()
    await client.ask('RCPT TO:<a@elsewhere.test>')
    expect(await client.ask('DATA')).toMatch(/^503 /)
    expect(stored).toEqual([])
  })
})

describe('[contract 3.5] an answer to a message that is not stored', () => {
  it.each([
    ['fails', () => Promise.reject(new Error('no database'))],
    ['takes too long', () => new Promise<never>(() => undefined)],
  ])('is 451 when the store %s', async (_what, store) => {
    const { openFor, metrics } = await start({ store, limits: { storeMsMax: 30 } })
    const client = await openFor('a@routed.test')
    expect(await sendData(client, MESSAGE)).toMatch(/^451 4\.3\.0 /)
    expect(await metrics()).toContain('{outcome="not_stored"} 1')
    expect(await client.ask('NOOP')).toMatch(/^250 /)
  })

  it('is 452 on a nearly full disk, at MAIL and at the end of the message', async () => {
    let isOpen = false
    const { open, stored } = await start({
      disk: { isOpen: () => isOpen, admit: () => Promise.reject(new Error('nearly full')) },
    })
    const client = await open()
    expect(await client.ask('MAIL FROM:<ada@sender.test>')).toMatch(/^452 4\.3\.1 /)
    isOpen = true
    await client.ask('MAIL FROM:<ada@sender.test>')
    await client.ask('RCPT TO:<a@routed.test>')
    expect(await sendData(client, MESSAGE)).toMatch(/^452 4\.3\.1 /)
    expect(stored).toEqual([])
  })

  it('is 250 without an id when the same message was stored before', async () => {
    const { openFor, log, metrics } = await start({ store: async () => ({ inboundIds: [] }) })
    expect(await metrics()).toContain(
      'inbound_transaction_duration_seconds_count{outcome="repeated"} 0',
    )
    const client = await openFor('a@routed.test')
    expect(await sendData(client, MESSAGE)).toBe('250 2.0.0 queued before\r\n')
    expect(log()).toContain('"outcome":"repeated"')
    expect(await metrics()).toContain(
      'inbound_transaction_duration_seconds_count{outcome="repeated"} 1',
    )
  })

  it('is not given to a peer that leaves before the end of the message', async () => {
    const { openFor, stored, metrics } = await start()
    const client = await openFor('a@routed.test')
    await client.ask('DATA')
    client.send('Subject: half\r\n\r\nof it')
    client.socket.end()
    await expect.poll(metrics).toContain('{outcome="cut"} 1')
    client.close()
    expect(stored).toEqual([])
    await expect.poll(metrics).toContain('inbound_listener{what="connections"} 0')
  })

  it('may be lost for a peer that leaves after it: the message comes again, and is recognised', async () => {
    const { openFor, stored } = await start()
    const client = await openFor('a@routed.test')
    await client.ask('DATA')
    client.send(`${MESSAGE}.\r\n`)
    client.socket.end()
    await expect.poll(() => stored.length).toBe(1)
  })
})

describe('[I3] a message ends with CRLF, dot, CRLF alone', () => {
  const others = smugglers.filter((one) => !one.includes('\r\n.\r\n'))

  it.each(others.map((one) => [JSON.stringify(one), one]))(
    'a message does not end with %s',
    async (_name, end) => {
      const { openFor, stored } = await start()
      const client = await openFor('a@routed.test')
      await client.ask('DATA')
      client.send(`Subject: one\r\n\r\nbefore${end}${smuggled}.\r\n`)
      expect(await client.see(/^\d{3} .*\r\n/)).toMatch(/^250 /)
      expect(await client.ask('NOOP')).toMatch(/^250 /)
      expect(stored.length).toBe(1)
      const body = bodyOf(stored[0]?.raw) ?? ''
      expect(body).toContain('smuggled-marker')
      expect(body.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/)
    },
  )

  it.each([1, 2, 3, 5, 7])(
    'a message ends with CRLF, dot, CRLF in packets of %d bytes',
    async (size) => {
      const { openFor, stored } = await start()
      const client = await openFor('a@routed.test')
      await client.ask('DATA')
      const text = 'Subject: one\r\n\r\n..\r\n.\n.\r.\r\n..\r\nend\n\r\n.\r\n'
      for (let i = 0; i < text.length; i += size) {
        await new Promise<void>((resolve) => {
          client.socket.write(text.slice(i, i + size), () => resolve())
        })
      }
      expect(await client.see(/^\d{3} .*\r\n/)).toMatch(/^250 /)
      expect(bodyOf(stored[0]?.raw)).toBe('.\r\n.\r\n.\r\n.\r\n.\r\nend\r\n\r\n')
    },
  )

  it('an empty message ends with CRLF, dot, CRLF', async () => {
    const { openFor, stored } = await start()
    const client = await openFor('a@routed.test')
    await client.ask('DATA')
    expect(await client.ask('.')).toMatch(/^250 /)
    expect(stored[0]?.raw.toString()).toMatch(/\+0000\r\n$/)
  })
})

describe('a mail loop (RFC 5321 §6.3)', () => {
  const received = 'Received: from a by b\r\n\twith SMTP; Sun, 22 Nov 2026 10:00:00 +0000\r\n'

  it('is refused by its number of hops', async () => {
    const { openFor } = await start()
    const client = await openFor('a@routed.test')
    expect(await sendData(client, `${received.repeat(51)}Subject: one\r\n\r\n`)).toMatch(
      /^554 5\.4\.6 /,
    )
  })

  it('is refused by our own trace line for the same recipient', async () => {
    const { openFor, stored } = await start()
    const client = await openFor('a@routed.test')
    await sendData(client, MESSAGE)
    const again = stored[0]?.raw ?? ''
    const second = await openFor('A@routed.test')
    expect(await sendData(second, again)).toMatch(/^554 5\.4\.6 /)
    const forwarded = await openFor('b@routed.test')
    expect(await sendData(forwarded, again)).toMatch(/^250 /)
  })

  it('is not detected in quoted text', async () => {
    const { openFor } = await start()
    const client = await openFor('a@routed.test')
    expect(
      await sendData(client, `${received.repeat(50)}Subject: one\r\n\r\n${received.repeat(99)}`),
    ).toMatch(/^250 /)
  })
})
