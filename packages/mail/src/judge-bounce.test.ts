/**
 * Who is suppressed for what a server says: rows that were wrong once, and the form of the rule. The words of
 * the properties are this file's own, so that a gap in the tables shows.
 */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ADDRESS_CODES, GENERAL_CODE } from './address-evidence.ts'
import { classifyFailure } from './classify-reply.ts'
import type { FailureCategory } from './failure-category.ts'
import { judgeBounce } from './judge-bounce.ts'

const judge = (diagnostic: string, status?: string, recipient?: string) =>
  judgeBounce({ diagnostic, status, recipient })

describe('a refusal that suppresses', () => {
  it.each<[string, string | undefined, FailureCategory, string, string]>([
    ['550 5.1.1 User unknown', undefined, 'invalid_recipient', 'enhanced_code', '5.1.1'],
    ['', '5.1.1', 'invalid_recipient', 'enhanced_code', '5.1.1'],
    ['', '5.1.2', 'invalid_recipient_domain', 'enhanced_code', '5.1.2'],
    ['550 5.1.3 Bad address syntax', undefined, 'invalid_recipient', 'enhanced_code', '5.1.3'],
    ['550 5.1.6 Moved', undefined, 'invalid_recipient', 'enhanced_code', '5.1.6'],
    [
      '550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient a@example.com not found by SMTP address lookup',
      undefined,
      'invalid_recipient',
      'enhanced_code',
      '5.1.10',
    ],
    ['556 5.1.10 Null MX', undefined, 'invalid_recipient_domain', 'enhanced_code', '5.1.10'],
    ['550 5.2.1 Not accepting messages', '5.2.1', 'mailbox_disabled', 'enhanced_code', '5.2.1'],
    [
      "550-5.1.1 The email account that you tried to reach does not exist. Please try 550-5.1.1 double-checking the recipient's email address for typos or 550-5.1.1 unnecessary spaces. Learn more at 550 5.1.1 https://support.google.com/mail/?p=NoSuchUser",
      '5.1.1',
      'invalid_recipient',
      'enhanced_code',
      '5.1.1',
    ],
    ['550 User unknown', '5.0.0', 'invalid_recipient', 'words', 'user unknown'],
    ['550 5.1.0 unknown user', undefined, 'invalid_recipient', 'words', 'unknown user'],
    ['550 Unrouteable address', undefined, 'invalid_recipient', 'words', 'unrouteable address'],
    ['550 x@example.com:user not exist', undefined, 'invalid_recipient', 'words', 'user not exist'],
    [
      '550 x@example.com does not have an account here',
      undefined,
      'invalid_recipient',
      'words',
      'does not have an account',
    ],
    ['550 account not activated', undefined, 'invalid_recipient', 'words', 'account not activated'],
    ['550 Utilisateur inconnu', undefined, 'invalid_recipient', 'words', 'utilisateur inconnu'],
    ['550 This mailbox is disabled', undefined, 'mailbox_disabled', 'words', 'mailbox is disabled'],
    ['Unknown user: a@example.com', undefined, 'invalid_recipient', 'words', 'unknown user'],
    [
      "Your message wasn't delivered to a@example.com because the address couldn't be found",
      undefined,
      'invalid_recipient',
      'words',
      "address couldn't be found",
    ],
    [
      'Domain does not exist',
      undefined,
      'invalid_recipient_domain',
      'words',
      'domain does not exist',
    ],
    [
      'Host or domain name not found. Name service error for name=example.invalid type=MX: Host not found',
      '5.4.4',
      'invalid_recipient_domain',
      'words',
      'host or domain name not found',
    ],
    [
      "554 delivery error: dd This user doesn't have a yahoo.com account (a@example.com) [0] - mta1082.mail.example",
      undefined,
      'invalid_recipient',
      'words',
      "doesn't have a yahoo.com account",
    ],
  ])('includes %s (%s)', (diagnostic, status, category, by, evidence) => {
    expect(judge(diagnostic, status)).toEqual({
      isOfAddress: true,
      isOtherwise: false,
      classified: { category, by, evidence },
    })
  })
})

it('does not take the end of an identifier for the code of a temporary failure', () => {
  const judged = judge('550 5.1.1 The email account does not exist. 17si5697335qks.415 - gsmtp')
  expect(judged.isOfAddress).toBe(true)
  expect(judge('550 5.1.1 User unknown (ID:440:1:2 (mx.example.net))').isOfAddress).toBe(true)
  expect(judge('550 5.1.1 User unknown. 450 4.2.1 Try mx2').isOfAddress).toBe(false)
})

describe('a reply about another address', () => {
  const judgeOf = (said: string, status?: string) =>
    judge(said, status, 'cy+shop@example.net').isOfAddress

  it.each([
    '550 <me@shop.example.com>: User unknown in virtual mailbox table',
    '550 5.1.1 <me@shop.example.com>: User unknown',
    '550 5.1.1 <dan@example.net>: User unknown',
    '550 bounces+abc@shop.example.com: user unknown',
    '550-Verification failed for <me@shop.example.com>\n550-Called: 192.0.2.1\n550-Sent: RCPT TO:<me@shop.example.com>\n550-Response: 550 5.1.1 User unknown',
    '550 5.1.1 sender verify failed',
    '550 5.1.1 Sender callout: no such user',
    '550 Return address does not exist',
    '550 Reply address invalid',
    '550 Bounce address unknown',
    '550 MAIL FROM user unknown',
    '550 unknown user <>',
    '550 Invalid address in To: field',
    '550 Domain of me@shop.example.com does not exist',
    '550 domain shop.example.com does not exist',
    '550 5.1.2 mx.sender.example: host unknown',
    '550 5.1.1 cy@example.net is forwarded to <gone@else.example.com>: User unknown',
  ])('suppresses nobody: %s', (said) => {
    expect(judgeOf(said)).toBe(false)
    expect(judgeOf(said, '5.1.1')).toBe(false)
  })

  it.each([
    '550 5.1.1 <cy+shop@example.net>: User unknown',
    '550 <CY@mx1.Example.NET>: User unknown',
    '550 User unknown: cy@example.net.',
    '550 User unknown. For help write to postmaster@mx.example.com',
    '550 domain example.net does not exist',
    '550 5.1.1 User unknown [mx.example.com]',
  ])('does not name the recipient itself: %s', (said) => {
    expect(judgeOf(said)).toBe(true)
  })
})

describe('ambiguous words', () => {
  it.each([
    '550 mailbox locked',
    '550 account suspended',
    '550 mailbox closed',
    '550 mailbox is closed for the holidays',
    '550 user deleted your message',
    '550 recipient deleted without reading',
    '550 invalid email',
    '550 email not valid',
    '550 e-mail removed',
    '550 Unknown user type',
    '550 no such user agent',
    '550 invalid recipient count',
    '550 invalid alias loop',
    '550 unknown host',
    '550 user no longer accepts mail in this form',
    '550 domain does not accept mail over IPv6',
    '535 account disabled',
    '552 mailbox unavailable',
    '550 5.2.1 :  (DYN:T1) https://postmaster.example.com/errors/554dynt1.html',
    '550 Пользователь не найден, повторите позже',
  ])('suppress nobody: %s', (said) => {
    expect(judge(said).isOfAddress).toBe(false)
  })

  it.each([
    '550 Пользователь не найден',
    '550 5.1.1 User 450 does not exist',
    '550 5.1.1 No such user (ticket 441)',
    '550 5.1.1 User unknown; see 4.1.2 of our guide',
    '550 5.1.1 The account is not active, call +1 415 400 1234',
    '550 5.1.1 The email account that you tried to reach does not exist. Please try double-checking the address for typos, and try again',
    '550 User unknown (in reply to RCPT TO command)',
    'host mx.example.com [192.0.2.7] said: 550 User unknown',
    'SMTP error from remote mail server after RCPT TO:<a@example.com>: no such user',
    'No such user. Giving up on 192.0.2.7.',
    '550 5.2.1 Not accepting messages',
    '550 Sorry, the mailbox you tried to reach is now disabled',
    '550 <cy> is now disabled with MTA service.',
    '550 No one with that email address here',
    '550 Unbekannter Empfänger',
  ])('differ from clear ones: %s', (said) => {
    expect(judge(said).isOfAddress).toBe(true)
  })

  it('outweigh a code about the address when they say that the problem will pass', () => {
    for (const said of [
      '550 5.1.1 User unknown, try later',
      '550 5.1.1 Benutzer unbekannt, später',
    ])
      expect(judge(said)).toMatchObject({ isOfAddress: false, isOtherwise: true })
  })

  it('outweigh the words of a provider', () => {
    const of = (diagnostic: string) =>
      judgeBounce({
        recipient: 'cy@example.net',
        status: undefined,
        diagnostic,
        providerSays: 'Invalid Address',
      }).isOfAddress
    expect(of('550 Nobody')).toBe(true)
    expect(of('550 Boîte pleine')).toBe(false)
    expect(of('550 <me@shop.example.com> is not known')).toBe(false)
  })
})

describe('sentences of a known form', () => {
  it.each([
    'User john.doe unknown',
    'Employee has left the company',
    'Mailbox not in use',
    'The recipient address does not match any known user',
    'a@example.com... we do not know this user',
    "We don't have a user by that name",
    "You've reached an address that doesn't exist",
    'The user you are trying to contact is unknown',
    'user no longer has a mailbox here',
    'no longer a valid address',
    "this person doesn't work here",
    'Retired address',
    'mailbox has been decommissioned',
    'Student no longer enrolled, mailbox removed',
    'this recipient was removed from our server',
    'No mailbox, alias or list is called cy',
    'We have no employee with the address a@example.com',
    'The alias you wrote to is not defined here',
    "local server don't exists that user",
    'not user of this server',
    'Das Postfach wurde dauerhaft deaktiviert',
    'Die Mailadresse a@example.com ist auf diesem System nicht bekannt',
    'Ce compte a été supprimé',
    'La cuenta de correo a la que escribe fue dada de baja',
    'El usuario no está registrado',
    "L'indirizzo del destinatario è stato rimosso",
    'Usuário não cadastrado',
    'De mailbox is opgeheven',
    'Почтовый ящик не существует',
    '收件人邮箱不存在',
    '无此用户',
    'Bu adreste böyle bir kullanıcı yok',
    'That is not a recognised email account',
    'Wrong recipient',
    'We do not have such a user',
    'USER_UNKNOWN',
    'invalid domain mailbox user',
    'recipient domain must exist',
    'Former employee',
    'a@example.com wurde nicht gefunden',
    'Impossible de trouver cette adresse',
    'No se encontró el usuario',
    'Impossibile trovare la casella',
    'Não foi possível encontrar o endereço',
    'Не удалось найти пользователя',
    'Nieznany użytkownik',
    'Mottagaren finns inte',
    'ユーザーが存在しません',
    'Mailaddress is administratively disabled',
    'not found recipient account',
    'Address gone',
    'user is deceased',
    'no passwd entry for a@example.com',
    "can't map recipient to a mailbox",
    'No forwarding address for a@example.com',
    'The domain example.com does not have this user',
    'Never heard of a@example.com',
    'Non existing address',
    'MailboxNotFound',
    'User unknown. Message rejected.',
    "I can't deliver your message: no such mailbox here",
    'Your message was rejected because the user does not exist',
    'The e-mail address of this user has changed',
    'user closed account',
    'Domain example.com is no longer in use',
    'Unrouteable address Рекомендуем Вам проверить корректность указания адресов получателей.',
  ])('suppress without a code about the address: %s', (said) => {
    expect(judge(`550 ${said}`).isOfAddress).toBe(true)
    expect(classifyFailure({ reply: { code: 550, text: `550 ${said}` } }).category).toMatch(
      /^(?:invalid_recipient|invalid_recipient_domain|mailbox_disabled)$/,
    )
  })

  it.each([
    'wrong user name or password',
    'bad mail user agent',
    'not valid user of the relay',
    'not found: sender account',
    'home directory does not exist: user',
    'route not found recipient',
    'misspelled address in From header',
    'your address is unknown to us',
    'the address does not receive mail from outside',
    'does not have an authenticated mail account',
    'user is no longer allowed to send',
    'DNS error when resolving MX server for example.org: Domain name not found',
    'unable to find the recipient domain, try again',
    'wrong mailbox, it is full',
    'no such email from your domain',
    'unregistered user of the mail relay, please log in',
    'votre compte est inconnu',
  ])('suppress nobody where they are about something else: %s', (said) => {
    const refusal = { recipient: 'cy@example.net', status: undefined, diagnostic: `550 ${said}` }
    expect(judgeBounce(refusal).isOfAddress).toBe(false)
  })

  it.each([
    "Your message to cy@example.net couldn't be delivered. cy wasn't found at example.net.",
    'Ihre Nachricht an cy@example.net konnte nicht zugestellt werden. cy wurde nicht in example.net gefunden.',
  ])('name the recipient by its local part and its domain, too: %s', (diagnostic) => {
    const judged = (recipient: string) =>
      judgeBounce({ recipient, status: undefined, diagnostic }).isOfAddress
    expect(judged('cy@example.net')).toBe(true)
    expect(judged('dan@example.net')).toBe(false)
  })

  it.each([
    'cy left the company',
    'Mailbox not found: cy',
    'no mailbox for cy',
    "I don't know who cy is",
    'cannot deliver to cy: no such user',
  ])('name the recipient by its local part alone: %s', (said) => {
    const judged = (recipient: string) =>
      judgeBounce({ recipient, status: undefined, diagnostic: `550 ${said}` }).isOfAddress
    expect(judged('cy@example.net')).toBe(true)
    expect(judged('dan@example.net')).toBe(false)
  })

  it.each([
    'on Thu, 29 Apr 2007 16:51:51 -0500 The recipient name is not recognized The MTS-ID of the original message is: c=us;a= ;p=example;l=EXCHANGE000000000000000000 MSEXCH:IMS:EXAMPLE CITY:SITE:EXCHANGE 0 (000C05A6) Unknown Recipient',
    'on 4/29/07 11:34:45 PM Recipient Not Found MSEXCH:IMC:EXAMPLE:SITE:SERVER',
    '550 Requested action not taken: mailbox unavailable (-0000000022:2222:-0000000022)',
    '550 5.1.1 User unknown] The attachment contains the original mail headers.',
    'No mx record found for domain=example.net',
    '550 This e-mail address is no longer in use. Please use info@example.net instead.',
    '550 relay recipient not found',
    '550 recipient verification: no such user',
    '554 Hi [192.0.2.25], unresolvable address: <cy@example.net>; nosuchuser; cy@example.net',
  ])('are not changed by what servers write around them: %s', (diagnostic) => {
    const refusal = { recipient: 'cy@example.net', status: undefined, diagnostic }
    expect(judgeBounce(refusal).isOfAddress).toBe(true)
  })

  it.each(['sender', 'host', 'mail'])(
    'name nobody who is called like a word of replies: %s@example.net',
    (local) => {
      const recipient = `${local}@example.net`
      const diagnostic = `550 ${local} is unknown`
      expect(judgeBounce({ recipient, status: undefined, diagnostic }).isOfAddress).toBe(false)
    },
  )

  it('about a domain are not believed after 501, which may be about the domain of the sender', () => {
    expect(judge('501 Domain name not found').isOfAddress).toBe(false)
    expect(judge('550 Domain name not found').isOfAddress).toBe(true)
  })

  it.each([
    '5.1.1 There is nobody called cy here',
    '5.1.1 Ticket queue or mailbox with this address was not found',
    '5.1.1 You have written to a nonexistent address',
    '5.1.1 Alias not found in the accepted list',
    '5.1.1 Unknown here, do not use this address again',
    '5.1.3 Recipient address contains a space',
    '5.1.10 example.com publishes a null MX and accepts no mail',
    '5.2.1 Closed 30 days ago',
  ])('do not count with broad words beside such a code: %s', (said) => {
    expect(judge(`550 ${said}`)).toMatchObject({
      isOfAddress: true,
      classified: { by: 'enhanced_code' },
    })
  })

  it.each([
    '550 There is somebody called cy, no such user',
    '550 No such user in the ticket queue',
    '550 User unknown, do not use this address again',
  ])('count without such a code: %s', (said) => {
    expect(judge(said).isOfAddress).toBe(false)
  })

  it('about the syntax of an address need a code, whatever the reply code is', () => {
    expect(judge('501 5.1.3 Recipient cannot be parsed').isOfAddress).toBe(true)
    expect(judge('553 5.1.3 Malformed recipient').isOfAddress).toBe(true)
    expect(judge('501 Recipient cannot be parsed').isOfAddress).toBe(false)
  })

  it.each([
    'no user with access to this list',
    'no valid recipients for this message',
    'mailbox closed',
    'recipient deleted',
    'user removed message',
    'user agent 1.2 unknown',
    'recipient 192.0.2.5 not found',
    'The account you are sending from has been deactivated',
    'your account has been removed',
    'address not registered for this list',
    'address removed from list of allowed senders',
    'not a user of this server may relay',
    "plain SMTP doesn't work here",
    'student mailbox is never assigned to outside mail',
    'mailbox shut down for maintenance',
    'Absenderadresse existiert nicht',
    'Ihre Adresse ist nicht bekannt',
    'Compte fermé pour congés',
    'adresse inconnue dans la liste blanche',
    'Su cuenta fue cancelada',
    'La cuenta no está registrada para enviar',
    'Il tuo indirizzo non esiste',
    'Sua conta foi cancelada',
    'Uw account is uitgeschakeld',
    'Адрес отправителя не существует',
    'Пользователь не найден, временная ошибка',
    '发件人地址不存在',
    '收件人不存在，请稍后重试',
    'gönderen adresi bulunamadı',
    '5.1.1 收件人邮箱已满',
    '5.1.1 nobody called us from this IP',
    '5.1.1 called back: no answer',
    '5.1.1 you are not welcome',
    '5.1.1 user accepts mail from known senders',
    '5.1.1 not available please try again',
    '5.1.1 message is still in queue',
    '5.1.1 mailbox is now being moved',
    '5.1.1 mailbox not yet created',
    '5.1.1 removed from whitelist',
    '5.1.3 sender address contains a space',
    '5.1.3 Malformed message',
    '5.1.3 file name too long',
    '5.2.1 mailbox does not accept mail of this kind',
  ])('suppress nobody: %s', (said) => {
    expect(judge(`550 ${said}`).isOfAddress).toBe(false)
  })
})

describe('a refusal that suppresses nobody', () => {
  it.each<[string, string | undefined, FailureCategory]>([
    ['550 Access from ip address 203.0.113.4 blocked.', undefined, 'blocked_reputation'],
    ['550 Your IP address blocked', undefined, 'blocked_reputation'],
    ['550 Recipient user blocked you', undefined, 'blocked_policy'],
    ['552 Account(s) <a@b.example> does not have enough space', '5.2.2', 'mailbox_full'],
    ['552 Account(s) <a@b.example> does not have enough space', undefined, 'mailbox_full'],
    ['550 5.3.4 User does not accept messages larger than 10 MB', undefined, 'message_too_large'],
    ['550 5.7.1 The recipient does not accept mail from your domain', undefined, 'blocked_policy'],
    ['550 5.7.1 This account does not allow attachments', undefined, 'content_rejected'],
    [
      '550 5.7.1 <k@example.com>: Recipient address rejected: User k@example.com temporary locked. Please try again later!',
      undefined,
      'temporary',
    ],
    [
      'Name service error for domain example.com: Host not found, try again',
      undefined,
      'recipient_domain_dns',
    ],
    ['Malformed or unexpected name server reply', undefined, 'recipient_domain_dns'],
    [
      'Each of the following recipients was rejected by a remote mail server.',
      undefined,
      'unknown',
    ],
    ['', undefined, 'unknown'],
    ['550', undefined, 'unknown'],
    ['550 5.1.0 Address rejected.', undefined, 'invalid_recipient'],
    ['550 5.7.1 User unknown', undefined, 'invalid_recipient'],
    ['550 User unknown', '5.2.2', 'mailbox_full'],
    ['550 5.1.1 Refused due to recipient preferences', undefined, 'blocked_policy'],
    ['552 5.1.1 Mailbox delivery failure policy error', undefined, 'blocked_policy'],
    [
      '550 5.4.1 Recipient address rejected: Access denied. [AM0EUR01FT001.example.com]',
      undefined,
      'invalid_recipient',
    ],
    [
      '554 5.4.7 [internal] message timeout (last transfail: 450 4.1.1 user unknown)',
      undefined,
      'expired',
    ],
    ['', '4.4.7', 'expired'],
    ['connect to in.example.net: Connection timed out', '4.4.1', 'network'],
    ['mailbox unavailable', undefined, 'unknown'],
  ])('includes %s (%s)', (diagnostic, status, category) => {
    const { isOfAddress, classified } = judge(diagnostic, status)
    expect({ isOfAddress, category: classified.category }).toEqual({ isOfAddress: false, category })
  })

  it('names only a code that the reply has', () => {
    expect(judge('552 too much', '5.2.2').classified).toMatchObject({ evidence: '5.2.2' })
    expect(judge('550 Sorry').classified).toMatchObject({ by: 'reply_code', evidence: '550' })
    expect(judge('Sorry').classified).toEqual({
      category: 'unknown',
      by: 'words',
      evidence: 'sorry',
    })
    expect(judge('Connection timed out').classified.by).toBe('words')
  })
})

const ABOUT_RECIPIENT = [
  'User unknown',
  'No such user',
  'Mailbox not found',
  'The account is disabled',
  'Recipient does not exist',
  'Invalid recipient',
  'Unknown user',
  'The email account that you tried to reach does not exist',
  'mailbox unavailable',
  "This user doesn't have an account",
  'Unrouteable address',
  'Domain not found',
]
const OF_SOMETHING_ELSE = {
  sender: ['sender', 'from your domain', 'your server', 'from you', 'return path', 'HELO'],
  ip: ['IP', 'your IP address', '203.0.113.4', 'client host', 'PTR', '[2001:db8::1]', 'IPs'],
  content: ['spam', 'virus', 'attachment', 'content', 'headers', 'subject', 'HTML', 'link', 'junk'],
  policy: [
    'policy',
    'blocked',
    'denied',
    'not allowed',
    'restricted',
    'blacklisted',
    'DMARC',
    'access',
    'relaying',
    'prohibited',
    'banned',
    'reputation',
  ],
  size: ['size', 'too large', 'quota exceeded', 'full', 'no space', '10 MB', 'limit', 'storage'],
  time: ['temporarily', 'try again', 'later', 'at the moment', 'currently', 'for 2 hours', 'wait'],
}
/** The same of the languages of which words for an address are known. */
const OF_OTHER_LANGUAGES = [
  'expéditeur refusé',
  'boîte pleine',
  'réessayez plus tard',
  'Absender gesperrt',
  'Postfach voll',
  'versuchen Sie es später',
  'remitente no autorizado',
  'buzón lleno',
  'inténtelo más tarde',
  'mittente rifiutato',
  'casella piena',
  'riprovare più tardi',
  'remetente bloqueado',
  'caixa cheia',
  'tente mais tarde',
  'afzender geweigerd',
  'probeer later opnieuw',
]
const ABOUT_RECIPIENT_ELSEWHERE = [
  'Utilisateur inconnu',
  'Adresse inexistante',
  'Empfänger unbekannt',
  'Postfach existiert nicht',
  'Usuario desconocido',
  'La cuenta no existe',
  'Utente sconosciuto',
  'Indirizzo inesistente',
  'Usuário desconhecido',
  'Gebruiker onbekend',
]
/** What a server says of itself. */
const OUT_OF_ORDER = [
  'directory lookup timed out',
  'database server not reachable',
  'LDAP server unreachable',
  'DB down',
  'internal error',
  'DNS lookup failed',
  'SERVFAIL',
  'backend unreachable',
  'recipient verification in progress',
]
const JOINERS = [' ', ', ', ': ', ' because of ', ' (', '; ', ' - ', '/', ' and ']
const CODES = ['', '550 ', '554 ', '550 5.0.0 ', '550 5.1.0 ', '550-', '553 5.3.0 ']

describe('the rules', () => {
  it('suppress for clear words about the recipient, with a general code', () => {
    for (const words of ABOUT_RECIPIENT)
      for (const code of CODES.filter((one) => one !== ''))
        expect([`${code}${words}`, judge(`${code}${words}`).isOfAddress]).toEqual([
          `${code}${words}`,
          true,
        ])
  })

  it('never suppress when the sentence mentions sender, IP, content, policy, size or time', () => {
    const other = fc.constantFrom(...Object.values(OF_SOMETHING_ELSE).flat())
    const words = fc.constantFrom(...ABOUT_RECIPIENT)
    const joiner = fc.constantFrom(...JOINERS)
    fc.assert(
      fc.property(
        fc.constantFrom(...CODES),
        words,
        joiner,
        other,
        fc.boolean(),
        fc.boolean(),
        (code, about, join, marker, isFirst, isUpper) => {
          const text = isFirst ? `${marker}${join}${about}` : `${about}${join}${marker}`
          const said = `${code}${isUpper ? text.toUpperCase() : text}`
          expect([said, judge(said).isOfAddress]).toEqual([said, false])
        },
      ),
      { numRuns: 3_000 },
    )
  })

  it('know contrary words in other languages, and in separate sentences', () => {
    const against = [
      ...Object.values(OF_SOMETHING_ELSE).flat(),
      ...OF_OTHER_LANGUAGES,
      ...OUT_OF_ORDER,
    ]
    for (const about of [...ABOUT_RECIPIENT, ...ABOUT_RECIPIENT_ELSEWHERE])
      expect([about, judge(`550 ${about}`).isOfAddress]).toEqual([about, true])
    fc.assert(
      fc.property(
        fc.constantFrom(...ABOUT_RECIPIENT, ...ABOUT_RECIPIENT_ELSEWHERE),
        fc.constantFrom('. ', '! ', ', ', ' - ', '. 550 '),
        fc.constantFrom(...against),
        (about, join, other) => {
          const said = `550 ${about}${join}${other}`
          expect([said, judge(said).isOfAddress]).toEqual([said, false])
        },
      ),
      { numRuns: 3_000 },
    )
  })

  it('doubt a code about the address beside contrary words', () => {
    const isIp = (one: string) => /^[\d.]+$|^\[/.test(one)
    const others = [
      ...Object.values(OF_SOMETHING_ELSE)
        .flat()
        .filter((one) => !isIp(one)),
      ...OF_OTHER_LANGUAGES,
      ...OUT_OF_ORDER,
    ]
    for (const { code } of ADDRESS_CODES)
      for (const other of others)
        for (const said of [`550 ${code} ${other}`, `550 ${code} User unknown. ${other}`])
          expect([said, judge(said).isOfAddress]).toEqual([said, false])
  })

  const anyCode = (cls: 4 | 5) =>
    fc.tuple(fc.nat(7), fc.nat(400)).map(([subject, detail]) => `${cls}.${subject}.${detail}`)
  const anyWords = fc.oneof(
    fc.constantFrom(...ABOUT_RECIPIENT, ''),
    fc.string({ maxLength: 200 }),
    fc.constantFrom(...Object.values(OF_SOMETHING_ELSE).flat()),
  )

  it('never treat a 4yz or 4.x.x as permanent', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 400, max: 499 }),
        anyCode(4),
        anyCode(5),
        anyWords,
        (code, soft, hard, words) => {
          for (const [said, status] of [
            [`${code} ${words}`, undefined],
            [`${code} ${hard} ${words}`, hard],
            [`550 ${soft} ${words}`, hard],
            [`550 ${hard} ${words}`, soft],
            [`554 ${hard} given up (last: ${code} ${words})`, hard],
            [words, soft],
          ] as const)
            expect([said, status, judge(said, status).isOfAddress]).toEqual([said, status, false])
        },
      ),
    )
  })

  it('never overrule a specific code about another cause by words', () => {
    const isAddress = (code: string) => ADDRESS_CODES.some((one) => one.code === code)
    fc.assert(
      fc.property(anyCode(5), fc.constantFrom(...ABOUT_RECIPIENT), (code, words) => {
        fc.pre(!isAddress(code) && !GENERAL_CODE.test(code))
        expect(judge(`550 ${code} ${words}`).isOfAddress).toBe(false)
        expect(judge(`550 ${words}`, code).isOfAddress).toBe(false)
      }),
    )
    for (const code of ['5.2.2', '5.2.3', '5.3.4', '5.7.1', '5.6.1', '5.1.7', '5.1.8', '5.4.6'])
      expect([code, GENERAL_CODE.test(code)]).toEqual([code, false])
  })

  it('never suppress without a code and words about the address', () => {
    const letters = fc.constantFrom(...'bcdfghjklmpqstvwz'.split(''))
    const word = fc.array(letters, { minLength: 1, maxLength: 12 }).map((all) => all.join(''))
    const text = fc.array(word, { maxLength: 30 }).map((all) => all.join(' '))
    fc.assert(
      fc.property(text, fc.constantFrom('', '550 ', '551 ', '556 ', '521 '), (said, code) => {
        expect(judge(`${code}${said}`).isOfAddress).toBe(false)
      }),
    )
  })

  it('ignore the address that is quoted in the reply', () => {
    for (const name of ['unknown.user', 'no-such-user', 'spam', 'blocked', 'user.unknown'])
      expect(judge(`550 <${name}@example.com>: Sorry`)).toMatchObject({ isOfAddress: false })
    for (const name of ['spam', 'blocked', 'quota', 'policy', 'later'])
      expect(judge(`550 <${name}@example.com>: User unknown`)).toMatchObject({ isOfAddress: true })
  })

  it('give short evidence that can be stored', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', maxLength: 3_000 }),
        fc.option(fc.string({ maxLength: 20 }), { nil: undefined }),
        (said, status) => {
          const { classified } = judge(said, status)
          expect(classified.evidence.length).toBeLessThanOrEqual(200)
          expect(classified.evidence.isWellFormed()).toBe(true)
          expect(classified.evidence).not.toContain('\0')
        },
      ),
    )
  })
})
