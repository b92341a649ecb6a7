import { composeMessage } from '@postrider/mail'
import PostalMime, { type Email } from 'postal-mime'
import { describe, expect, it } from 'vitest'
import { trackingUrls } from '../../../test/sending.ts'
import type { EmailContent } from '../record/email.ts'
import { prepareEmail } from './prepare-email.ts'

const facts = {
  tenantId: 'tn_a',
  refId: '01JD4M8W6ZQ3V5T7X9Y2A4C6E8',
  mailerId: 'smtp_a',
  createdAt: new Date(),
  campaignId: null,
}

async function prepare(change: Partial<EmailContent>): Promise<Email> {
  const email = await prepareEmail(trackingUrls, facts, {
    from: { address: 'news@example.com' },
    to: [{ address: 'ada@example.com' }],
    cc: [],
    subject: 'Hello',
    headers: [],
    attachments: [],
    ...change,
  })
  if (!('message' in email)) throw new Error('not for a mail server')
  return PostalMime.parse(await composeMessage(email.message, '<1@example.com>'))
}

describe('the text part', () => {
  it('is made from the HTML when there is HTML alone', async () => {
    const html = '<p>Hello <a href="https://shop.example.com">Ada</a></p>'
    expect(await prepare({ html })).toMatchObject({
      text: 'Hello Ada <https://shop.example.com>\n',
      html: `${html}\n`,
    })
  })

  it('is the given text when there is one', async () => {
    expect(await prepare({ html: '<p>a</p>', text: 'b' })).toMatchObject({ text: 'b\n' })
  })

  it.each([
    ['is left out where it is given empty', { html: '<p>a</p>', text: '' }],
    ['is left out where there is nothing to say', { html: '<img src="cid:a">' }],
  ])('makes text from HTML: %s', async (_what, change) => {
    expect((await prepare(change)).text).toBeUndefined()
  })

  it('may be empty when it is the only part', async () => {
    const email = await prepare({ text: '' })
    expect([email.text?.trim(), email.html]).toEqual(['', undefined])
  })
})
