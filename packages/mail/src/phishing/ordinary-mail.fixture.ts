/**
 * Ordinary mail in many shapes, made up from a seed: what phishing protection has to let through.
 * It has what makes such mail look suspicious: links through click trackers whose text is another
 * address, short links, numeric hosts, honest names near a brand's, addresses within addresses, IDN
 * hosts, forms, careless templates.
 */
import type { ScannedContent } from './content.ts'

type Random = () => number
interface Sender {
  readonly name: string
  readonly domain: string
  /** Where its links lead: itself, a host of its own for clicks, or a provider's. */
  readonly track: (url: string, random: Random) => string
}

export function* ordinaryMail(seed: number, count: number): Generator<ScannedContent> {
  const random = createRandom(seed)
  for (let i = 0; i < count; i += 1) {
    const shape = SHAPES[i % SHAPES.length] ?? newsletter
    const mail = shape(senderOf(random), random)
    yield { ...mail, html: mail.html.map((html) => wrap(html, random)) }
  }
}

/** mulberry32: the same mails in every run. */
function createRandom(seed: number): Random {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

function pick<T>(random: Random, list: readonly T[]): T {
  const one = list[Math.floor(random() * list.length)]
  if (one === undefined) throw new Error('nothing to pick from')
  return one
}

const chance = (random: Random, of: number) => random() < of
const code = (random: Random, chars = 24) =>
  Array.from({ length: chars }, () =>
    pick(random, [...'abcdefghijkmnpqrstuvwxyzABCDEFGHJK23456789-_']),
  ).join('')
const times = (random: Random, min: number, max: number) =>
  min + Math.floor(random() * (max - min + 1))

const WORDS = ['nord', 'licht', 'garden', 'bike', 'coffee', 'book', 'studio', 'atlas', 'harbor', 'pixel', 'velo', 'maple', 'copper', 'river', 'cloud', 'mint', 'solar', 'tiny', 'oak', 'fjord', 'casa', 'luna', 'kaffee', 'schuh', 'wein', 'brot', 'fromage', 'moda', 'viaje', 'sakura'] // biome-ignore format: a list
const ENDINGS = ['shop', 'store', 'works', 'labs', 'online', 'club', 'news', 'market', 'group', 'house', 'verein', 'bank', 'pay', 'support', 'login', 'cloud'] // biome-ignore format: a list
const SUFFIXES = ['com', 'de', 'fr', 'co.uk', 'com.br', 'es', 'it', 'nl', 'io', 'org', 'net', 'shop', 'app', 'dev', 'co.jp', 'com.au', 'ch', 'at', 'pl', 'se', 'eu', 'info', 'xyz', 'me'] // biome-ignore format: a list
/** Honest names that are near a brand's, hold one, or are in other letters. */
const ODD_DOMAINS = ['applebees.com', 'appletree-farm.co.uk', 'chaser.io', 'goggles4u.com', 'amazonia.org', 'amazon-watchblog.de', 'paypay.ne.jp', 'upstart.com', 'outlookindia.com', 'appleinsider.com', 'googlewatchblog.de', 'githubuniverse.com', 'stripes-and-dots.com', 'visaplace.com', 'netflixlife.com', 'orangecounty.net', 'chasecenter.com', 'ledgerwood.org', 'bookingkit.de', 'steamdb.info', 'xn--mller-schuhe-dlb.de', 'xn--e1afmkfd.xn--p1ai', 'xn--wgv71a119e.jp', 'xn--caf-dma.fr', 'xn--bcher-kva.ch', 'xn--fiqs8s.cn', 'xn--hxajbheg2az3al.gr', 'xn--12c1fe0br.com', 'xn--80ak6aa92e-shop.com', 'marqetmusic.com', 'acme.github.io', 'shop-123.myshopify.com', 'ledger-sparkassen-verein.de', 'dropboxing-gym.com', 'adobe-haus.de', 'santander-fussball.de'] // biome-ignore format: a list
const TRACKERS = ['u17.ct.sendgrid.net', 'acme.us5.list-manage.com', 'd2f.hubspotlinks.com', 'click.e.exct.net', 'trk.klclick3.com', 'xqz.r.us-east-1.awstrack.me', '0x5.mjt.lu', 'e.customeriomail.com', 'r20.rs6.net', 'acme.cmail20.com', 'links.unknown-tracker.net', 'click.mailworks.io', 'go.pagely-mail.com', 'trk.dmdelivery.eu'] // biome-ignore format: a list
const SHORTENERS = ['bit.ly', 't.co', 'tinyurl.com', 'ow.ly', 'lnkd.in', 'buff.ly']
const SOCIAL = ['facebook.com', 'instagram.com', 'linkedin.com/company', 'youtube.com', 'x.com', 'tiktok.com', 'github.com', 'open.spotify.com', 'wa.me'] // biome-ignore format: a list
const PEOPLE = ['Anna', 'Jürgen Groß', 'Chase Miller', 'María José', '佐藤 花子', 'Иван Петров', 'Apple Green', 'Mina', 'Team', 'Kundenservice', 'Support', 'Security Team', 'Billing', 'no-reply', 'Zoë', 'Uğur', 'محمد', 'Accounts', 'Steam Trains Ltd', 'Amazon Rainforest Trust', 'Ledger Accountants', 'Sparkassen Marathon', 'DHL-Fanclub'] // biome-ignore format: a list
const TEXTS = [
  'Thank you for your order. We will tell you as soon as it is on its way.',
  'Hallo, schön, dass du da bist! Diese Woche: 20 % auf alles, z.B. Schuhe und Jacken.',
  'Bonjour, votre commande est confirmée. Merci de votre confiance !',
  'Hola, tu contraseña vence pronto. Puedes cambiarla cuando quieras en tu cuenta.',
  'ご注文ありがとうございます。発送まで少々お待ちください。',
  '您的订单已发货，请注意查收。如有问题，请访问https://www.example.cn/帮助，谢谢。',
  'Здравствуйте! Ваш заказ принят. Мы сообщим вам о доставке.',
  'شكرا لطلبك. سنخبرك عندما يتم شحنه.',
  'Cześć, dziękujemy za zakupy. Faktura w załączniku (plik faktura_11.2026.pdf).',
  'Verify your e-mail address to activate your account. The link expires in 24 hours.',
  'We noticed a new sign-in to your account from Chrome on Windows. Was this you?',
  'Your invoice is due. You can pay by card, bank transfer or PayPal.',
  'Version 2.0.1 is out: Node.js 24, ASP.NET support, README.md and config.yml have changed, e.g. the default port.',
  'Läuft ab: Ihr Abo. Verlängern Sie es bis 30.11.2026 um 12.30 Uhr, sonst endet es.',
  'Il tuo pacco è in consegna con DHL. Apri l’app per seguirlo.',
] as const

function senderOf(random: Random): Sender {
  const own = `${pick(random, WORDS)}${pick(random, ['', '-', ''])}${pick(random, ENDINGS)}.${pick(random, SUFFIXES)}`
  const domain = chance(random, 0.15) ? pick(random, ODD_DOMAINS) : own
  const host = pick(random, ['www', 'click', 'links', 'go', 'email', 't'])
  const tracker = chance(random, 0.4) ? pick(random, TRACKERS) : `${host}.${domain}`
  const isTracked = chance(random, 0.7)
  const track = (url: string, r: Random) => {
    if (!isTracked) return url
    return chance(r, 0.3)
      ? `https://${tracker}/c?u=${encodeURIComponent(url)}&m=${code(r, 8)}`
      : `https://${tracker}/ls/click?upn=${code(r, 80)}`
  }
  return { name: pick(random, PEOPLE), domain, track }
}

type Shape = (sender: Sender, random: Random) => ScannedContent

function mailOf(
  { name, domain }: Sender,
  random: Random,
  subject: string,
  html: string,
  text?: string,
): ScannedContent {
  const isOwn = chance(random, 0.8)
  return {
    from: {
      address: `${pick(random, ['news', 'hello', 'no-reply', 'billing', 'support'])}@${isOwn ? domain : `mail.${domain}`}`,
      name,
    },
    subject,
    html: [html],
    ...(text === undefined ? {} : { text }),
  }
}

function link(sender: Sender, random: Random, url: string, text: string): string {
  const style = chance(random, 0.5) ? ' style="color:#1a73e8;text-decoration:none"' : ''
  return `<a href="${sender.track(url, random).replaceAll('&', '&amp;')}"${style}>${text}</a>`
}

const newsletter: Shape = (sender, random) => {
  const { domain } = sender
  const articles = Array.from({ length: times(random, 2, 12) }, () => {
    const url = `https://www.${domain}/${code(random, 10)}?utm_source=mail&utm_medium=email`
    const text = pick(random, ['Read more', 'Weiterlesen', 'En savoir plus', '続きを読む', `www.${domain}`, `https://${domain}/sale`, '<img src="https://cdn.example-images.net/a.png" alt="Look at our autumn range">']) // biome-ignore format: a list
    return `<tr><td><h2>${pick(random, TEXTS)}</h2><p>${pick(random, TEXTS)} ${link(sender, random, url, text)}</p></td></tr>`
  })
  const partner = chance(random, 0.3)
    ? `<p>Partner: ${link(sender, random, `https://${pick(random, ODD_DOMAINS)}/`, pick(random, ODD_DOMAINS))}</p>`
    : ''
  const short = chance(random, 0.2)
    ? `<a href="https://${pick(random, SHORTENERS)}/${code(random, 7)}">Map</a>`
    : ''
  return mailOf(
    sender,
    random,
    pick(random, TEXTS).slice(0, 60),
    `<table>${articles.join('')}</table>${partner}${short}${footer(sender, random)}`,
  )
}

const invoice: Shape = (sender, random) => {
  const { domain } = sender
  const pay = chance(random, 0.3)
    ? `<a href="https://www.paypal.com/invoice/p/#${code(random, 16)}">${pick(random, ['Pay with PayPal', 'https://www.paypal.com/invoice', 'paypal.com'])}</a>`
    : link(sender, random, `https://${domain}/pay/${code(random)}`, 'Pay now')
  const words = chance(random, 0.3)
    ? `<p>Or at ${link(sender, random, 'https://paypal.me/acme', 'paypal.me/acme')}</p>`
    : ''
  const text = `Invoice ${times(random, 1000, 9999)}\n\nPay here: https://${domain}/pay/${code(random)}\nQuestions: billing@${domain}`
  return mailOf(
    sender,
    random,
    `Rechnung / Invoice ${times(random, 1000, 9999)}`,
    `<p>${pick(random, TEXTS)}</p><table border=1><tr><td>Total<td>19.90 EUR</table>${pay}${chance(random, 0.3) ? words : ''}${footer(sender, random)}`,
    text,
  )
}

const passwordReset: Shape = (sender, random) => {
  const url = `https://${pick(random, ['app', 'account', 'login', 'id', 'auth'])}.${sender.domain}/reset?token=${code(random, 43)}&email=anna%40example.com&redirect=${encodeURIComponent(`https://${sender.domain}/login`)}`
  const html = `<p>Reset your password:</p><p><a href="${url}" class="button">Reset password</a></p><p>Or copy: <a href="${url}">${url.replaceAll('&', '&amp;')}</a></p><p>We will never ask for your password.</p>`
  return mailOf(sender, random, 'Reset your password', html, `Reset your password: ${url}\n`)
}

const orderConfirmation: Shape = (sender, random) => {
  const [carrier, url] = pick(random, [
    [
      'DHL',
      'https://www.dhl.de/de/privatkunden/pakete-empfangen/verfolgen.html?piececode=00340434',
    ],
    ['UPS', 'https://www.ups.com/track?tracknum=1Z999AA10123456784'],
    ['FedEx', 'https://www.fedex.com/fedextrack/?trknbr=123456789012'],
    ['Royal Mail', 'https://www.royalmail.com/track-your-item#/tracking-results/AB123456789GB'],
    ['USPS', 'https://tools.usps.com/go/TrackConfirmAction?tLabels=9400'],
    ['GLS', 'https://gls-group.eu/track/12345'],
  ] as const)
  const items = Array.from(
    { length: times(random, 1, 6) },
    () =>
      `<tr><td><img src="https://cdn.${sender.domain}/${code(random, 6)}.jpg" alt="Shoe 42"></td><td>${pick(random, TEXTS)}</td></tr>`,
  )
  const text = pick(random, [
    'Track your parcel',
    `${carrier} 00340434`,
    'Follow it',
    'Sendung verfolgen',
  ])
  return mailOf(
    sender,
    random,
    `Order ${times(random, 10000, 99999)}`,
    `<table>${items.join('')}</table>${link(sender, random, url, text)}${footer(sender, random)}`,
  )
}

const alert: Shape = (sender, random) => {
  const host = pick(random, [
    '10.0.3.17:9090',
    '192.168.1.20',
    '203.0.113.9:3000',
    'grafana.internal',
    'prometheus:9090',
    `status.${sender.domain}`,
  ])
  const url = `http://${host}/d/${code(random, 8)}`
  const html = `<pre>CPU on ${host} is high\nsee <a href="${url}">${url}</a></pre>${chance(random, 0.2) ? '<a href="file:///\\\\server\\share\\report.xlsx">Report</a>' : ''}`
  return mailOf(sender, random, '[FIRING] HighCpu', html, `CPU high\n${url}\n`)
}

const plainLetter: Shape = (sender, random) => {
  const url = pick(random, [`https://${sender.domain}/a`, 'https://docs.google.com/document/d/1abc/edit?usp=sharing', 'https://zoom.us/j/123456789?pwd=abc', 'https://teams.microsoft.com/l/meetup-join/19%3ameeting', 'https://meet.google.com/abc-defg-hij', 'https://www.dropbox.com/s/abc/file.pdf?dl=0', 'https://we.tl/t-abc', 'https://maps.app.goo.gl/abc', 'https://medium.com/@someone/a-story', 'https://www.amazon.de/dp/B00TEST?tag=x', 'https://eur01.safelinks.protection.outlook.com/?url=https%3A%2F%2Fwww.example.com%2F&data=05', `https://www.google.com/url?q=https://${sender.domain}/&sa=D`]) // biome-ignore format: a list
  const text = `${pick(random, TEXTS)}\n\n${url}\n\n${pick(random, PEOPLE)}\n${sender.domain} | info@${sender.domain}`
  const html = `<div dir="ltr">${pick(random, TEXTS)}<br><a href="${url.replaceAll('&', '&amp;')}">${chance(random, 0.5) ? url.replaceAll('&', '&amp;') : 'here'}</a></div>`
  return mailOf(sender, random, pick(random, TEXTS).slice(0, 40), html, text)
}

const survey: Shape = (sender, random) => {
  const stars = [1, 2, 3, 4, 5]
    .map((n) => link(sender, random, `https://survey.${sender.domain}/r?n=${n}`, '★'))
    .join(' ')
  const form = chance(random, 0.3) ? `<form action="https://${pick(random, [`survey.${sender.domain}`, 'forms.survey-host.io'])}/r" method=post><input type=radio name=q value=1><input type=hidden name=token value=x><input name=email type=email><button>OK</button></form>` : '' // biome-ignore format: one piece
  const careless = chance(random, 0.3)
    ? '<a href="javascript:void(0)">Top</a><a href="#">x</a><a href="">y</a><a name=top>z</a>'
    : ''
  return mailOf(
    sender,
    random,
    'How was it?',
    `<p>${pick(random, TEXTS)}</p>${stars}${form}${careless}${footer(sender, random)}`,
  )
}

const invitation: Shape = (sender, random) => {
  const url = `https://app.${sender.domain}/invite/${code(random)}`
  const html = `<p>${pick(random, PEOPLE)} (anna@${pick(random, ODD_DOMAINS)}) has shared a file with you.</p><!--[if mso]><v:roundrect href="${url}"><center>Open</center></v:roundrect><![endif]--><!--[if !mso]><!-->${link(sender, random, url, 'Open')}<!--<![endif]-->${footer(sender, random)}`
  return mailOf(
    { ...sender, name: `${pick(random, PEOPLE)} via ${sender.domain}` },
    random,
    'A file was shared with you',
    html,
  )
}

const SHAPES: readonly Shape[] = [
  newsletter,
  invoice,
  passwordReset,
  orderConfirmation,
  alert,
  plainLetter,
  survey,
  invitation,
]

function footer(sender: Sender, random: Random): string {
  const { domain } = sender
  const social = Array.from({ length: times(random, 0, 4) }, () => {
    const url = `${pick(random, SOCIAL)}/${domain.split('.')[0]}`
    return link(
      sender,
      random,
      `https://www.${url}`,
      pick(random, [url, '<img src="https://cdn.example-images.net/i.png" alt="">', 'Follow us']),
    )
  })
  const out = link(
    sender,
    random,
    `https://${domain}/u/${code(random)}`,
    pick(random, ['Unsubscribe', 'Abmelden', 'Se désabonner', '配信停止']),
  )
  const own = chance(random, 0.6)
    ? link(
        sender,
        random,
        `https://${domain}/`,
        pick(random, [domain, `www.${domain}`, `https://www.${domain}/`]),
      )
    : ''
  return `<hr>${social.join(' | ')} ${out} <a href="mailto:unsubscribe@${domain}?subject=unsubscribe">by mail</a> ${own} © 2026 ${domain}<img src="${sender.track(`https://${domain}/o.gif`, random)}" width=1 height=1>`
}

/** Documents are whole, in part, or badly nested. */
function wrap(html: string, random: Random): string {
  return pick(random, [
    html,
    `<!doctype html><html><head><meta charset=utf-8><title>Mail</title><style>a{color:red} @media x{.b{width:1px}}</style></head><body>${html}</body></html>`,
    `<html><body><div style="display:none">${'&zwnj;&nbsp;'.repeat(40)}</div><table><tr><td>${html}</body>`,
    `<head><script type="application/ld+json">{"@type":"EmailMessage","url":"https://schema.org/a"}</script></head>${html}</div></div>`,
  ])
}
