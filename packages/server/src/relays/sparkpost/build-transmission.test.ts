import { describe, expect, it } from 'vitest'
import type { RelayMail } from '../relay.ts'
import { account, aMail, refId } from './mail.fixture.ts'
import { sparkpost } from './sparkpost.ts'

const bodyOf = (change: Partial<RelayMail> = {}) =>
  JSON.parse(JSON.stringify(sparkpost.send(account, aMail(change)).body))
const contentOf = (change: Partial<RelayMail> = {}) => bodyOf(change).content
const pdf = { filename: 'a.pdf', content: 'AAAA' }

describe('the request to SparkPost', () => {
  it('has the key alone as its credentials', () => {
    const { method, path, headers } = sparkpost.send(account, aMail())
    expect({ method, path, headers }).toEqual({
      method: 'POST',
      path: '/v1/transmissions',
      headers: { authorization: account.apiKey, accept: 'application/json' },
    })
  })

  it('has one recipient, without tracking and an unsubscribe link of SparkPost', () => {
    expect(bodyOf({ n: 7, campaignId: 'spring' })).toEqual({
      options: {
        open_tracking: false,
        initial_open: false,
        click_tracking: false,
        transactional: true,
        perform_substitutions: false,
      },
      campaign_id: 'spring',
      recipients: [
        {
          address: { email: 'Ann@example.net', header_to: '"Ann" <Ann@example.net>' },
          metadata: { postrider_ref: `${refId}.7` },
        },
      ],
      content: {
        from: { email: 'news@example.com', name: 'Example' },
        subject: 'Hello',
        text: 'Hi',
        headers: { 'Message-ID': '<1@example.com>' },
      },
    })
  })

  it('cuts a campaign to 64 octets, between characters', () => {
    expect(bodyOf({ campaignId: 'é'.repeat(40) }).campaign_id).toBe('é'.repeat(32))
    expect(bodyOf({ campaignId: `x${'🎈'.repeat(20)}` }).campaign_id).toBe(`x${'🎈'.repeat(15)}`)
    expect(bodyOf({ campaignId: 'x'.repeat(64) }).campaign_id).toBe('x'.repeat(64))
  })
})

describe('the headers of a copy', () => {
  it('have the same To and Cc for every recipient', () => {
    const shown = {
      to: [{ address: 'ann@example.net' }, { address: 'bob@example.net', name: 'Bob "B", Sr.' }],
      cc: [{ address: 'carl@example.net', name: 'Çarl' }],
    }
    const hidden = bodyOf({ type: 'bcc', to: { address: 'dora@example.net' }, shown })
    expect(hidden.recipients[0].address).toEqual({
      email: 'dora@example.net',
      header_to: String.raw`ann@example.net, "Bob \"B\", Sr." <bob@example.net>`,
    })
    expect(hidden.content.headers.Cc).toBe('"Çarl" <carl@example.net>')
    expect(JSON.stringify(hidden.content)).not.toContain('dora')
  })

  it('have the reply address, and the headers of the caller', () => {
    const headers: RelayMail['headers'] = [
      ['Message-ID', '<1@example.com>'],
      ['List-Unsubscribe', '<https://example.com/u>'],
      ['X-Order', 'é 1'],
      ['__proto__', 'x'],
    ]
    const content = contentOf({ replyTo: { address: 'help@example.com', name: 'Help' }, headers })
    expect(content.reply_to).toBe('"Help" <help@example.com>')
    expect(Object.entries(content.headers)).toEqual(headers)
  })

  it('have no name where there is none, and always a subject', () => {
    const from = { address: 'news@example.com', name: ' ' }
    expect(contentOf({ from, subject: '' })).toMatchObject({
      from: { email: 'news@example.com' },
      subject: ' ',
    })
    expect(contentOf({ from }).from).not.toHaveProperty('name')
  })

  it('never break out of their line', () => {
    const content = contentOf({
      subject: 'a\r\nBcc: x@example.net',
      from: { address: 'a@example.com', name: 'a\nb' },
      replyTo: { address: 'a@example.com', name: 'a\r\nb' },
      headers: [['X-A', 'a\r\n b\0c']],
    })
    expect(JSON.stringify(content)).not.toMatch(/\\[rn]|\\u0000/)
  })
})

describe('[template language] braces that a customer wrote', () => {
  it('stay unchanged in every header', () => {
    const { recipients, content } = bodyOf({
      from: { address: '{{a}}@example.com', name: 'The {{ curly }} ones' },
      replyTo: { address: '{{b}}@example.com' },
      subject: 'Use {{name}}, {{{name}}} or {{#if}}',
      headers: [
        ['X-Plain', '{"a":{"b":1}}'],
        ['X-Template', '{{ substitution }}'],
      ],
    })
    const data = recipients[0].substitution_data
    const printed = (text: string) =>
      text.replace(/\{\{\{(\w+)\}\}\}/g, (_all, name: string) => data[name])
    expect(printed(content.subject)).toBe('Use {{name}}, {{{name}}} or {{#if}}')
    expect(printed(content.from.name)).toBe('The {{ curly }} ones')
    expect(printed(content.from.email)).toBe('{{a}}@example.com')
    expect(content.from.email).toMatch(/@example\.com$/)
    expect(printed(content.reply_to)).toBe('{{b}}@example.com')
    expect(printed(content.headers['X-Template'])).toBe('{{ substitution }}')
    expect(content.headers['X-Plain']).toBe('{"a":{"b":1}}')
    const written = [content.subject, content.from.name, content.from.email, content.reply_to]
    for (const one of [...written, content.headers['X-Template']])
      expect(one.replace(/\{\{\{postrider_literal_\d+\}\}\}/, '')).not.toContain('{{')
  })

  it('are data without a use where there are none', () => {
    expect(bodyOf({ subject: 'a { { b }} }' }).recipients[0]).not.toHaveProperty(
      'substitution_data',
    )
  })

  it('are quoted in the names of To and Cc', () => {
    const shown = {
      to: [{ address: 'a@example.net', name: 'A {{{b}}} {c}' }],
      cc: [{ address: 'b@example.net', name: '{{b}}' }],
    }
    const { recipients, content } = bodyOf({ shown })
    const quoted = String.raw`"A {\{\{b}}} {c}" <a@example.net>`
    expect(recipients[0].address.header_to).toBe(quoted)
    expect(content.headers.Cc).toBe(String.raw`"{\{b}}" <b@example.net>`)
  })

  it('are not changed in the bodies, which are no templates', () => {
    const content = contentOf({ text: 'Hi {{name}}', html: '<p>{{{name}}}' })
    expect(content).toMatchObject({ text: 'Hi {{name}}', html: '<p>{{{name}}}' })
  })
})

describe('bodies', () => {
  it.each([
    [
      { text: 'a', html: '<p>' },
      { text: 'a', html: '<p>' },
    ],
    [{ text: '', html: '<p>' }, { html: '<p>' }],
    [{ text: 'a', html: '' }, { text: 'a' }],
    [{ text: '', html: '' }, { text: '\n' }],
  ])('%j are sent as %j', (given, sent) => {
    const { text, html } = contentOf(given)
    expect({ text, html }).toEqual({ text: undefined, html: undefined, ...sent })
  })

  it('bodies that are missing are not sent', () => {
    const { text: _none, ...html } = aMail({ html: '<p>' })
    expect(
      JSON.parse(JSON.stringify(sparkpost.send(account, html).body)).content,
    ).not.toHaveProperty('text')
  })
})

describe('files', () => {
  it('have the type of their name, and none that is multipart', () => {
    const attachments = [pdf, { filename: 'b', content: 'AA==', type: 'message/rfc822' }]
    expect(contentOf({ attachments }).attachments).toEqual([
      { name: 'a.pdf', type: 'application/pdf', data: 'AAAA' },
      { name: 'b', type: 'application/octet-stream', data: 'AA==' },
    ])
    expect(contentOf()).not.toHaveProperty('attachments')
  })

  it('are inline where the HTML shows them by their content id', () => {
    const image = { filename: 'logo.png', content: 'AAAA', contentId: 'logo@1' }
    const html = '<img src="cid:logo@1">'
    const shown = contentOf({ html, attachments: [image, pdf] })
    expect(shown.inline_images).toEqual([{ name: 'logo@1', type: 'image/png', data: 'AAAA' }])
    expect(shown.attachments).toHaveLength(1)
    for (const other of [
      contentOf({ attachments: [image] }),
      contentOf({ html: '<p>', attachments: [image] }),
      contentOf({ html, attachments: [{ ...image, disposition: 'attachment' }] }),
      contentOf({ html, attachments: [{ ...pdf, disposition: 'inline' }] }),
    ]) {
      expect(other).not.toHaveProperty('inline_images')
      expect(other.attachments).toHaveLength(1)
    }
  })

  it('have names of 255 octets at most, with their extension', () => {
    const nameOf = (filename: string) =>
      contentOf({ attachments: [{ ...pdf, filename }] }).attachments[0].name
    expect(nameOf('x'.repeat(255))).toBe('x'.repeat(255))
    expect(nameOf(`${'é'.repeat(200)}.pdf`)).toBe(`${'é'.repeat(125)}.pdf`)
    expect(Buffer.byteLength(nameOf(`${'🎈'.repeat(100)}.${'y'.repeat(40)}`))).toBe(252)
  })
})

describe('a mail of more than 20 MiB', () => {
  const attachment = (octets: number) => [{ filename: 'a', content: 'A'.repeat((octets / 3) * 4) }]

  it('is refused before it is sent', () => {
    const limit = 20 * 1024 * 1024
    const octets = limit - (limit % 3)
    expect(sparkpost.refuse?.(aMail({ text: '', attachments: attachment(octets) }))).toBeUndefined()
    expect(
      sparkpost.refuse?.(aMail({ text: 'é', attachments: attachment(octets) })),
    ).toBeUndefined()
    const refused = sparkpost.refuse?.(aMail({ text: 'xxx', attachments: attachment(octets) }))
    expect(refused).toEqual({
      category: 'message_too_large',
      retryable: false,
      failedReason: 'The message is too large',
      providerError: `Bodies and attachments have ${limit + 1} bytes; SparkPost takes ${limit}`,
      authRejected: false,
      cannotHealByWaiting: false,
    })
    expect(sparkpost.refuse?.(aMail())).toBeUndefined()
  })
})
