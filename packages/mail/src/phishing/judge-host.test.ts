import { expect, it } from 'vitest'
import { readHostName } from './host-name.ts'
import { brandOf, brandOfName, judgeHost } from './judge-host.ts'

const kindsOf = (host: string) => judgeHost(readHostName(host)).map(({ kind }) => kind)

it.each([
  'example.com', 'applebees.com', 'pineapple.com', 'chaser.io', 'purchase.com', 'amazonia.org',
  'upstart.com', 'groups.com', 'visa-office.com', 'outlookindia.com', 'appleinsider.com',
  'amazon-watchblog.de', 'xn--mller-schuhe-dlb.de', 'xn--e1afmkfd.xn--p1ai', 'xn--wgv71a119e.jp',
  'xn--caf-dma.fr', 'facebook.acme.com', 'shop.apple-garden.de', 'clear.com', 'modern.de',
  'learn.com', 'barclay-square.co.uk', 'city-bank-cafe.com', 'a.b', 'localhost', '10.0.0.1', '',
])('accepts the ordinary host %s', (host) => {
  expect(kindsOf(host)).toEqual([])
}) // biome-ignore format: a table

it.each([
  'www.paypal.com', 'paypal.me', 'login.microsoftonline.com', 'contoso.sharepoint.com', 'google.de',
  'www.amazon.co.uk', 'amazon.com.br', 'signin.ebay.fr', 'id.apple.com', 'dhl.pl', 'docs.google.com',
])('accepts the host %s of its own brand', (host) => {
  expect(brandOf(readHostName(host))).toBeDefined()
  expect(kindsOf(host)).toEqual([])
}) // biome-ignore format: a table

it.each([
  ['paypa1.com', 'imitated_host'],
  ['paypaI.com'.toLowerCase(), 'imitated_host'],
  ['arnericanexpress.com', 'imitated_host'],
  ['pay-pal.com', 'brand_in_host'],
  ['netfllx.com', 'imitated_host'],
  ['g00gle.com', 'imitated_host'],
  ['paypal-login.com', 'brand_bait_host'],
  ['secure-paypal.net', 'brand_bait_host'],
  ['paypalsupport.com', 'brand_bait_host'],
  ['login.paypal.xyz', 'brand_bait_host'],
  ['apple-support.com', 'brand_bait_host'],
  ['paypal.xyz', 'brand_in_host'],
  ['paypal.example.net', 'brand_in_host'],
  ['my-paypal.com', 'brand_in_host'],
  ['dropbx.com', 'near_brand_host'],
  ['microsotf.com', 'near_brand_host'],
  ['netflixx.com', 'near_brand_host'],
  ['paypay.ne.jp', 'near_brand_host'],
  ['www.paypal.com.example.net', 'embedded_brand_host'],
  ['www.xn--pypal-4ve.com', 'homograph_host'],
])('finds in %s the sign %s', (host, kind) => {
  expect(kindsOf(host)).toContain(kind)
})

it('ignores names with two changes', () => {
  for (const host of ['dropbyx-z.com', 'netfiick.com', 'coinbook.com', 'roblix-x.com'])
    expect(kindsOf(host)).toEqual([])
})

it.each([
  ['PayPal', 'PayPal'],
  ['PayPal Service Team', 'PayPal'],
  ['PаyPаl', 'PayPal'],
  ['  "paypal" ', 'PayPal'],
  ['Apple Support', 'Apple'],
  ['Bank of America Alerts', 'Bank of America'],
  ['Crédit Agricole', 'Credit Agricole'],
])('reads in the sender name %s the brand %s', (name, brand) => {
  expect(brandOfName(name)?.name).toBe(brand)
})

it.each([
  'Apple Green', 'Chase Miller', 'Amazon Rainforest Trust', 'Steam Trains Ltd', 'DHL-Fanclub',
  'My PayPal shop', '', 'Ledger Accountants', 'constructor', '__proto__', 'Ups and downs',
])('reads no brand in the sender name %s', (name) => {
  expect(brandOfName(name)).toBeUndefined()
}) // biome-ignore format: a table
