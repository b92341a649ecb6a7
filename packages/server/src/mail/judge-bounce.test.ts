/**
 * Who is suppressed for what a server says: rows that were wrong once, and the form of the rule. The words of
 * the properties are this file's own, so that a gap in the tables shows.
 */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ADDRESS_CODES, GENERAL_CODE } from './address-evidence.ts'
import type { FailureCategory } from './failure-category.ts'
import { judgeBounce } from './judge-bounce.ts'

const judge = (diagnostic: string, status?: string) => judgeBounce({ diagnostic, status })

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
  ])('%s (%s)', (diagnostic, status, category, by, evidence) => {
    expect(judge(diagnostic, status)).toEqual({
      isOfAddress: true,
      isOtherwise: false,
      classified: { category, by, evidence },
    })
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
  ])('%s (%s)', (diagnostic, status, category) => {
    const { isOfAddress, classified } = judge(diagnostic, status)
    expect({ isOfAddress, category: classified.category }).toEqual({ isOfAddress: false, category })
  })

  it('names a code that it has heard, never one that nobody said', () => {
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
const JOINERS = [' ', ', ', ': ', ' because of ', ' (', '; ', ' - ', '/', ' and ']
const CODES = ['', '550 ', '554 ', '550 5.0.0 ', '550 5.1.0 ', '550-', '553 5.3.0 ']

describe('the form of the rule', () => {
  it('clear words about the recipient alone suppress, with a general code', () => {
    for (const words of ABOUT_RECIPIENT)
      for (const code of CODES.filter((one) => one !== ''))
        expect([`${code}${words}`, judge(`${code}${words}`).isOfAddress]).toEqual([
          `${code}${words}`,
          true,
        ])
  })

  it('with a word of sender, IP, content, policy, size or time in the sentence they never do', () => {
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

  const anyCode = (cls: 4 | 5) =>
    fc.tuple(fc.nat(7), fc.nat(400)).map(([subject, detail]) => `${cls}.${subject}.${detail}`)
  const anyWords = fc.oneof(
    fc.constantFrom(...ABOUT_RECIPIENT, ''),
    fc.string({ maxLength: 200 }),
    fc.constantFrom(...Object.values(OF_SOMETHING_ELSE).flat()),
  )

  it('no 4yz and no 4.x.x is ever for good', () => {
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

  it('no specific code about anything but the address is overruled by words', () => {
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

  it('no code and no words about the address never suppress', () => {
    const letters = fc.constantFrom(...'bcdfghjklmpqstvwz'.split(''))
    const word = fc.array(letters, { minLength: 1, maxLength: 12 }).map((all) => all.join(''))
    const text = fc.array(word, { maxLength: 30 }).map((all) => all.join(' '))
    fc.assert(
      fc.property(text, fc.constantFrom('', '550 ', '551 ', '556 ', '521 '), (said, code) => {
        expect(judge(`${code}${said}`).isOfAddress).toBe(false)
      }),
    )
  })

  it('an address in the reply says nothing, whatever it is called', () => {
    for (const name of ['unknown.user', 'no-such-user', 'spam', 'blocked', 'user.unknown'])
      expect(judge(`550 <${name}@example.com>: Sorry`)).toMatchObject({ isOfAddress: false })
    for (const name of ['spam', 'blocked', 'quota', 'policy', 'later'])
      expect(judge(`550 <${name}@example.com>: User unknown`)).toMatchObject({ isOfAddress: true })
  })

  it('evidence is short and fit to be stored, whatever is said', () => {
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
