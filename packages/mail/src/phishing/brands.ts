/**
 * Names that phishing borrows, and the domains that are really theirs. From public knowledge; short,
 * because every name costs a little doubt about the innocent.
 *
 * - `keys`: the name as a label of a host.
 * - `names`: as a display name begins or is; left out where the keys will do, and never a word or a
 *   surname by itself.
 * - `isWord`: also a word, a surname or a place; only its whole domain or an imitation in other
 *   letters says anything.
 * - `isSocial`: everyone links to it, and often through a tracker: its address over another link
 *   says little.
 * - `isEverywhere`: the name is theirs under every suffix.
 */
export interface Brand {
  readonly name: string
  readonly keys: readonly string[]
  readonly domains: readonly string[]
  readonly names?: readonly string[]
  readonly isWord?: boolean
  readonly isSocial?: boolean
  readonly isEverywhere?: boolean
}

export const brands: readonly Brand[] = [
  // Accounts
  { name: 'Microsoft', keys: ['microsoft', 'office365', 'microsoft365', 'microsoftonline', 'onedrive', 'sharepoint'], domains: ['microsoft.com', 'microsoftonline.com', 'office.com', 'office365.com', 'microsoft365.com', 'live.com', 'onedrive.com', 'sharepoint.com', 'windows.net', 'azure.com', 'microsoft.net', 'msn.com', 'outlook.com', 'onmicrosoft.com', 'cloud.microsoft', 'aka.ms', '1drv.ms', 'microsoftstore.com', 'sharepointonline.com', 'office.net', 'microsoft.de'], names: ['microsoft', 'office 365', 'office365', 'microsoft 365', 'onedrive', 'sharepoint'] },
  { name: 'Outlook', keys: ['outlook'], isWord: true, domains: ['outlook.com', 'office.com', 'live.com'], names: [] },
  { name: 'Apple', keys: ['apple', 'appleid'], isWord: true, domains: ['apple.com', 'icloud.com', 'apple.co', 'itunes.com', 'apple.news'], names: ['apple id', 'apple support', 'apple inc', 'app store'] },
  { name: 'iCloud', keys: ['icloud'], domains: ['icloud.com', 'icloud.com.cn', 'apple.com'] },
  { name: 'Google', keys: ['google', 'gmail', 'googlemail'], isEverywhere: true, domains: ['google.com', 'gmail.com', 'googlemail.com', 'goo.gl', 'g.co', 'withgoogle.com', 'googleapis.com', 'googleusercontent.com', 'translate.goog', 'googleblog.com', 'googlegroups.com', 'googlesource.com', 'googletagmanager.com', 'googleadservices.com'] },
  { name: 'Amazon', keys: ['amazon'], isWord: true, isEverywhere: true, domains: ['amazon.com', 'amazonaws.com', 'amazon.dev', 'amazonses.com', 'media-amazon.com', 'amazonpay.com', 'a.co', 'amzn.to', 'amzn.eu'], names: ['amazon prime', 'amazon support', 'amazon.com', 'amazon security', 'amazon customer service'] },
  { name: 'Facebook', keys: ['facebook', 'facebookmail'], isSocial: true, domains: ['facebook.com', 'fb.com', 'fb.me', 'facebookmail.com', 'meta.com', 'messenger.com', 'facebook.net', 'fbcdn.net', 'metamail.com'] },
  { name: 'Instagram', keys: ['instagram'], isSocial: true, domains: ['instagram.com', 'instagr.am', 'cdninstagram.com', 'ig.me'] },
  { name: 'WhatsApp', keys: ['whatsapp'], isSocial: true, domains: ['whatsapp.com', 'wa.me', 'whatsapp.net'] },
  { name: 'LinkedIn', keys: ['linkedin'], isSocial: true, domains: ['linkedin.com', 'lnkd.in', 'licdn.com'] },
  { name: 'TikTok', keys: ['tiktok'], isSocial: true, domains: ['tiktok.com', 'tiktokcdn.com', 'tiktokv.com'] },
  { name: 'YouTube', keys: ['youtube'], isSocial: true, domains: ['youtube.com', 'youtu.be', 'ytimg.com', 'youtube-nocookie.com', 'google.com'] },
  { name: 'Netflix', keys: ['netflix'], isEverywhere: true, domains: ['netflix.com', 'nflxext.com', 'nflximg.net', 'netflix.net'] },
  { name: 'Spotify', keys: ['spotify'], isSocial: true, domains: ['spotify.com', 'spotify.link', 'scdn.co', 'byspotify.com', 'spotifyforartists.com'] },
  { name: 'Disney+', keys: ['disneyplus'], domains: ['disneyplus.com'], names: ['disney+', 'disney plus'] },
  { name: 'Dropbox', keys: ['dropbox'], domains: ['dropbox.com', 'dropboxmail.com', 'dropboxusercontent.com', 'db.tt', 'dropbox.tech', 'dropboxforum.com'] },
  { name: 'DocuSign', keys: ['docusign'], domains: ['docusign.com', 'docusign.net', 'docusign.fr', 'docusign.de', 'docusign.co.uk'] },
  { name: 'Adobe', keys: ['adobe', 'adobesign'], domains: ['adobe.com', 'adobesign.com', 'adobe.io', 'acrobat.com', 'behance.net', 'typekit.net', 'adobeexchange.com'], names: ['adobe sign', 'adobe acrobat', 'adobe document cloud', 'adobe security'], isWord: true },
  { name: 'WeTransfer', keys: ['wetransfer'], domains: ['wetransfer.com', 'we.tl', 'wetransfer.net'] },
  { name: 'GitHub', keys: ['github'], isSocial: true, domains: ['github.com', 'github.io', 'githubusercontent.com', 'github.dev', 'github.blog', 'githubassets.com', 'githubstatus.com'] },
  { name: 'Steam', keys: ['steampowered', 'steamcommunity'], domains: ['steampowered.com', 'steamcommunity.com', 'steamgames.com', 'steamstatic.com'], names: ['steam support', 'steam community', 'steampowered'] },
  { name: 'Roblox', keys: ['roblox'], domains: ['roblox.com', 'rbxcdn.com'] },
  { name: 'Airbnb', keys: ['airbnb'], isEverywhere: true, domains: ['airbnb.com', 'airbnbmail.com', 'muscache.com'] },
  { name: 'Booking.com', keys: ['bookingcom'], domains: ['booking.com', 'bookingcom.info'], names: ['booking.com'] },

  // Money
  { name: 'PayPal', keys: ['paypal'], domains: ['paypal.com', 'paypal.me', 'paypalobjects.com', 'paypal-communication.com', 'paypalcorp.com', 'paypal.de', 'paypal.co.uk', 'paypal.fr', 'paypal.it', 'paypal.es', 'paypal.at', 'paypal.ch', 'paypal.cn', 'xoom.com', 'paypal-community.com', 'paypal-prepaid.com', 'paypal-mktg.com'] },
  { name: 'eBay', keys: ['ebay'], isEverywhere: true, domains: ['ebay.com', 'ebayimg.com', 'ebaystatic.com', 'ebayinc.com'] },
  { name: 'Stripe', keys: ['stripe'], isWord: true, domains: ['stripe.com', 'stripe.network', 'stripe.dev', 'link.com'], names: ['stripe payments', 'stripe support'] },
  { name: 'Klarna', keys: ['klarna'], domains: ['klarna.com', 'klarna.net', 'klarnacdn.net'] },
  { name: 'Revolut', keys: ['revolut'], domains: ['revolut.com', 'revolut.me'] },
  { name: 'American Express', keys: ['americanexpress', 'amex'], domains: ['americanexpress.com', 'amex.com', 'aexp.com', 'aexp-static.com', 'amextravel.com'], names: ['american express'] },
  { name: 'Chase', keys: ['chasebank', 'jpmorganchase'], domains: ['chase.com', 'jpmorgan.com', 'jpmorganchase.com'], names: ['chase bank', 'chase online', 'jpmorgan chase'] },
  { name: 'Wells Fargo', keys: ['wellsfargo'], domains: ['wellsfargo.com', 'wf.com', 'wellsfargomedia.com'], names: ['wells fargo'] },
  { name: 'Bank of America', keys: ['bankofamerica'], domains: ['bankofamerica.com', 'bofa.com', 'bac.com'], names: ['bank of america'] },
  { name: 'Citibank', keys: ['citibank'], isEverywhere: true, domains: ['citi.com', 'citibank.com', 'citigroup.com'] },
  { name: 'Capital One', keys: ['capitalone'], domains: ['capitalone.com', 'capitalone.co.uk', 'capitalone.ca'], names: ['capital one'] },
  { name: 'HSBC', keys: ['hsbc'], isEverywhere: true, domains: ['hsbc.com', 'hsbcnet.com', 'hsbcgroup.com'] },
  { name: 'Barclays', keys: ['barclays'], domains: ['barclays.co.uk', 'barclays.com', 'barclaycard.co.uk', 'barclaysus.com', 'barclays.net'], names: ['barclays'] },
  { name: 'Lloyds Bank', keys: ['lloydsbank', 'lloydsbankinggroup'], domains: ['lloydsbank.com', 'lloydsbank.co.uk', 'lloydsbankinggroup.com'], names: ['lloyds bank'] },
  { name: 'NatWest', keys: ['natwest'], domains: ['natwest.com', 'natwestgroup.com'] },
  { name: 'Santander', keys: ['santander'], isWord: true, isEverywhere: true, domains: ['santander.com', 'santanderbank.com', 'bancosantander.es', 'gruposantander.com'], names: ['banco santander', 'santander bank', 'santander online'] },
  { name: 'BBVA', keys: ['bbva'], isEverywhere: true, domains: ['bbva.com', 'bbvanet.com'] },
  { name: 'CaixaBank', keys: ['caixabank'], domains: ['caixabank.es', 'caixabank.com', 'lacaixa.es'] },
  { name: 'Deutsche Bank', keys: ['deutschebank', 'deutsche-bank'], domains: ['db.com', 'deutsche-bank.de', 'deutschebank.com', 'deutschebank.co.in'], names: ['deutsche bank'] },
  { name: 'Commerzbank', keys: ['commerzbank'], domains: ['commerzbank.de', 'commerzbank.com', 'commerzbanking.de'] },
  { name: 'Sparkasse', keys: ['sparkasse'], isWord: true, domains: ['sparkasse.de', 'sparkasse.at', 's-finanzgruppe.de'], names: ['sparkasse online', 'sparkasse sicherheit', 'ihre sparkasse'] },
  { name: 'Postbank', keys: ['postbank'], isEverywhere: true, domains: ['postbank.de'] },
  { name: 'BNP Paribas', keys: ['bnpparibas'], domains: ['bnpparibas.com', 'bnpparibas.net', 'bnpparibas.fr', 'bnpparibas', 'bnpparibasfortis.be'], names: ['bnp paribas'] },
  { name: 'Credit Agricole', keys: ['creditagricole', 'credit-agricole'], domains: ['credit-agricole.fr', 'credit-agricole.com', 'credit-agricole.it'], names: ['credit agricole', 'crédit agricole'] },
  { name: 'La Banque Postale', keys: ['labanquepostale'], domains: ['labanquepostale.fr', 'labanquepostale.com'], names: ['la banque postale'] },
  { name: 'Intesa Sanpaolo', keys: ['intesasanpaolo'], domains: ['intesasanpaolo.com', 'intesasanpaolo.it', 'intesasanpaolobank.rs'], names: ['intesa sanpaolo'] },
  { name: 'UniCredit', keys: ['unicredit'], domains: ['unicredit.it', 'unicreditgroup.eu', 'unicredit.eu', 'unicredit.ro', 'unicreditbank.cz', 'unicreditbank.hu'] },
  { name: 'PostFinance', keys: ['postfinance'], domains: ['postfinance.ch'] },
  { name: 'Mercado Libre', keys: ['mercadolibre', 'mercadopago', 'mercadolivre'], isEverywhere: true, domains: ['mercadolibre.com', 'mercadopago.com', 'mercadolivre.com.br'], names: ['mercado libre', 'mercado pago', 'mercado livre'] },
  { name: 'Coinbase', keys: ['coinbase'], domains: ['coinbase.com', 'cb-device-intelligence.com', 'base.org'] },
  { name: 'Binance', keys: ['binance'], domains: ['binance.com', 'binance.us', 'binance.org', 'bnbstatic.com', 'binance.vision'] },
  { name: 'MetaMask', keys: ['metamask'], domains: ['metamask.io', 'metamask.zendesk.com'] },
  { name: 'Trezor', keys: ['trezor'], domains: ['trezor.io', 'satoshilabs.com'] },
  { name: 'Ledger', keys: ['ledgerwallet', 'ledgerlive'], domains: ['ledger.com', 'ledgerwallet.com'], names: ['ledger live', 'ledger wallet', 'ledger support'] },

  // Parcels, states, telephones
  { name: 'DHL', keys: ['dhl'], isEverywhere: true, domains: ['dhl.com', 'dhl.de', 'dhlecs.com', 'dhlparcel.nl', 'dhl-news.com', 'dpdhl.com'], names: ['dhl', 'dhl express', 'dhl paket'] },
  { name: 'FedEx', keys: ['fedex'], domains: ['fedex.com', 'fedex.ca'] },
  { name: 'UPS', keys: ['upsdelivery'], domains: ['ups.com'], names: ['ups delivery', 'ups my choice', 'ups express'] },
  { name: 'USPS', keys: ['usps'], domains: ['usps.com', 'usps.gov', 'uspis.gov'] },
  { name: 'Royal Mail', keys: ['royalmail'], domains: ['royalmail.com', 'royalmailgroup.com', 'parcelforce.com'], names: ['royal mail'] },
  { name: 'IRS', keys: ['irsgov'], domains: ['irs.gov'], names: ['irs', 'internal revenue service'] },
  { name: 'HMRC', keys: ['hmrc'], domains: ['hmrc.gov.uk', 'gov.uk'], names: ['hmrc', 'hm revenue & customs', 'hm revenue and customs'] },
  { name: 'Verizon', keys: ['verizon'], domains: ['verizon.com', 'verizonwireless.com', 'verizon.net', 'vzw.com', 'verizonmail.com'] },
  { name: 'Vodafone', keys: ['vodafone'], isEverywhere: true, domains: ['vodafone.com', 'vodafone.de', 'vodafone.co.uk'] },
  { name: 'GoDaddy', keys: ['godaddy'], domains: ['godaddy.com', 'secureserver.net', 'godaddysites.com'] },
] // biome-ignore format: one brand, one line

/** Words that lure, beside a brand's name in a host. */
export const baitWords: readonly string[] = [
  'account', 'alert', 'auth', 'authenticate', 'billing', 'confirm', 'customer', 'help', 'helpdesk',
  'id', 'invoice', 'konto', 'limited', 'locked', 'login', 'logon', 'myaccount', 'online', 'password',
  'payment', 'recover', 'recovery', 'refund', 'resolution', 'secure', 'secured', 'security',
  'service', 'services', 'sicherheit', 'signin', 'support', 'suspended', 'track', 'tracking',
  'unlock', 'update', 'validate', 'verification', 'verify', 'wallet', 'webmail',
] // biome-ignore format: a list

/** Hosts that stand for others by design: click tracking, link checking. Matched with subdomains. */
export const trackerDomains: ReadonlySet<string> = new Set([
  'sendgrid.net', 'list-manage.com', 'mailchimp.com', 'mandrillapp.com', 'hubspotlinks.com',
  'hubspotemail.net', 'hubspotlinksfree.com', 'hs-sites.com', 'exct.net', 'exacttarget.com',
  'klclick.com', 'klclick1.com', 'klclick2.com', 'klclick3.com', 'trk.klclick.com', 'mailgun.org',
  'mailgun.net', 'rs6.net', 'constantcontact.com', 'createsend.com', 'cmail19.com', 'cmail20.com',
  'cmail1.com', 'cmail2.com', 'createsend1.com', 'sendinblue.com', 'sendibt2.com', 'sendibt3.com',
  'brevo.com', 'sibmail.com', 'awstrack.me', 'mjt.lu', 'mailjet.com', 'customeriomail.com',
  'e.customeriomail.com', 'pstmrk.it', 'postmarkapp.com', 'sparkpostmail.com', 'sparkpostmail1.com',
  'activehosted.com', 'emlnk.com', 'emlnk1.com', 'emlnk9.com', 'lt.acemlna.com', 'acemlnb.com',
  'mailerlite.com', 'mlsend.com', 'ml.mailersend.com', 'convertkit-mail.com', 'ckarchive.com',
  'convertkit-mail2.com', 'kit-mail.com', 'marketo.com', 'mktoweb.com', 'mkt.com', 'pardot.com',
  'eloqua.com', 'en25.com', 'iterable.com', 'braze.com', 'appboy.com', 'intercom-mail.com',
  'intercom-links.com', 'mailpanion.com', 'getresponse.com', 'gr8.com', 'rdir.pl', 'cleverreach.com',
  'crsend.com', 'rapidmail.de', 'emailsys1a.net', 'newsletter2go.com', 'sendy.co', 'aweber.com',
  'omnisend.com', 'omnisendlink.com', 'drip.com', 'dripemail2.com', 'substack.com', 'beehiiv.com',
  'mcas.ms', 'outlook.com', 'urldefense.com', 'urldefense.us', 'proofpoint.com',
  'linkprotect.cudasvc.com', 'mimecast.com', 'mimecastprotect.com', 'safelinks.protection.outlook.com',
]) // biome-ignore format: a list

/** Short addresses: where they lead cannot be seen. */
export const shortenerDomains: ReadonlySet<string> = new Set([
  'bit.ly', 'bitly.com', 't.co', 'tinyurl.com', 'ow.ly', 'is.gd', 'buff.ly', 'rebrand.ly', 'cutt.ly',
  'rb.gy', 't.ly', 'shorturl.at', 'tiny.cc', 'v.gd', 'short.io', 'bl.ink', 'lnkd.in', 'soo.gd',
  's.id', 'qr.ae', 'clck.ru', 'goo.gl', 'dub.sh', 'dlvr.it', 'trib.al', 'surl.li', 'u.to',
]) // biome-ignore format: a list
