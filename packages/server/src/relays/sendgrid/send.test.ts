import { describe, expect, it } from 'vitest'
import type { RelayAccount, RelayAnswer, RelayMail } from '../relay.ts'
import { sendgrid } from './sendgrid.ts'

const account: RelayAccount = {
  tenantId: 'tn_a',
  kind: 'sendgrid',
  apiKey: 'SG.key',
  apiBase: 'https://api.sendgrid.com',
  configVersion: 1,
}
const refId = '01JD3Z5V9S8QWERTY0ABCDEFGH'
const mail: RelayMail = {
  refId,
  n: 3,
  from: { address: 'shop@example.com', name: 'Shop' },
  to: { address: 'ann@example.org' },
  type: 'to',
  shown: { to: [{ address: 'ann@example.org' }, { address: 'bob@example.org' }], cc: [] },
  subject: 'Hello',
  text: 'Hi',
  html: '<p>Hi</p>',
  headers: [['Message-ID', '<1@example.com>']],
  attachments: [],
}
const bodyOf = (change: Partial<RelayMail> = {}) =>
  sendgrid.send(account, { ...mail, ...change }).body

describe('the request for a copy', () => {
  it('has one personalization with its recipient and its name, and no tracking', () => {
    expect(sendgrid.send(account, mail)).toEqual({
      method: 'POST',
      path: '/v3/mail/send',
      headers: { authorization: 'Bearer SG.key', accept: 'application/json' },
      body: {
        personalizations: [
          { to: [{ email: 'ann@example.org' }], custom_args: { postrider_ref: `${refId}.3` } },
        ],
        from: { email: 'shop@example.com', name: 'Shop' },
        subject: 'Hello',
        content: [
          { type: 'text/plain', value: 'Hi' },
          { type: 'text/html', value: '<p>Hi</p>' },
        ],
        headers: { 'Message-ID': '<1@example.com>' },
        tracking_settings: {
          click_tracking: { enable: false, enable_text: false },
          open_tracking: { enable: false },
          subscription_tracking: { enable: false },
          ganalytics: { enable: false },
        },
      },
    })
  })

  it.each(['to', 'cc', 'bcc'] as const)(
    'the request for a copy to a recipient in %s names no other recipient',
    (type) => {
      const text = JSON.stringify(bodyOf({ type, to: { address: 'eve@example.net', name: 'Eve' } }))
      expect(text).toContain('"to":[{"email":"eve@example.net","name":"Eve"}]')
      expect(text).not.toMatch(/ann@|bob@|"cc"|"bcc"/)
    },
  )

  it('has the reply address and the campaign', () => {
    expect(
      bodyOf({ replyTo: { address: 'help@example.com' }, campaignId: 'spring' }),
    ).toMatchObject({ reply_to: { email: 'help@example.com' }, categories: ['spring'] })
  })

  it.each([
    [{ html: undefined }, [{ type: 'text/plain', value: 'Hi' }]],
    [{ text: undefined }, [{ type: 'text/html', value: '<p>Hi</p>' }]],
    [{ text: '' }, [{ type: 'text/html', value: '<p>Hi</p>' }]],
    [{ text: '', html: undefined }, [{ type: 'text/plain', value: ' ' }]],
    [{ text: undefined, html: '' }, [{ type: 'text/html', value: ' ' }]],
  ])('a request with the parts %o has only non-empty parts', ({ ...change }, content) => {
    const { text: _t, html: _h, ...rest } = mail
    const parts = Object.entries({ text: mail.text, html: mail.html, ...change })
    const given = Object.fromEntries(parts.filter(([, part]) => part !== undefined))
    expect(sendgrid.send(account, { ...rest, ...given }).body).toMatchObject({ content })
  })

  it('the request for a copy without a subject has one that SendGrid accepts', () => {
    expect(bodyOf({ subject: '' })).toMatchObject({ subject: ' ' })
  })

  it('keeps encoded headers, except those for which SendGrid refuses the mail', () => {
    const reserved = ['X-SG-ID', 'x-sg-eid', 'Received', 'DKIM-Signature', 'Content-Type', 'CC']
    const { headers } = bodyOf({
      headers: [
        ['Message-ID', '<1@example.com>'],
        ['List-Unsubscribe', '<https://example.com/u>'],
        ['List-Unsubscribe-Post', 'List-Unsubscribe=One-Click'],
        ['X-Note', 'Grüße\r\naus Köln'],
        ...reserved.map((name) => [name, 'x'] as const),
      ],
    }) as { headers: Record<string, string> }
    expect(headers).toEqual({
      'Message-ID': '<1@example.com>',
      'List-Unsubscribe': '<https://example.com/u>',
      'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
      'X-Note': '=?UTF-8?Q?Gr=C3=BC=C3=9Fe_aus_K=C3=B6ln?=',
    })
    expect(bodyOf({ headers: [['CC', 'x@example.com']] })).not.toHaveProperty('headers')
  })

  it('has its files, and marks those inline that the HTML shows', () => {
    const content = 'aGk='
    const html = '<img src="cid:logo">'
    const attachments = [
      { filename: 'logo.png', content, contentId: 'logo' },
      { filename: 'a.pdf', content, contentId: 'other' },
      { filename: 'b', content, type: 'text/csv; charset=utf-8', disposition: 'inline' as const },
    ]
    expect(bodyOf({ html, attachments })).toMatchObject({
      attachments: [
        { content, filename: 'logo.png', type: 'image/png', disposition: 'inline', content_id: 'logo' },
        { content, filename: 'a.pdf', type: 'application/pdf', disposition: 'attachment', content_id: 'other' },
        { content, filename: 'b', type: 'text/csv', disposition: 'inline' },
      ], // biome-ignore format: a table
    })
  })
})

describe('names for which SendGrid would refuse the mail', () => {
  const file = { filename: 'Report, final; 1.pdf', content: 'aGk=', contentId: 'a;b,c' }

  it('are replaced for files and pictures, also in the HTML', () => {
    const body = bodyOf({ html: '<img src="cid:a;b,c"><p>a;b,c</p>', attachments: [file] })
    expect(body).toMatchObject({
      content: [{}, { type: 'text/html', value: '<img src="cid:a_b_c"><p>a;b,c</p>' }],
      attachments: [{ filename: 'Report_ final_ 1.pdf', content_id: 'a_b_c' }],
    })
  })

  it('are left out for campaigns', () => {
    expect(bodyOf({ campaignId: 'Frühling' })).not.toHaveProperty('categories')
  })
})

describe('a copy that SendGrid would not accept', () => {
  it('is not sent when a file is empty', () => {
    const attachments = [{ filename: 'a.txt', content: '' }]
    expect(sendgrid.refuse?.({ ...mail, attachments })).toMatchObject({
      category: 'content_rejected',
      retryable: false,
      providerError: 'An attachment is empty; SendGrid takes none',
    })
  })

  it('is not sent when it is too large', () => {
    const file = (megabytes: number) => ({
      filename: 'a.bin',
      content: 'A'.repeat(megabytes * 1024 * 1024),
    })
    const refused = (change: Partial<RelayMail>) => sendgrid.refuse?.({ ...mail, ...change })
    expect(refused({ text: '', html: '', attachments: [file(10), file(20)] })).toBeUndefined()
    expect(refused({ text: 'ä', html: '', attachments: [file(10), file(20)] })).toEqual({
      category: 'message_too_large',
      retryable: false,
      failedReason: 'The message is too large',
      providerError: 'Bodies and attachments have 31457282 bytes; SendGrid takes 31457280',
      authRejected: false,
      cannotHealByWaiting: false,
    })
  })
})

const answer = (status: number, body = '', headers = {}): RelayAnswer => ({ status, headers, body })

describe('the answer to a copy', () => {
  it('the answer 202 is a success with the id in X-Message-Id', () => {
    const sent = (headers = {}) => sendgrid.readSent(answer(202, '', headers))
    expect(sent({ 'x-message-id': 'wrf.1' })).toEqual({
      kind: 'accepted',
      providerMessageId: 'wrf.1',
    })
    expect(sent()).toEqual({ kind: 'accepted', providerMessageId: '' })
  })

  it.each([200, 201, 204])('the answer %i is no success', (status) => {
    expect(sendgrid.readSent(answer(status, '{}'))).toMatchObject({
      kind: 'failed',
      failure: { category: 'protocol_error', retryable: false, authRejected: false },
    })
  })

  it.each([502, 504])('the answer %i of a gateway is uncertain', (status) => {
    expect(sendgrid.readSent(answer(status, '<html>'))).toMatchObject({
      failure: { category: 'uncertain', retryable: true, providerError: `HTTP status ${status}` },
    })
    expect(sendgrid.readSent(answer(status, '{"errors":[{"message":"down"}]}'))).toMatchObject({
      failure: { category: 'temporary', retryable: true },
    })
  })
})
