/** Phishing as it is written: each sample has to reach the threshold by what is said of it. */
import { defaultPhishingThreshold } from '@postrider/contract'
import { describe, expect, it } from 'vitest'
import type { ScannedContent } from './content.ts'
import { createKnownHosts } from './known-hosts.ts'
import { scanContent } from './scan-content.ts'
import type { SignKind } from './signs.ts'

interface Sample {
  readonly html?: string
  readonly text?: string
  readonly from?: ScannedContent['from']
  readonly because: SignKind
}

const FROM = { address: 'office@tannenhof.example', name: 'Office' }
const a = (href: string, text = 'Continue') => `<p>Dear customer,</p><a href="${href}">${text}</a>`

const SAMPLES: Readonly<Record<string, Sample>> = {
  'a link that shows a bank and leads elsewhere': {
    html: a('https://files.drop-zone.test/x', 'https://www.paypal.com/signin'),
    because: 'brand_link_elsewhere',
  },
  'the same, spelled with markup and invisible characters in between': {
    html: a('https://files.drop-zone.test/x', 'https://www.<b>pay</b>&#8203;pal<i>.com</i>/signin'),
    because: 'brand_link_elsewhere',
  },
  'the same, with full-width letters': {
    html: a('https://files.drop-zone.test/x', 'www．ｐａｙｐａｌ．com/signin'),
    because: 'brand_link_elsewhere',
  },
  'the same, behind a redirector': {
    html: a('https://bit.ly/3abc', 'https://www.chase.com/'),
    because: 'brand_link_elsewhere',
  },
  'the same, in what only Outlook reads': {
    html: `<!--[if mso]><a href="https://x.test/">https://www.dhl.de/paket</a><![endif]-->`,
    because: 'brand_link_elsewhere',
  },
  'the same, by way of a base address': {
    html: `<base href="https://x.test/">${a('/login', 'https://www.netflix.com/account')}`,
    because: 'brand_link_elsewhere',
  },
  'a picture that reads as an address': {
    html: '<a href="https://x.test/"><img alt="https://www.apple.com/account" src="cid:a"></a>',
    because: 'brand_link_elsewhere',
  },
  'a Cyrillic letter in a name': { html: a('https://www.pаypal.com/'), because: 'homograph_host' },
  'the same in A-labels': { html: a('https://www.xn--pypal-4ve.com/'), because: 'homograph_host' },
  'a name all in Cyrillic': { html: a('https://xn--80ak6aa92e.com/'), because: 'homograph_host' },
  'a name with accents': { html: a('https://nétflix.com/'), because: 'homograph_host' },
  'a digit for a letter': { html: a('https://paypa1.com/'), because: 'imitated_host' },
  'two letters for one': { html: a('https://login.rnicrosoft.com/'), because: 'imitated_host' },
  'a digit for a letter, in text': { text: 'Go to micr0soft.com today', because: 'imitated_host' },
  'a name in front': {
    html: a('https://www.paypal.com.account-check.test/'),
    because: 'embedded_brand_host',
  },
  'a name in front, with a hyphen': {
    html: a('https://apple.com-verify.info/id'),
    because: 'embedded_brand_host',
  },
  'a name before an at sign': {
    html: a('https://www.paypal.com@203.0.113.7/x'),
    because: 'host_before_at',
  },
  'the same, encoded': {
    html: a('https://www.paypal.com%2Flogin@x.test/'),
    because: 'host_before_at',
  },
  'two at signs': { html: a('https://a@b@x.test/'), because: 'host_before_at' },
  'a number for an address': { html: a('http://3405803783/login'), because: 'disguised_address' },
  'octal numbers': { html: a('http://0313.0.0161.07/'), because: 'disguised_address' },
  'hexadecimal numbers': { html: a('http://0xcb.0x00.0x71.0x07/'), because: 'disguised_address' },
  'a short address': { html: a('http://203.113.7/'), because: 'disguised_address' },
  'two alphabets in one name': {
    html: a('https://sесure-login.test/'),
    because: 'mixed_script_host',
  },
  'a form with a password': {
    html: '<form action="https://x.test/p"><input type="PassWord" name="p"></form>',
    because: 'password_field',
  },
  'a form for a card, and elsewhere': {
    html: '<form action=https://x.test/><input autocomplete="cc-number"><input name=cvv></form>',
    because: 'secret_field',
  },
  'a script for a link': { html: a('java&#10;script:location=1'), because: 'script_link' },
  'a script of another kind': { html: a(' VBScript:x'), because: 'script_link' },
  'a page in a link': { html: a('data:text/html;base64,PGI+'), because: 'data_link' },
  'a picture that is a page': {
    html: a('data:image/svg+xml,<svg onload=x>'),
    because: 'data_link',
  },
  'a link of sixty thousand characters': {
    html: a(`https://www.example.com/${'a'.repeat(60_000)}`),
    because: 'overlong_link',
  },
  'a sender who claims to be a bank, and a link': {
    html: a('https://tannenhof.example/x', 'https://www.paypal.com/'),
    from: { ...FROM, name: 'PayPal Service' },
    because: 'brand_sender',
  },
  'a sender who claims to be a bank, and a domain that does': {
    html: a('https://paypal-account-login.test/'),
    from: { ...FROM, name: 'PаyPal' },
    because: 'brand_sender',
  },
  'a sender whose name is an address of a bank': {
    html: a('http://203.0.113.7/x'),
    from: { ...FROM, name: 'service@paypal.com' },
    because: 'brand_sender',
  },
  'a sender whose domain imitates': {
    html: 'Call us',
    from: { address: 'help@paypa1.com' },
    because: 'imitated_host',
  },
  'an imitation within a link to elsewhere': {
    html: a('https://www.google.com/url?q=https%3A%2F%2Fpaypa1.com%2F&sa=D'),
    because: 'imitated_host',
  },
  'a mail that leads away by itself, to a number': {
    html: '<meta http-equiv="refresh" content="0; url=http://203.0.113.7/">',
    because: 'refresh',
  },
}

describe('known phishing', () => {
  it.each(Object.entries(SAMPLES))('is flagged: %s', (_, { html, text, from = FROM, because }) => {
    const content = { from, subject: 'Notice', html: html === undefined ? [] : [html] }
    const result = scanContent(
      createKnownHosts(),
      text === undefined ? content : { ...content, text },
    )
    if (result.kind !== 'scanned') return expect.unreachable()
    const { signs } = result.scan
    expect(signs.map(({ kind }) => kind)).toContain(because)
    const score = signs.reduce((sum, { weight }) => sum + weight, 0)
    expect(score, JSON.stringify(signs)).toBeGreaterThanOrEqual(defaultPhishingThreshold)
    for (const { reason } of signs) expect(reason).toMatch(/^[\x20-\x7e]{1,300}$/)
  })
})
