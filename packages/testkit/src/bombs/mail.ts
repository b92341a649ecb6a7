/** What reads mail: whole messages, header blocks, addresses, reports of other servers. */
import type { Material } from './bomb.ts'

const HEAD =
  'From: a@example.com\r\nTo: b@example.com\r\nSubject: s\r\nMessage-ID: <1@example.com>\r\n'

export const mimeMessage: Material = {
  frames: [
    [`${HEAD}\r\n`, '\r\n'],
    [`${HEAD}Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nx\r\n`, '\r\n--b--\r\n'],
    [`${HEAD}Content-Type: text/html\r\n\r\n`, ''],
    [`${HEAD}Content-Type: text/plain; charset=utf-7\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n`, ''],
    [`${HEAD}Content-Type: a/b; name="`, '"\r\n\r\nbody\r\n'],
    [`${HEAD}Content-Transfer-Encoding: base64\r\nContent-Type: `, '\r\n\r\nQUJD\r\n'],
  ], // biome-ignore format: a table
  units: [
    '--b\r\n', '--b--\r\n', '--b\r\n\r\nx\r\n', '\r\n\r\n', '--', '=\r\n', '=20', '=  ', '=ZZ', 'QQ==',
    'QUJD\n', '+AAA-', '+', 'begin 644 a\n', 'a: b\r\n', ' ;name*0*=utf-8\'\'a', ';n*1=x', '; a="b"',
    '--b\nContent-Type: multipart/mixed; boundary=b\n\n', '--b\nContent-Type: message/rfc822\n\n', '<p>', '&amp;',
  ], // biome-ignore format: a list
  pairs: [['--b\r\n\r\n', '\r\n--b--\r\n']],
}

export const headerBlock: Material = {
  frames: [
    ['', '\r\n\r\nbody\r\n'],
    [`${HEAD}Subject: `, '\r\n\r\nbody\r\n'],
    ['X', 'y: a\r\nFrom: a@example.com\r\n\r\nbody\r\n'],
    [`${HEAD}Message-ID:`, '\r\n\r\n'],
    [`${HEAD}Received: from a by b `, '\r\n\r\n'],
    [`${HEAD}Date: `, '\r\n\r\n'],
    [`${HEAD}Content-Type: text/plain`, '\r\n\r\n'],
    [`${HEAD}References: `, '\r\n\r\n'],
  ],
  units: [
    'X-A: 1\r\n', 'received: a\r\n', 'a:', ' \r\n', '\r\n ', '\r\n\t', 'Message-ID: <a@b>\r\n', '=?utf-8?B?QUJD?= ',
    '=?utf-8?Q?=C3?= ', '=?x?', '?=', '<a@b>', '<a', 'content-a', 'Content-Type: a/b\r\n', ';a*0=b', '"\\', 'Received:',
    'Mon, 1 Jan 2001 ', 'for <a@example.com>;', 'b\xff',
  ], // biome-ignore format: a list
  pairs: [['=?utf-8?Q?', '?=']],
}

export const addressList: Material = {
  frames: [
    ['', ''],
    ['a <', '>'],
    ['"', '" <a@example.com>'],
    ['group: ', ';'],
    ['a@', '.example.com'],
    ['', '@example.com'],
  ],
  units: [
    'a@b.c', 'a@b.c,', '<a@b.c>', 'a:', 'a:;', 'a;', '""', '"a" ', '(a)', '(a', '\\(', '<<', '>', '>,', '@@', '@a', 'a@',
    'xn--', 'xn--a.', '=?utf-8?Q?a?= ', 'a <', ' <a@b>', '[', '[1.2.3.4]', '\u00c3\u00bc', '..', 'a..b', '!', '+',
  ], // biome-ignore format: a list
  pairs: [
    ['a:', ';'],
    ['"<', '>"'],
  ],
}

const REPORT = `${HEAD.replace('Subject: s', 'Subject: Undelivered Mail Returned to Sender')}MIME-Version: 1.0\r\n`
const STATUS = `${REPORT}Content-Type: multipart/report; report-type=delivery-status; boundary=b\r\n\r\n--b\r\n\r\nfailed\r\n--b\r\nContent-Type: message/delivery-status\r\n\r\nReporting-MTA: dns; mx.example.com\r\n\r\n`

export const deliveryReport: Material = {
  frames: [
    [STATUS, '\r\n--b--\r\n'],
    [`${STATUS}Action: failed\r\nFinal-Recipient: rfc822; `, '\r\nStatus: 5.1.1\r\n\r\n--b--\r\n'],
    [`${STATUS}Final-Recipient: utf-8; `, '\r\nAction: failed\r\n\r\n--b--\r\n'],
    [`${STATUS}Final-Recipient: rfc822; a@example.com\r\nAction: failed\r\nDiagnostic-Code: smtp; `, '\r\n\r\n--b--\r\n'],
    [`${STATUS}Final-Recipient: rfc822; a@example.com\r\nAction: failed\r\nStatus: `, '\r\n\r\n--b--\r\n'],
    [`${STATUS}\r\n--b\r\nContent-Type: text/rfc822-headers\r\n\r\nMessage-ID: `, '\r\n\r\n--b--\r\n'],
  ], // biome-ignore format: a table
  units: [
    'Action: failed\r\n', 'Final-Recipient: rfc822; a@example.com\r\n', '\r\n\r\n', 'rfc822;', 'dns;', '550 ', '550-', '5.1.1 ',
    '5.1.', '5.', '4.4.7', '\\x{e9}', '\\x{', '}', 'a@b ', 'a@b.', '<a@b>', 'user unknown ', 'smtp; ', 'mailbox ', 'Status: 5.0.0\r\n',
  ], // biome-ignore format: a list
  pairs: [['\\x{', '}']],
}

const FEEDBACK = `${HEAD}MIME-Version: 1.0\r\nContent-Type: multipart/report; report-type=feedback-report; boundary=b\r\n\r\n--b\r\n\r\nspam\r\n--b\r\nContent-Type: message/feedback-report\r\n\r\n`

export const complaint: Material = {
  frames: [
    [`${FEEDBACK}Feedback-Type: abuse\r\n`, '\r\n--b--\r\n'],
    [`${FEEDBACK}Feedback-Type: `, '\r\n\r\n--b--\r\n'],
    [`${FEEDBACK}Feedback-Type: abuse\r\nOriginal-Rcpt-To: `, '\r\n\r\n--b--\r\n'],
    [`${FEEDBACK}Feedback-Type: abuse\r\n\r\n--b\r\nContent-Type: message/rfc822\r\n\r\n`, '\r\n\r\n--b--\r\n'],
    [`${FEEDBACK}Feedback-Type: abuse\r\nArrival-Date: `, '\r\n\r\n--b--\r\n'],
  ], // biome-ignore format: a table
  units: [
    'Original-Rcpt-To: a@example.com\r\n', 'Removal-Recipient: a@b\r\n', 'Reported-Domain: a\r\n', 'abuse ', 'redacted', '\r\n\r\n',
    '<a@b>', 'a@b ', 'Message-ID: <a@b>\r\n', 'To: a@b\r\n', 'X-HmXmrOriginalRecipient: a\r\n', 'dns; ', '--b\r\n',
  ], // biome-ignore format: a list
  pairs: [],
}

const BOUNCE =
  'From: MAILER-DAEMON@example.com\r\nSubject: Mail delivery failed\r\nReturn-Path: <>\r\n'

export const informalBounce: Material = {
  frames: [
    [`${BOUNCE}\r\nThis message could not be delivered\n`, '\n'],
    [`${BOUNCE}\r\ncould not be delivered\n<a@example.com>:\n`, '\n'],
    [
      `${BOUNCE}\r\nundeliverable\n<a@example.com>: 550 5.1.1 `,
      '\n--- Below this line is a copy\n',
    ],
    [`${BOUNCE}Content-Type: text/html\r\n\r\nundeliverable `, ''],
    [`From: `, '\r\nSubject: failure notice\r\n\r\nundeliverable a@example.com 550 no\n'],
    [`From: MAILER-DAEMON@example.com\r\nSubject: `, '\r\n\r\nundeliverable a@example.com\n'],
  ],
  units: [
    'a@example.com\n', '<a@b.example>:\n', '\n\n', '\nx', 'recipient: ', 'failed recipient', '550 ', '450-', '5.1.1 ', '5.1.', 'message-id: ',
    'message-id: <', '>message-id:', '- ', '-=', 'was not ', 'could not be ', 'delivery ', 'has not yet been ', 'Mail delivery ', '<br>', '<',
    '&lt;', '&', 'a@', '@a', 'original ', '[', "'",
  ], // biome-ignore format: a list
  pairs: [],
}
