import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseMessage } from '../parse/parse-message.ts'

const ID = '<01JABCDEFGHJKMNPQRSTVWXYZ0.3@shop.example.com>'
const parse = (lines: readonly string[]) => parseMessage(Buffer.from(lines.join('\r\n')))
const read = (...lines: string[]) => parse(lines).reports

const returned = [
  'Received: from app.example.com by mx.example.net; Sun, 22 Nov 2026 09:00:00 +0000',
  'From: Shop <shop@shop.example.com>',
  'To: cy@example.net',
  'Subject: Your order',
  `Message-ID: ${ID}`,
  'Date: Sun, 22 Nov 2026 09:00:00 +0000',
]

/** As RFC 3464 wants it: words, fields, and what is returned. */
function deliveryReport(o: {
  readonly fields: readonly string[]
  readonly text?: readonly string[]
  readonly returned?: readonly string[]
  readonly type?: string
}): string[] {
  return [
    'From: Mail Delivery System <MAILER-DAEMON@mx.example.net>',
    'To: shop@shop.example.com',
    'Subject: Undelivered Mail Returned to Sender',
    'Date: Sun, 22 Nov 2026 10:00:00 +0000',
    'Auto-Submitted: auto-replied',
    'Content-Type: multipart/report; report-type=delivery-status; boundary="r"',
    '',
    '--r',
    'Content-Type: text/plain',
    '',
    ...(o.text ?? ['This is the mail system at host mx.example.net.']),
    '--r',
    `Content-Type: ${o.type ?? 'message/delivery-status'}`,
    '',
    ...o.fields,
    '--r',
    ...(o.returned ?? ['Content-Type: message/rfc822', '', ...returned, '', 'body']),
    '--r--',
  ]
}

const ofMessage = [
  'Reporting-MTA: dns; mx.example.net',
  'Original-Envelope-Id: QQ1',
  'Arrival-Date: Sun, 22 Nov 2026 09:00:00 +0000',
  '',
]
const refused = [
  'Final-Recipient: rfc822; cy@example.net',
  'Original-Recipient: rfc822;cy@example.net',
  'Action: failed',
  'Status: 5.1.1',
  'Remote-MTA: dns; in.example.net',
  'Diagnostic-Code: smtp; 550 5.1.1 <cy@example.net>: Recipient address rejected:',
  '    User unknown',
]

describe('[contract 3.5] a delivery report (RFC 3464)', () => {
  it('names each recipient who got nothing', () => {
    const message = parse(deliveryReport({ fields: [...ofMessage, ...refused] }))
    expect(message.isAutoReply).toBe(false)
    expect(message.reports).toEqual([
      {
        kind: 'bounce',
        isHard: true,
        classified: { category: 'invalid_recipient', by: 'enhanced_code', evidence: '5.1.1' },
        originalMessageId: ID,
        recipient: 'cy@example.net',
        status: '5.1.1',
        diagnostic: '550 5.1.1 <cy@example.net>: Recipient address rejected: User unknown',
        reportingHost: 'mx.example.net',
        remoteHost: 'in.example.net',
        envelopeId: 'QQ1',
        reportedAtMicros: BigInt(Date.UTC(2026, 10, 22, 10)) * 1000n,
      },
    ])
  })

  it('names several recipients, each with its own result', () => {
    const fields = [
      ...ofMessage,
      ...refused,
      '',
      'Final-Recipient: RFC822; dan@example.net',
      'Action: delayed',
      'Status: 4.4.1',
      'Diagnostic-Code: X-Postfix; connect to in.example.net: Connection timed out',
      '',
      '',
      'Final-Recipient: rfc822; eve@example.net',
      'Action: failed (expired)',
      'Status: 4.4.7',
      '',
      'Final-Recipient: rfc822; fay@example.net',
      'Action: relayed',
      'Status: 2.1.5',
      '',
      'Final-Recipient: rfc822; gil@example.net',
      'Action: DELIVERED',
      '',
      'Final-Recipient: rfc822; hal@example.net',
      'Action: failed',
      'Status: 5.7.1',
      'Diagnostic-Code: smtp;554 5.7.1 Spam message rejected',
    ]
    const reports = read(...deliveryReport({ fields }))
    expect(reports).toMatchObject([
      { kind: 'bounce', isHard: true, recipient: 'cy@example.net' },
      {
        kind: 'deferral',
        isHard: false,
        recipient: 'dan@example.net',
        diagnostic: 'connect to in.example.net: Connection timed out',
      },
      { kind: 'bounce', isHard: false, recipient: 'eve@example.net', status: '4.4.7' },
      { kind: 'bounce', isHard: false, recipient: 'hal@example.net' },
    ])
    expect(new Set(reports.map((one) => one.originalMessageId))).toEqual(new Set([ID]))
  })

  it.each([
    ['5.1.1', 'smtp; 550 5.1.1 no such user', true],
    ['5.1.1', '', true],
    ['5.1.2', 'smtp; 550 5.1.2 Bad destination host', true],
    ['5.1.10', 'smtp;550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient not found by SMTP', true],
    ['5.0.0', 'smtp; 550 Requested action not taken: mailbox unavailable', true],
    ['5.0.0', 'smtp; 550-5.1.1 The email account that you tried to reach does not exist.', true],
    ['5.2.1', 'smtp; 550 5.2.1 The email account that you tried to reach is disabled', true],
    ['5.2.2', 'smtp; 552 5.2.2 The email account is over quota', false],
    ['5.7.1', 'smtp; 550 5.7.1 Message rejected due to content restrictions', false],
    ['5.4.7', 'smtp; 451 4.3.0 Temporary lookup failure', false],
    ['5.0.0', 'x-unix; something else went wrong', false],
    ['5.7.26', 'smtp; 550-5.7.26 This mail is unauthenticated', false],
  ])('is permanent with %s %s: %s', (status, diagnostic, isHard) => {
    const fields = [
      ...ofMessage,
      'Final-Recipient: rfc822; cy@example.net',
      'Action: failed',
      `Status: ${status}`,
      ...(diagnostic === '' ? [] : [`Diagnostic-Code: ${diagnostic}`]),
    ]
    expect(read(...deliveryReport({ fields }))).toMatchObject([{ kind: 'bounce', isHard }])
  })

  it.each([
    ['headers only', ['Content-Type: text/rfc822-headers', '', ...returned]],
    ['headers of RFC 6532', ['Content-Type: message/global-headers', '', ...returned]],
    [
      'all of it, encoded',
      [
        'Content-Type: message/rfc822',
        'Content-Transfer-Encoding: base64',
        '',
        Buffer.from(returned.join('\r\n')).toString('base64'),
      ],
    ],
    [
      'another Message-ID, with ours beside',
      [
        'Content-Type: message/rfc822',
        '',
        'Message-ID: <other@mail.example.org>',
        `X-Google-Original-Message-ID: ${ID}`,
      ],
    ],
  ])('names the message when it returns %s', (_, part) => {
    const reports = read(...deliveryReport({ fields: [...ofMessage, ...refused], returned: part }))
    expect(reports).toMatchObject([{ originalMessageId: ID }])
  })

  it('names the message by In-Reply-To when it returns nothing', () => {
    const report = deliveryReport({
      fields: [...ofMessage, ...refused],
      returned: ['Content-Type: text/plain; name=a', '', 'none'],
    })
    expect(read(`In-Reply-To: ${ID}`, ...report)).toMatchObject([{ originalMessageId: ID }])
    expect(read(`References: <a@b.test> ${ID}`, ...report)).toMatchObject([
      { originalMessageId: ID },
    ])
    expect(read(...report)[0]).not.toHaveProperty('originalMessageId')
  })

  it('may have addresses beyond ASCII (RFC 6533)', () => {
    const fields = [
      'Reporting-MTA: dns; mx.example.net',
      '',
      'Final-Recipient: utf-8; m\\x{FC}ller@example.net',
      'Action: failed',
      'Status: 5.1.1',
      '',
      'Final-Recipient: utf-8; jörg@bücher.example',
      'Action: failed',
      'Status: 5.1.1',
    ]
    const type = 'message/global-delivery-status'
    expect(read(...deliveryReport({ fields, type })).map((one) => one.recipient)).toEqual([
      'müller@example.net',
      'jörg@bücher.example',
    ])
  })

  it('is read when it is written loosely', () => {
    const fields = [
      'Reporting-MTA: dns;mx.example.net',
      'Final-Recipient: <cy@example.net>',
      'Action: failed',
      'Diagnostic-Code: 550 No such user here',
    ]
    expect(read(...deliveryReport({ fields }))).toMatchObject([
      { recipient: 'cy@example.net', isHard: true, diagnostic: '550 No such user here' },
    ])
    const inMixed = deliveryReport({ fields: [...ofMessage, ...refused] }).map((line) =>
      line.replace('multipart/report; report-type=delivery-status', 'multipart/mixed'),
    )
    expect(read(...inMixed)).toMatchObject([{ kind: 'bounce', originalMessageId: ID }])
  })

  it('has the words of its text where its fields have none', () => {
    const fields = [...ofMessage, ...refused.slice(0, 4)]
    const text = ['The reply was:', '', '550 5.1.1 nobody of', 'this name', '', 'Regards']
    expect(read(...deliveryReport({ fields, text }))).toMatchObject([
      { diagnostic: '550 5.1.1 nobody of this name' },
    ])
  })

  it('takes no recipient from the returned message', () => {
    const [report] = read(...deliveryReport({ fields: [...ofMessage, 'Action: failed'] }))
    expect(report).toMatchObject({ kind: 'bounce', originalMessageId: ID })
    expect(report).not.toHaveProperty('recipient')
  })

  it('a delivery report without recipient fields is read by its text', () => {
    const text = [
      'Your message could not be delivered to one or more recipients:',
      '',
      '<cy@example.net>: host in.example.net said: 550 5.1.1 User unknown',
    ]
    expect(read(...deliveryReport({ fields: ofMessage, text }))).toMatchObject([
      {
        kind: 'bounce',
        isHard: true,
        recipient: 'cy@example.net',
        diagnostic: '550 5.1.1 User unknown',
        reportingHost: 'mx.example.net',
        envelopeId: 'QQ1',
        originalMessageId: ID,
      },
    ])
  })

  it.each([
    ['another action', ['Action: expired', 'Status: 4.4.7'], '4.4.7'],
    ['another action and an empty status', ['Action: expired', 'Status: '], undefined],
    ['neither action nor status', ['Status:'], undefined],
  ])('a delivery report with %s is read by its text', (_, fields, status) => {
    const of = (text: string) =>
      read(
        ...deliveryReport({
          fields: [...ofMessage, 'Final-Recipient: rfc822; cy@example.net', ...fields],
          text: [text],
        }),
      )
    const [bounce] = of('We could not deliver your message and have given up.')
    expect(bounce).toMatchObject({ kind: 'bounce', isHard: false, recipient: 'cy@example.net' })
    expect(bounce?.status).toBe(status)
    expect(of('Your message has been delayed and will be retried.')).toMatchObject([
      { kind: 'deferral', recipient: 'cy@example.net' },
    ])
  })

  it('a delivery report without a result in fields and text is read by its subject', () => {
    const report = deliveryReport({
      fields: [...ofMessage, 'Final-Recipient: rfc822; cy@example.net', 'Action: expired'],
      text: ['Good day.'],
    })
    expect(read(...report)).toMatchObject([{ kind: 'bounce', recipient: 'cy@example.net' }])
    const silent = report.map((line) => line.replace(/^Subject: .*/, 'Subject: A notice'))
    expect(read(...silent)).toEqual([])
  })

  it.each([
    [
      'Gmail',
      'Status: 5.0.0',
      [
        '** Address not found **',
        '',
        "Your message wasn't delivered to cy@example.net because the address couldn't be found.",
        'Check for typos or unnecessary spaces and try again.',
      ],
    ],
    [
      'OpenSMTPD',
      'Status: 5.0.0',
      [
        '    An error has occurred while attempting to deliver a message for',
        '    the following list of recipients:',
        '',
        'cy@example.net: Domain does not exist',
        '',
        '    Below is a copy of the original message:',
      ],
    ],
    [
      'EZweb',
      'Status: 5.0.0',
      ['The user(s) account is disabled.', '', '<cy@example.net>: 550 user unknown'],
    ],
  ])(
    'a delivery report without a reply is permanent where its text says so of the recipient: %s',
    (_, status, text) => {
      const fields = [
        ...ofMessage,
        'Final-Recipient: rfc822; cy@example.net',
        'Action: failed',
        status,
      ]
      expect(read(...deliveryReport({ fields, text }))).toMatchObject([
        { kind: 'bounce', isHard: true, recipient: 'cy@example.net' },
      ])
    },
  )

  it('a delivery report without a reply has for each recipient what its text says of that one', () => {
    const fields = ['cy', 'dan'].flatMap((name) => [
      `Final-Recipient: rfc822; ${name}@example.net`,
      'Action: failed',
      'Status: 5.0.0',
      '',
    ])
    const text = ['cy@example.net: 550 no such user', '', 'dan@example.net: 552 mailbox full']
    expect(read(...deliveryReport({ fields: [...ofMessage, ...fields], text }))).toMatchObject([
      { recipient: 'cy@example.net', isHard: true },
      { recipient: 'dan@example.net', isHard: false },
    ])
  })

  it('is only of failure and delay, and is no read receipt', () => {
    const fields = [...ofMessage, 'Final-Recipient: rfc822; cy@example.net', 'Action: expanded']
    expect(read(...deliveryReport({ fields }))).toEqual([])
    expect(
      read(
        'From: MAILER-DAEMON@example.net',
        'Subject: Undeliverable: could not be delivered',
        'Content-Type: multipart/report; report-type=disposition-notification; boundary=r',
        '',
        '--r',
        '',
        'Your message could not be delivered.',
        '--r',
        'Content-Type: message/disposition-notification',
        '',
        'Final-Recipient: rfc822;cy@example.net',
        'Disposition: automatic-action/MDN-sent-automatically; deleted',
        '--r--',
      ),
    ).toEqual([])
  })
})

describe('[contract 3.5] a complaint (RFC 5965)', () => {
  const complaint = (fields: readonly string[], original: readonly string[] = returned) =>
    read(
      'From: <feedback@example.net>',
      'To: abuse@shop.example.com',
      'Content-Type: multipart/report; report-type=feedback-report; boundary="f"',
      '',
      '--f',
      '',
      'This is an abuse report.',
      '--f',
      'Content-Type: message/feedback-report',
      '',
      ...fields,
      '--f',
      'Content-Type: message/rfc822',
      '',
      ...original,
      '',
      'body',
      '--f--',
    )

  it('names the complainant and the message', () => {
    expect(
      complaint([
        'Feedback-Type: abuse',
        'User-Agent: Feedback/1.0',
        'Version: 1',
        'Original-Rcpt-To: <cy@example.net>',
        'Arrival-Date: Sun, 22 Nov 2026 09:00:00 +0000',
        'Reporting-MTA: dns; mail.example.net',
      ]),
    ).toEqual([
      {
        kind: 'complaint',
        isHard: false,
        feedbackType: 'abuse',
        diagnostic: 'abuse',
        originalMessageId: ID,
        recipient: 'cy@example.net',
        reportedAtMicros: BigInt(Date.UTC(2026, 10, 22, 9)) * 1000n,
        reportingHost: 'mail.example.net',
      },
    ])
  })

  it('has no recipient where the provider hides them', () => {
    const hidden = returned.map((line) => line.replace('cy@example.net', '[redacted]'))
    const [report] = complaint(['Feedback-Type: abuse', 'Original-Rcpt-To: redacted'], hidden)
    expect(report).toMatchObject({ kind: 'complaint', originalMessageId: ID })
    expect(report).not.toHaveProperty('recipient')
  })

  it('names the recipient whom it removes', () => {
    expect(
      complaint(['Feedback-Type: opt-out', 'Removal-Recipient: cy@example.net']),
    ).toMatchObject([{ feedbackType: 'opt-out', recipient: 'cy@example.net' }])
  })

  it.each(['X-Nothing: 1', 'Original-Rcpt-To: [REDACTED]'])(
    'takes no recipient from the returned message: %s',
    (field) => {
      const [report] = complaint(['Feedback-Type: fraud', field])
      expect(report).toMatchObject({ feedbackType: 'fraud', originalMessageId: ID })
      expect(report).not.toHaveProperty('recipient')
    },
  )

  it.each(['not-spam', 'auth-failure', 'virus', 'Not-Spam '])(
    'a complaint of the type %s is none',
    (type) => {
      expect(complaint([`Feedback-Type: ${type}`])).toEqual([])
    },
  )

  it('may name neither message nor recipient', () => {
    expect(complaint(['Feedback-Type: abuse'], ['Subject: a'])).toEqual([
      { kind: 'complaint', isHard: false, feedbackType: 'abuse', diagnostic: 'abuse' },
    ])
  })

  it('a complaint of Hotmail is recognised by the field before the headers of the message', () => {
    expect(
      read(
        'From: staff@hotmail.example',
        'To: abuse@shop.example.com',
        'Subject: complaint about message from 192.0.2.7',
        'Date: Sun, 22 Nov 2026 10:00:00 +0000',
        'Content-Type: multipart/mixed; boundary="h"',
        '',
        '--h',
        'Content-Type: message/rfc822',
        'Content-Disposition: inline',
        '',
        'X-HmXmrOriginalRecipient: dan@example.net',
        'X-Reporter-IP: 192.0.2.22',
        ...returned,
        '',
        'body',
        '--h--',
      ),
    ).toEqual([
      {
        kind: 'complaint',
        isHard: false,
        feedbackType: 'abuse',
        diagnostic: 'abuse',
        originalMessageId: ID,
        recipient: 'dan@example.net',
        reportedAtMicros: BigInt(Date.UTC(2026, 10, 22, 10)) * 1000n,
      },
    ])
  })

  it('is not a message that somebody forwards', () => {
    expect(
      read(
        'From: ann@example.com',
        'Subject: complaint about message',
        'Content-Type: multipart/mixed; boundary="h"',
        '',
        '--h',
        'Content-Type: message/rfc822',
        '',
        ...returned,
        '--h--',
      ),
    ).toEqual([])
  })
})

describe('a bounce of a server without RFC 3464', () => {
  const copy = ['', ...returned, '', 'body']
  const bounces: readonly (readonly [name: string, lines: readonly string[], found: object])[] = [
    [
      'qmail',
      [
        'Return-Path: <>',
        'From: MAILER-DAEMON@relay.example.org',
        'Subject: failure notice',
        '',
        'Hi. This is the qmail-send program at relay.example.org.',
        "I'm afraid I wasn't able to deliver your message to the following addresses.",
        'This is a permanent error; I have given up.',
        '',
        '<cy@example.net>:',
        '192.0.2.7 does not like recipient.',
        'Remote host said: 550 5.1.1 <cy@example.net>: no such user',
        'Giving up on 192.0.2.7.',
        '',
        '--- Below this line is a copy of the message.',
        ...copy,
      ],
      { isHard: true, status: '5.1.1', diagnostic: /^550 5\.1\.1 <cy@example\.net>: no such user/ },
    ],
    [
      'qmail, of its own mailbox',
      [
        'From: MAILER-DAEMON@example.net',
        'Subject: failure notice',
        '',
        'Hi. This is the qmail-send program at example.net.',
        "I'm afraid I wasn't able to deliver your message to the following addresses.",
        '',
        '<cy@example.net>:',
        'Sorry, no mailbox here by that name. (#5.1.1)',
        '',
        '--- Below this line is a copy of the message.',
        ...copy,
      ],
      { isHard: true, status: '5.1.1', diagnostic: /^Sorry, no mailbox/ },
    ],
    [
      'Exim',
      [
        'X-Failed-Recipients: cy@example.net',
        'Auto-Submitted: auto-replied',
        'From: Mail Delivery System <Mailer-Daemon@relay.example.org>',
        'Subject: Mail delivery failed: returning message to sender',
        '',
        'This message was created automatically by mail delivery software.',
        '',
        'A message that you sent could not be delivered to one or more of its',
        'recipients. This is a permanent error. The following address(es) failed:',
        '',
        '  cy@example.net',
        '    host in.example.net [192.0.2.7]',
        '    SMTP error from remote mail server after RCPT TO:<cy@example.net>:',
        '    550 Unrouteable address',
        '',
        '------ This is a copy of the message, including all the headers. ------',
        ...copy,
      ],
      { isHard: true, diagnostic: /^550 Unrouteable address$/ },
    ],
    [
      'Postfix, without its type',
      [
        'From: MAILER-DAEMON@mx.example.net (Mail Delivery System)',
        'Subject: Undelivered Mail Returned to Sender',
        '',
        'This is the mail system at host mx.example.net.',
        '',
        "I'm sorry to have to inform you that your message could not",
        "be delivered to one or more recipients. It's attached below.",
        '',
        'For further assistance, please send mail to postmaster.',
        '',
        '<cy@example.net>: host in.example.net[192.0.2.7] said: 552 5.2.2 Mailbox',
        '    is full (in reply to RCPT TO command)',
        '',
        ...copy,
      ],
      { isHard: false, status: '5.2.2', diagnostic: /^552 5\.2\.2 Mailbox is full/ },
    ],
    [
      'sendmail of old',
      [
        'From: Mail Delivery Subsystem <MAILER-DAEMON@relay.example.org>',
        'Subject: Returned mail: see transcript for details',
        '',
        '   ----- The following addresses had permanent fatal errors -----',
        '<cy@example.net>',
        '    (reason: 550 5.1.1 <cy@example.net>... User unknown)',
        '',
        '   ----- Transcript of session follows -----',
        '... while talking to in.example.net.:',
        ...copy,
      ],
      { isHard: true, diagnostic: /^550 5\.1\.1/ },
    ],
    [
      'Exchange',
      [
        'From: postmaster@example.net',
        'Subject: Undeliverable: Your order',
        '',
        'Delivery has failed to these recipients or groups:',
        '',
        'cy@example.net',
        'The address you entered could not be found.',
        '',
        'Diagnostic information for administrators:',
        '',
        'Generating server: ex1.example.net',
        '',
        'cy@example.net',
        '#550 5.1.1 RESOLVER.ADR.RecipNotFound; not found ##',
        '',
        'Original message headers:',
        ...copy,
      ],
      { isHard: true, diagnostic: /^550 5\.1\.1 RESOLVER/ },
    ],
    [
      'Exchange of old',
      [
        'From: System Administrator <postmaster@example.net>',
        'Subject: Undeliverable: Your order',
        '',
        'Your message did not reach some or all of the intended recipients.',
        '',
        "'cy@example.net' on 22/11/2026 10:00",
        '      550 5.1.1 User unknown',
        '',
        ...copy,
      ],
      { isHard: true },
    ],
    [
      'Notes',
      [
        'From: Postmaster@example.net',
        'Subject: DELIVERY FAILURE: User cy not listed in directory',
        '',
        'Your document:  Your order',
        'was not delivered to:  cy@example.net',
        'because:  User cy (cy@example.net) not listed in public Name & Address Book',
        ...copy,
      ],
      { isHard: true },
    ],
    [
      'a web mailer that writes HTML',
      [
        'From: mailer-daemon@example.org',
        'Subject: Undelivered Mail Returned to Sender',
        'Content-Type: text/html',
        '',
        '<html><p>This message could not be delivered.</p>',
        '<b>cy@example.net</b>, ERROR CODE :550 - 5.1.1 No such user here<br>',
        `<pre>Message-ID: ${ID.replace('<', '&lt;').replace('>', '&gt;')}</pre></html>`,
      ],
      { isHard: true, status: '5.1.1' },
    ],
    [
      'one that attaches the message',
      [
        'From: MAILER-DAEMON@example.org',
        'Subject: Delivery failure',
        'Content-Type: multipart/mixed; boundary=b',
        '',
        '--b',
        '',
        'Your message to cy@example.net cannot be delivered. 550 mailbox not found',
        '--b',
        'Content-Type: message/rfc822',
        '',
        ...returned,
        '--b--',
      ],
      { isHard: true, diagnostic: /^550 mailbox not found/ },
    ],
    [
      'DragonFly, whose reason follows a sentence that names the recipient',
      [
        'From: MAILER-DAEMON <>',
        'To: shop@shop.example.com',
        'Subject: Mail delivery failed',
        '',
        'This is the DragonFly Mail Agent v0.13 at relay.example.org.',
        '',
        'There was an error delivering your mail to <cy@example.net>.',
        '',
        'in.example.net [192.0.2.7] did not like our RCPT TO:',
        '550 5.1.1 <cy@example.net>: Recipient address rejected: User unknown',
        '',
        'Message headers follow.',
        '',
        'Received: from shop (uid 1001)',
        'To: <dan@example.net>',
        `Message-Id: ${ID}`,
      ],
      { isHard: true, status: '5.1.1', diagnostic: /^550 5\.1\.1 <cy@example\.net>: Recipient/ },
    ],
    [
      'DragonFly, of a domain that is not there',
      [
        'From: MAILER-DAEMON <>',
        'Subject: Mail delivery failed',
        '',
        'This is the DragonFly Mail Agent v0.13 at relay.example.org.',
        '',
        'There was an error delivering your mail to <cy@example.net>.',
        '',
        'DNS lookup failure: host example.net not found',
        '',
        'Message headers follow.',
        ...copy,
      ],
      { diagnostic: /DNS lookup failure: host example\.net not found$/ },
    ],
    [
      'IMail, whose reason stands before the recipient',
      [
        'From: "Postmaster" <postmaster@example.net>',
        'To: <shop@shop.example.com>',
        'Subject: Undeliverable Mail',
        'X-Mailer: <SMTP32 v8.22>',
        '',
        'Unknown user: cy@example.net',
        '',
        '',
        'Original message follows.',
        ...copy,
      ],
      { isHard: true, diagnostic: /^Unknown user/ },
    ],
    [
      'Coremail, in Chinese',
      [
        'From: Postmaster <postmaster@example.net>',
        'Subject: =?UTF-8?B?57O757uf6YCA5L+h?=',
        '',
        '很抱歉，您的邮件被退回。',
        '',
        '收件人：cy@example.net',
        '退信原因：550 收件人邮箱不存在',
        '',
        '--- Original message ---',
        ...copy,
      ],
      { isHard: true, diagnostic: /^550 收件人邮箱不存在$/ },
    ],
    [
      'a server in German',
      [
        'From: postmaster@example.net',
        'Subject: Ihre Nachricht',
        '',
        'Ihre Nachricht konnte nicht zugestellt werden.',
        '',
        'cy@example.net',
        '550 5.1.1 Unbekannter Benutzer',
        '',
        '--- Original message ---',
        ...copy,
      ],
      { isHard: true, status: '5.1.1' },
    ],
    [
      'IMail, of a full mailbox',
      [
        'From: "Postmaster" <postmaster@example.net>',
        'Subject: Undeliverable Mail',
        '',
        'User mailbox exceeds allowed size: cy@example.net',
        '',
        'Original message follows.',
        ...copy,
      ],
      { isHard: false },
    ],
    [
      'MailMarshal, whose reply stands before the list of recipients',
      [
        'From: postmaster@relay.example.org',
        'To: shop@shop.example.com',
        'Subject: Undeliverable Mail: "Your order"',
        `In-Reply-To: ${ID}`,
        '',
        'Your message:',
        '   From:    shop@shop.example.com',
        '   Subject: Your order',
        '',
        'Could not be delivered because of',
        '',
        '550 5.1.1 User unknown',
        '',
        'The following recipients were affected: ',
        '    cy@example.net',
        '',
        'Additional Information',
        '======================',
        'Original Sender:    <shop@shop.example.com>',
      ],
      { isHard: true, status: '5.1.1', diagnostic: /^550 5\.1\.1 User unknown$/ },
    ],
    [
      'Verizon, whose reply stands before the envelope',
      [
        'From: post_master@example.net',
        'Subject: Re: Your order',
        `In-Reply-To: ${ID}`,
        '',
        'Error: Invalid user address',
        '',
        'Error message below:',
        '550 - Requested action not taken: no such user here',
        '',
        'Message details:',
        '  Subject: Your order',
        '  MAIL FROM: shop@shop.example.com',
        '  RCPT TO: cy@example.net',
        '  From: shop@shop.example.com',
      ],
      { isHard: true, diagnostic: /^550 - Requested action not taken: no such user here$/ },
    ],
    [
      'Verizon, whose boundary is not indented',
      [
        'From: post_master@example.net',
        'Subject: Re: Your order',
        `In-Reply-To: ${ID}`,
        'Content-Type: multipart/mixed; boundary="a"',
        '',
        '--a',
        'Content-Type: multipart/alternative;',
        'boundary="b"',
        '',
        '--b',
        'Content-Type: text/plain; charset=us-ascii',
        '',
        'Error: Invalid user address',
        '',
        'Error message below:',
        '550 - Requested action not taken: no such user here',
        '',
        'Message details:',
        '  RCPT TO: cy@example.net',
        '--b--',
        '--a--',
      ],
      { isHard: true, diagnostic: /^550 - Requested action not taken: no such user here$/ },
    ],
    [
      'OpenSMTPD',
      [
        'Subject: Delivery status notification: error',
        'From: Mailer Daemon <MAILER-DAEMON@relay.example.org>',
        '',
        '    Hi!',
        '',
        '    This is the MAILER-DAEMON, please DO NOT REPLY to this e-mail.',
        '',
        '    An error has occurred while attempting to deliver a message for',
        '    the following list of recipients:',
        '',
        'cy@example.net: Domain does not exist',
        '',
        '    Below is a copy of the original message:',
        ...copy,
      ],
      { isHard: true, diagnostic: /^Domain does not exist/ },
    ],
    [
      'X3',
      [
        'From: Mail Delivery System <Mail.Delivery.System@relay.example.org>',
        'Subject: Delivery status notification',
        `In-Reply-To: ${ID}`,
        '',
        '      This is an automatically generated Delivery Status Notification.',
        '',
        'Delivery to the following recipients failed permanently:',
        '',
        '   * cy@example.net',
        '',
        '==========================================',
        '          Technical details:',
        '',
        'SMTP:RCPT host 192.0.2.8: 553 5.1.1 <cy@example.net>... No such user here',
      ],
      { isHard: true, status: '5.1.1', diagnostic: /^553 5\.1\.1/ },
    ],
    [
      'smail',
      [
        'From: <MAILER-DAEMON@relay.example.org>',
        'Subject: mail failed, returning to sender',
        '',
        '|------------------------- Message log follows: -------------------------|',
        ' no valid recipients were found for this message',
        '|------------------------- Failed addresses follow: ---------------------|',
        ' cy@example.net ... unknown host',
        '|------------------------- Message text follows: ------------------------|',
        ...copy.slice(1),
      ],
      { isHard: true, diagnostic: /unknown host/ },
    ],
    [
      'one whose subject is encoded, from an address like any other',
      [
        'Return-Path: <>',
        'From: gateway@example.net',
        'Subject: =?iso-8859-15?Q?Delivery_Status_Notification_=28Failure=29?=',
        '',
        'cy@example.net: 550 5.1.1 no such user',
        ...copy,
      ],
      { isHard: true, status: '5.1.1' },
    ],
  ]

  it.each(bounces)(
    '[contract 3.5] is recognised: %s',
    (_, lines, { diagnostic, ...found }: { diagnostic?: RegExp }) => {
      const reports = read(...lines)
      expect(reports).toMatchObject([
        { kind: 'bounce', recipient: 'cy@example.net', originalMessageId: ID, ...found },
      ])
      if (diagnostic !== undefined) expect(reports[0]?.diagnostic).toMatch(diagnostic)
    },
  )

  it('takes no recipient from the returned message', () => {
    const inText = read(
      'Return-Path: <>',
      'From: MMSC NDR Administrator <sysadmin@example.net>',
      'Subject: Undeliverable Message',
      '',
      'Message could not be delivered to mobile.',
      'Error: No valid recipients for this MM',
      '',
      '',
      'Original Message:',
      'From: shop <shop@shop.example.com>',
      'To: cy@example.net',
      `Message-ID: ${ID}`,
    )
    const attached = read(
      'From: MAILER-DAEMON@example.org',
      'Subject: Delivery failure',
      'Content-Type: multipart/mixed; boundary=b',
      '',
      '--b',
      '',
      'Your message cannot be delivered. 550 mailbox not found',
      '--b',
      'Content-Type: message/rfc822',
      '',
      ...returned,
      '--b--',
    )
    for (const [report, ...others] of [inText, attached]) {
      expect(report).toMatchObject({ kind: 'bounce', originalMessageId: ID })
      expect(report).not.toHaveProperty('recipient')
      expect(others).toEqual([])
    }
  })

  it.each<[string, string, string | undefined]>([
    ['at the beginning of a line', `Message-ID: ${ID}`, ID],
    ['behind the marks of a quotation', `> > >message-id:${ID}`, ID],
    ['behind blank lines of a quotation', `${'>\r\n'.repeat(1_000)}> Message-Id: ${ID}`, ID],
    ['after one within a line', `as in Message-ID: <other@a.example>\r\nMessage-ID: ${ID}`, ID],
    ['behind more marks than anybody writes', `${'>'.repeat(21)}Message-ID: ${ID}`, undefined],
    ['within a line', `as in Message-ID: ${ID}`, undefined],
    // No server says so much before the copy; nor is so much looked through.
    ['after a quarter of a million', `${'>\r\n'.repeat(131_072)}Message-ID: ${ID}`, undefined],
  ])('finds the Message-ID in its text %s', (_, text, found) => {
    const [report] = read(
      'From: MAILER-DAEMON@relay.example.org',
      'Subject: failure notice',
      '',
      '<cy@example.net>: 550 no such user',
      text,
    )
    expect(report?.originalMessageId).toBe(found)
  })

  it('names several recipients, each with its own result', () => {
    const reports = read(
      'From: MAILER-DAEMON@relay.example.org',
      'Subject: failure notice',
      '',
      'Hi. This is the qmail-send program at relay.example.org.',
      "I wasn't able to deliver your message to the following addresses.",
      '',
      '<cy@example.net>:',
      'Remote host said: 550 no such user',
      '',
      '<Dan@example.net>:',
      'Remote host said: 452 4.2.2 mailbox full',
      '',
      '--- Below this line is a copy of the message.',
      ...copy,
    )
    expect(reports).toMatchObject([
      { recipient: 'cy@example.net', isHard: true, diagnostic: '550 no such user' },
      { recipient: 'dan@example.net', isHard: false, diagnostic: '452 4.2.2 mailbox full' },
    ])
  })

  it('a text about a delay is a deferral', () => {
    expect(
      read(
        'From: Mail Delivery System <Mailer-Daemon@relay.example.org>',
        'Subject: Warning: message 1xYz delayed 24 hours',
        '',
        'A message that you sent has not yet been delivered to one or more of its recipients.',
        `Message-ID: ${ID}`,
        '  cy@example.net',
        '    host in.example.net: 450 try again',
      ),
    ).toMatchObject([{ kind: 'deferral', isHard: false, originalMessageId: ID }])
  })
})

describe('a message that is no report', () => {
  const ordinary: readonly (readonly [name: string, lines: readonly string[]])[] = [
    ['an ordinary mail', ['From: ann@example.com', 'Subject: Hello', '', 'cy@example.net']],
    [
      'a person who writes about a bounce',
      [
        'From: ann@example.com',
        'Subject: Re: Undeliverable: Your order',
        `In-Reply-To: ${ID}`,
        '',
        'cy@example.net',
        '550 5.1.1 User unknown',
      ],
    ],
    [
      'out of office',
      [
        'Return-Path: <>',
        'From: Cy <cy@example.net>',
        'Subject: Automatic reply: Your order',
        'Auto-Submitted: auto-replied',
        `In-Reply-To: ${ID}`,
        '',
        'I am away; your mail was not delivered to anybody else. Write to:',
        'dan@example.net',
      ],
    ],
    [
      'a postmaster who says nothing of failures',
      ['From: postmaster@example.net', 'Subject: Maintenance', '', 'cy@example.net'],
    ],
  ]
  it.each(ordinary)('includes %s', (_, lines) => {
    expect(read(...lines)).toEqual([])
  })
})

describe('[P3] a hostile report', () => {
  const many = Array.from({ length: 5_000 }, (_, i) => i)

  it.each<[string, readonly string[]]>([
    [
      'of many recipients',
      deliveryReport({
        fields: [
          ...ofMessage,
          ...many.flatMap((i) => [
            `Final-Recipient: rfc822; u${i}@example.net`,
            'Action: failed',
            '',
          ]),
        ],
      }),
    ],
    [
      'of many recipients in its text',
      [
        'From: MAILER-DAEMON@a.test',
        'Subject: failure notice',
        '',
        ...many.map((i) => `<u${i}@a.test>:`),
      ],
    ],
    [
      'of many recipients in a header',
      [`X-Failed-Recipients: ${many.map((i) => `u${i}@a.test`).join(',')}`, '', ''],
    ],
    [
      'of long fields',
      deliveryReport({
        fields: [
          `Reporting-MTA: dns; ${'h'.repeat(10_000)}`,
          `Original-Envelope-Id: ${'e'.repeat(10_000)}`,
          '',
          `Final-Recipient: rfc822; ${'x'.repeat(10_000)}@${'y'.repeat(10_000)}`,
          'Action: failed',
          `Status: ${'5.'.repeat(10_000)}`,
          `Diagnostic-Code: smtp; 550 ${' z'.repeat(20_000)}`,
        ],
      }),
    ],
    [
      'of nothing but what looks like it',
      [
        'From: MAILER-DAEMON@a.test',
        'Subject: undeliverable',
        '',
        '<a@'.repeat(500_000),
        '4'.repeat(100_000),
      ],
    ],
    [
      'in markup',
      [
        'From: MAILER-DAEMON@a.test',
        'Subject: undeliverable',
        'Content-Type: text/html',
        '',
        '<'.repeat(1_000_000),
      ],
    ],
  ])('is bounded: %s', (_, lines) => {
    const { reports } = parse(lines)
    expect(reports.length).toBeLessThanOrEqual(100)
    for (const { diagnostic, recipient = '', reportingHost = '' } of reports) {
      expect(diagnostic.length).toBeLessThanOrEqual(2_000)
      expect(recipient.length).toBeLessThanOrEqual(320)
      expect(reportingHost.length).toBeLessThanOrEqual(255)
    }
  })
  const lines = fc.constantFrom(
    ...[
      'From: MAILER-DAEMON@a.test',
      'Subject: undeliverable',
      'X-Failed-Recipients: a@b.test,<',
      '',
    ],
    ...['Content-Type: message/delivery-status', 'Content-Type: message/feedback-report', '--r'],
    ...[
      'Content-Type: multipart/report; boundary=r',
      'Content-Type: message/rfc822',
      'Action: failed',
    ],
    ...[
      'Final-Recipient: utf-8; \\x{D800}\\x{110000}@b.test',
      'Status: 5.1.1',
      'Date: 1',
      '<a@b.test>:',
    ],
    ...[
      'Diagnostic-Code: ;\0',
      'Message-ID: <a@b>',
      'Feedback-Type: \ud800',
      'Original-Rcpt-To: a@b.test',
    ],
  )

  it('is bounded for any content, and can be stored', () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(lines, fc.string({ unit: 'binary' })), { maxLength: 40 }),
        (all) => {
          const reports = parse(all).reports.map((one) => ({ ...one, reportedAtMicros: undefined }))
          const json = JSON.stringify(reports)
          expect(json.isWellFormed()).toBe(true)
          expect(json).not.toMatch(/\\u0000|\\ud[89a-f]/)
        },
      ),
      { numRuns: 200 },
    )
  })
})

describe('a report on another address or without a result', () => {
  const fields = (...of: string[]) => read(...deliveryReport({ fields: [...ofMessage, ...of] }))
  const failed = ['Action: failed', 'Status: 5.1.1']
  const inWords = (...text: string[]) =>
    read(
      'From: Mail Delivery System <MAILER-DAEMON@mx.example.net>',
      'To: shop@shop.example.com',
      'Subject: Undelivered Mail Returned to Sender',
      '',
      ...text,
    )

  it('says nothing about the recipient when the target of a forward is dead', () => {
    const original = 'Original-Recipient: rfc822;cy@example.net'
    expect(
      fields(original, 'Final-Recipient: rfc822; gone@else.example.com', ...failed),
    ).toMatchObject([{ recipient: 'cy@example.net', isHard: false }])
    expect(
      fields(
        'Final-Recipient: rfc822; cy@example.net',
        ...failed,
        'Diagnostic-Code: smtp; 550 5.1.1 <gone@else.example.com>: user unknown',
      ),
    ).toMatchObject([{ recipient: 'cy@example.net', isHard: false }])
    expect(fields(original, 'Final-Recipient: rfc822; CY@mx.example.net', ...failed)).toMatchObject(
      [{ recipient: 'cy@example.net', isHard: true }],
    )
    expect(
      inWords('cy@example.net', '  forwarded to gone@else.example.com: 550 5.1.1 user unknown'),
    ).toMatchObject([{ recipient: 'cy@example.net', isHard: false }])
  })

  it('is not permanent with an unknown action', () => {
    const [report] = fields(
      'Final-Recipient: rfc822; cy@example.net',
      'Action: parked',
      'Status: 5.1.1',
    )
    expect(report).toMatchObject({ kind: 'bounce', isHard: false })
    const [without] = fields('Final-Recipient: rfc822; cy@example.net', 'Status: 5.1.1')
    expect(without).toMatchObject({ kind: 'bounce', isHard: true })
  })

  it.each([
    ['as it is', ''],
    ['quoted', '> '],
    ['indented', '    '],
  ])('names no recipient by the fields of the message %s', (_, quote) => {
    for (const named of [
      ['From: Shop <shop@shop.example.com>', 'To: cy@example.net', 'Subject: Your order'],
      ['To: cy@example.net', 'Subject: Your order', 'Date: Sun, 22 Nov 2026 09:00:00 +0000'],
      [`Message-ID: ${ID}`, 'To: cy@example.net', '', 'cy@example.net: 550 5.1.1 user unknown'],
      ['Received: from app.example.com', 'To: cy@example.net'],
    ]) {
      const reports = inWords(
        'A message could not be delivered: 550 5.1.1 user unknown',
        '',
        ...named.map((line) => `${quote}${line}`),
      )
      expect(reports.filter(({ recipient }) => recipient !== undefined)).toEqual([])
    }
  })

  it('a reason below a headline of its own is said of the only address', () => {
    const letter = (...more: string[]) =>
      inWords(
        'Your message for <cy@example.net> could not be delivered.',
        '',
        'Reason:',
        '',
        '5.1.1 User unknown',
        ...more,
      )
    expect(letter()).toMatchObject([{ recipient: 'cy@example.net', isHard: true }])
    const reports = letter('', 'Another went to <dan@example.net>.')
    expect(reports.filter(({ isHard }) => isHard)).toEqual([])
  })

  it('may say before its only recipient what is wrong, and of several says it of nobody', () => {
    const said = ['Delivery failed.', '', 'The following address is unknown:', '']
    expect(inWords(...said, 'cy@example.net')).toMatchObject([{ isHard: true }])
    const several = inWords(...said, 'cy@example.net', '', 'dan@example.net')
    expect(several).toHaveLength(2)
    expect(several.filter(({ isHard }) => isHard)).toEqual([])
  })

  it('may announce its recipient before', () => {
    expect(
      inWords('Delivery failed.', '', 'To: cy@example.net', '550 5.1.1 user unknown'),
    ).toMatchObject([{ recipient: 'cy@example.net', isHard: true }])
  })

  it.each([
    ['Undelivered', 'This is a warning only. It will be retried. No permanent error yet.'],
    ['Undelivered', 'We will keep trying for 5 days before giving up.'],
    ['Undelivered', 'Your message could not be delivered for 4 hours. It will be retried.'],
    ['Unzustellbar', 'Die Zustellung verzögert sich.'],
    ['Undelivered', 'Votre message est retardé.'],
    ['Delivery Status Notification (Delay)', 'Your message could not be delivered yet.'],
  ])('a report of a delay is no bounce: %s: %s', (subject, text) => {
    const reports = read(
      'From: Mail Delivery System <MAILER-DAEMON@mx.example.net>',
      `Subject: ${subject}`,
      'Content-Type: text/plain; charset=utf-8',
      '',
      text,
      '',
      '<cy@example.net>: 550 5.1.1 user unknown',
    )
    expect(reports).toMatchObject([{ kind: 'deferral', isHard: false }])
  })
})
