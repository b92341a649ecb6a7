/**
 * How the mail servers write their bounces: who they write as, under which subject, what stands before and
 * behind what was said, and which fields of a delivery report (RFC 3464) they fill in. They hold no more of
 * a server's words than tell it apart; what was said of a recipient is in bounces.txt.
 */
export interface BounceForm {
  readonly from?: string
  readonly subject?: string
  /** In the place of an empty return path. */
  readonly headers?: readonly string[]
  readonly type?: 'text/html'
  readonly text: readonly string[]
  /** Of the status part; without it, the mail is of text alone. */
  readonly fields?: readonly string[]
  /** Of the message that came back; `all` when it is not said. */
  readonly returned?: 'all' | 'headers' | 'none'
}

export interface Told {
  /** The recipient; '' where the mail names none. */
  readonly to: string
  readonly status: string
  readonly action: string
  /** What was said, as the lines of bounces.txt divide it. */
  readonly lines: readonly string[]
  /** The same in one line. */
  readonly words: string
}

type Form = (told: Told) => BounceForm

const host = 'mx.example.net'
const remote = 'in.example.net'
const reporting = `Reporting-MTA: dns; ${host}`
const arrival = 'Arrival-Date: Sun, 22 Nov 2026 09:00:00 +0000'

function recipientFields({ to, action, status }: Told): readonly string[] {
  return [
    ...(to === '' ? [] : [`Final-Recipient: rfc822; ${to}`]),
    `Action: ${action}`,
    ...(status === 'none' ? [] : [`Status: ${status === 'empty' ? '' : status}`]),
  ]
}

const remoteMta = `Remote-MTA: dns; ${remote}`
const smtp = (words: string): string => `Diagnostic-Code: smtp; ${words}`
const quoted = (to: string): string => (to === '' ? '' : `<${to}>`)

const postfixText = (to: string, said: string): readonly string[] => [
  `This is the mail system at host ${host}.`,
  '',
  'Your message could not be delivered to one or more recipients.',
  "It's attached below.",
  '',
  '                   The mail system',
  '',
  `${quoted(to)}: ${said}`,
  '',
]

const dsn = (
  told: Told,
  o: {
    readonly text: readonly string[]
    readonly more?: readonly string[]
    readonly ofMessage?: readonly string[]
  } & Omit<BounceForm, 'text' | 'fields'>,
): BounceForm => {
  const { more = [], ofMessage = [reporting, arrival], ...rest } = o
  return { ...rest, fields: [...ofMessage, '', ...recipientFields(told), ...more, ''] }
}

/** With the fields of RFC 3464. */
const reports: Readonly<Record<string, Form>> = {
  /** What another server said to Postfix. */
  postfix: (told) =>
    dsn(told, {
      text: postfixText(
        told.to,
        `host ${remote}[192.0.2.80] said: ${told.words} (in reply to RCPT TO command)`,
      ),
      more: [remoteMta, smtp(told.words)],
    }),
  /** What Postfix itself found. */
  'postfix-own': (told) =>
    dsn(told, {
      text: postfixText(told.to, told.words),
      more: [`Diagnostic-Code: X-Postfix; ${told.words}`],
    }),
  'postfix-headers': (told) =>
    dsn(told, {
      text: postfixText(told.to, `host ${remote}[192.0.2.80] said: ${told.words}`),
      more: [`Original-Recipient: rfc822;${told.to}`, remoteMta, smtp(told.words)],
      returned: 'headers',
    }),
  /** Two recipients; the other's mailbox is full. */
  'postfix-two': (told) =>
    dsn(told, {
      text: [
        ...postfixText(told.to, `host ${remote}[192.0.2.80] said: ${told.words}`),
        `<dan@example.net>: host ${remote}[192.0.2.80] said: 552 5.2.2 mailbox full`,
      ],
      more: [
        remoteMta,
        smtp(told.words),
        '',
        'Final-Recipient: rfc822; dan@example.net',
        'Action: failed',
        'Status: 5.2.2',
        smtp('552 5.2.2 mailbox full'),
      ],
    }),
  yandex: (told) =>
    dsn(told, {
      subject: '=?UTF-8?B?0J3QtdC00L7RgdGC0LDQstC70LXQvdC90L7QtSDRgdC+0L7QsdGJ0LXQvdC40LU=?=',
      text: [
        'Это письмо отправлено почтовым сервером. Письмо не может быть доставлено.',
        '',
        `${quoted(told.to)}: host ${remote}[192.0.2.80] said: ${told.words}`,
      ],
      more: [remoteMta, smtp(told.words)],
    }),
  sendmail: (told) =>
    dsn(told, {
      from: 'Mail Delivery Subsystem <MAILER-DAEMON@mx.example.net>',
      subject: 'Returned mail: see transcript for details',
      text: [
        'The original message was received at Sun, 22 Nov 2026 09:00:00 GMT',
        'from app.example.org [192.0.2.25]',
        '',
        '   ----- The following addresses had permanent fatal errors -----',
        quoted(told.to),
        `    (reason: ${told.words})`,
        '',
        '   ----- Transcript of session follows -----',
        `... while talking to ${remote}.:`,
        `>>> RCPT To:${quoted(told.to)}`,
        `<<< ${told.words}`,
      ],
      more: [remoteMta, `Diagnostic-Code: SMTP; ${told.words}`],
    }),
  /** Sendmail's own trouble: the transcript alone has words. */
  'sendmail-own': (told) =>
    dsn(told, {
      from: 'Mail Delivery Subsystem <MAILER-DAEMON@mx.example.net>',
      subject: 'Returned mail: see transcript for details',
      text: [
        '   ----- The following addresses had permanent fatal errors -----',
        quoted(told.to),
        '',
        '   ----- Transcript of session follows -----',
        ...told.lines,
      ],
    }),
  'exim-report': (told) =>
    dsn(told, {
      subject: 'Mail delivery failed: returning message to sender',
      headers: [`X-Failed-Recipients: ${told.to}`, 'Auto-Submitted: auto-replied'],
      text: [
        'This message was created automatically by mail delivery software.',
        '',
        'A message that you sent could not be delivered to one or more of its',
        'recipients. This is a permanent error. The following address(es) failed:',
        '',
        `  ${told.to}`,
        `    host ${remote} [192.0.2.80]`,
        `    SMTP error from remote mail server after RCPT TO:${quoted(told.to)}:`,
        `    ${told.words}`,
      ],
      more: [remoteMta, smtp(told.words)],
    }),
  exchange: (told) =>
    dsn(told, {
      from: 'Microsoft Outlook <postmaster@example.net>',
      subject: 'Undeliverable: Your order',
      text: [
        'Delivery has failed to these recipients or groups:',
        '',
        `${told.to}<mailto:${told.to}>`,
        'Your message could not be delivered.',
        '',
        'Diagnostic information for administrators:',
        '',
        `Generating server: ${host}`,
        '',
        told.to,
        `Remote Server returned '${told.words}'`,
        '',
        'Original message headers:',
        '',
        'Received: from app.example.org (192.0.2.25) by mx.example.net',
      ],
      ofMessage: [reporting],
      more: [`Diagnostic-Code: smtp;${told.words}`, 'X-Display-Name: Cy'],
    }),
  'exchange-online': (told) =>
    dsn(told, {
      from: 'Microsoft Outlook <MicrosoftExchange329e71ec88ae4615bbc36ab6ce41109e@example.net>',
      subject: 'Undeliverable: Your order',
      type: 'text/html',
      text: [
        `<html><body><p>Your message to <b>${told.to}</b> couldn't be delivered.</p>`,
        '<p>How to Fix It</p><p>Check the address and send the message again.</p>',
        `<table><tr><td>Error:</td><td>${told.words}</td></tr></table></body></html>`,
      ],
      more: [remoteMta, `Diagnostic-Code: smtp;${told.words}`],
    }),
  gmail: (told) =>
    dsn(told, {
      from: 'Mail Delivery Subsystem <mailer-daemon@example.net>',
      subject: 'Delivery Status Notification (Failure)',
      headers: [`X-Failed-Recipients: ${told.to}`, 'Auto-Submitted: auto-replied'],
      text: [
        '** Message not delivered **',
        '',
        'The response from the remote server was:',
        told.words,
      ],
      more: [
        remoteMta,
        smtp(told.words),
        'Last-Attempt-Date: Sun, 22 Nov 2026 01:00:00 -0800 (PST)',
      ],
    }),
  ses: (told) =>
    dsn(told, {
      from: 'MAILER-DAEMON@amazonses.example.net',
      subject: 'Delivery Status Notification (Failure)',
      text: [
        'An error occurred while trying to deliver the mail to the following recipients:',
        told.to,
      ],
      ofMessage: ['Reporting-MTA: dns; a8-50.smtp-out.example.net'],
      more: [`Diagnostic-Code: smtp; ${told.words}`],
    }),
  powermta: (told) =>
    dsn(told, {
      from: 'mail server <mailer@mx.example.net>',
      subject: 'Delivery report',
      text: [
        `Hello, this is the mail server on ${host}.`,
        'This is on the delivery status of a message that you sent.',
        '',
        `  ${quoted(told.to)}`,
        '    delivery failed; will not continue trying',
      ],
      ofMessage: ['Original-Envelope-Id: 1', reporting],
      more: [remoteMta, smtp(told.words), 'X-PowerMTA-BounceCategory: other'],
      returned: 'headers',
    }),
  'messaging-server': (told) =>
    dsn(told, {
      from: 'Internet Mail Delivery <postmaster@mx.example.net>',
      subject: 'Delivery Notification: Delivery has failed',
      text: [
        'This report relates to a message you sent with the following header fields:',
        '  Subject: Your order',
        '',
        'Your message cannot be delivered to the following recipients:',
        '',
        `  Recipient address: ${told.to}`,
        '  Reason: Remote SMTP server has rejected address',
        `  Diagnostic code: smtp;${told.words}`,
      ],
      ofMessage: [`Reporting-MTA: dns;${host} (tcp-daemon)`],
      more: [`Original-recipient: rfc822;${told.to}`, `Diagnostic-code: smtp;${told.words}`],
    }),
  symantec: (told) =>
    dsn(told, {
      subject: 'Mail Delivery Failure',
      text: [
        'I was unable to deliver your message to the following addresses:',
        '',
        told.to,
        '',
        `Reason: ${told.words}`,
        '',
        'The message subject was: Your order',
      ],
      more: [smtp(told.words)],
      returned: 'headers',
    }),
  domino: (told) =>
    dsn(told, {
      from: 'Postmaster@example.net',
      subject: 'DELIVERY FAILURE: Your order',
      text: [
        'Your message',
        '',
        '  Subject: Your order',
        '',
        'was not delivered to:',
        '',
        `  ${told.to}`,
        '',
        'because:',
        '',
        `  ${told.words}`,
      ],
      more: [`Diagnostic-Code: X-Notes; ${told.words}`],
    }),
  'cisco-esa': (told) =>
    dsn(told, {
      subject: 'Delivery Status Notification (Failure)',
      text: [
        `The following message to ${quoted(told.to)} was undeliverable.`,
        'The reason for the problem:',
        told.words,
      ],
      more: [remoteMta, `X-Supplementary-Info: <${remote} #${told.status} smtp;${told.words}>`],
    }),
  'cisco-esa-code': (told) =>
    dsn(told, {
      subject: 'Delivery Status Notification (Failure)',
      text: [
        `The following message to ${quoted(told.to)} was undeliverable.`,
        'The reason for the problem:',
        told.words,
      ],
      more: [`Diagnostic-Code: smtp; ${told.words}`],
    }),
  barracuda: (told) =>
    dsn(told, {
      from: 'MAILER-DAEMON@barracuda.example.net',
      subject: 'Delivery failure notification',
      text: ['Your message was not delivered.', '', `${quoted(told.to)}: ${told.words}`],
      more: [smtp(told.words)],
    }),
  courier: (told) =>
    dsn(told, {
      from: '"Courier mail server at mx.example.net" <@>',
      subject: 'NOTICE: mail delivery status.',
      text: [
        'UNDELIVERABLE MAIL',
        '',
        'Your message to the following recipients cannot be delivered:',
        '',
        `${quoted(told.to)}:`,
        `    ${remote} [192.0.2.80]:`,
        `>>> RCPT TO:${quoted(told.to)}`,
        `<<< ${told.words}`,
      ],
      more: [remoteMta, smtp(told.words)],
    }),
  surfcontrol: (told) =>
    dsn(told, {
      from: '<postmaster@mx.example.net>',
      subject: 'Your order',
      text: [
        'Your message could not be sent.',
        'A transcript of the attempts to send the message follows.',
        `Addressed To: ${told.to}`,
        '',
        'Failed to send to identified host,',
        `${told.to}: [192.0.2.80], ${told.words}`,
      ],
    }),
  activehunter: (told) =>
    dsn(told, {
      from: '"MAILER-DAEMON" <MAILER-DAEMON@mx.example.net>',
      subject: 'FAILURE NOTICE : Your order',
      text: [
        '   ----- The following addresses had permanent fatal errors -----',
        '',
        `>>> ${told.to} ${quoted(told.to)}`,
        '',
        '   ----- Transcript of session follows -----',
        told.words,
      ],
    }),
  'gmail-spanish': (told) =>
    dsn(told, {
      from: 'Mail Delivery Subsystem <mailer-daemon@example.net>',
      subject: 'Delivery Status Notification (Failure)',
      headers: [`X-Failed-Recipients: ${told.to}`, 'Auto-Submitted: auto-replied'],
      text: [
        '** No se ha podido entregar el mensaje **',
        '',
        `Tu mensaje a ${told.to} no se ha entregado.`,
        '',
        'La respuesta del servidor remoto fue:',
        told.words,
      ],
      more: [remoteMta, smtp(told.words)],
    }),
  'exchange-german': (told) =>
    dsn(told, {
      from: 'Microsoft Outlook <postmaster@example.net>',
      subject: 'Unzustellbar: Your order',
      text: [
        'Fehler bei der Nachrichtenzustellung an folgende Empfänger oder Gruppen:',
        '',
        `${told.to}<mailto:${told.to}>`,
        '',
        'Diagnoseinformationen für Administratoren:',
        '',
        `Generierender Server: ${host}`,
        '',
        told.to,
        `Remote Server returned '${told.words}'`,
      ],
      ofMessage: [reporting],
      more: [`Diagnostic-Code: smtp;${told.words}`],
    }),
  /** The fields and nothing else. */
  'fields-only': (told) => dsn(told, { text: [''], more: [smtp(told.words)], returned: 'none' }),
  /** No `Diagnostic-Code`, and nothing said. */
  'status-only': (told) => dsn(told, { text: ['Delivery report'] }),
  /** What the server said is in the text alone. */
  'no-diagnostic': (told) => dsn(told, { text: postfixText(told.to, told.words) }),
  'no-diagnostic-gmail': (told) =>
    dsn(told, {
      from: 'Mail Delivery Subsystem <mailer-daemon@example.net>',
      subject: 'Delivery Status Notification (Failure)',
      text: told.lines,
    }),
  /** The group of the recipient is missing. */
  'no-group': (told) => ({
    text: postfixText(told.to, told.words),
    fields: [reporting, arrival, ''],
  }),
  /** Fields of the message and of its only recipient in one group. */
  'one-group': (told) => ({
    text: ['Your message was not delivered.'],
    fields: [reporting, arrival, ...recipientFields(told), smtp(told.words), ''],
  }),
  /** The server has rewritten the address since. */
  rewritten: (told) => ({
    text: ['Your message was not delivered.'],
    fields: [
      reporting,
      '',
      `Original-Recipient: rfc822;${told.to}`,
      'Final-Recipient: rfc822; mailbox-17@store.example.net',
      `Action: ${told.action}`,
      `Status: ${told.status}`,
      smtp(told.words),
      '',
    ],
  }),
  'exim-delay': (told) =>
    dsn(told, {
      subject: 'Warning: message 1abcde-000001-Ab delayed 24 hours',
      text: [
        'A message that you sent has not yet been delivered to one or more of its recipients',
        'after more than 24 hours on the queue.',
        `  ${told.to}`,
        `    Delay reason: ${told.words}`,
        'No action is required on your part. Delivery attempts will continue for some time.',
      ],
      more: [smtp(told.words)],
    }),
  'postfix-delay': (told) =>
    dsn(told, {
      subject: 'Delayed Mail (still being retried)',
      text: [
        '# THIS IS A WARNING ONLY. YOU DO NOT NEED TO RESEND YOUR MESSAGE. #',
        '',
        'Your message could not be delivered for more than 4 hour(s).',
        'It will be retried until it is 5 day(s) old.',
        '',
        `${quoted(told.to)}: ${told.words}`,
      ],
      more: ['Will-Retry-Until: Fri, 27 Nov 2026 09:00:00 +0000', smtp(told.words)],
    }),
  'sendmail-delay': (told) =>
    dsn(told, {
      from: 'Mail Delivery Subsystem <MAILER-DAEMON@mx.example.net>',
      subject: 'Warning: could not send message for past 4 hours',
      text: [
        '    **      THIS IS A WARNING MESSAGE ONLY      **',
        '',
        '   ----- The following addresses had transient non-fatal errors -----',
        quoted(told.to),
        '',
        '   ----- Transcript of session follows -----',
        told.words,
        'Will keep trying until message is 5 days old',
      ],
      more: ['Will-Retry-Until: Fri, 27 Nov 2026 09:00:00 GMT'],
    }),
  success: (told) =>
    dsn(told, {
      subject: 'Successful Mail Delivery Report',
      text: ['Your message was successfully delivered.', '', `${quoted(told.to)}: ${told.words}`],
      more: [smtp(told.words)],
    }),
}

const qmail = (to: string, said: readonly string[]): BounceForm => ({
  from: 'MAILER-DAEMON@mx.example.net',
  subject: 'failure notice',
  text: [
    `Hi. This is the qmail-send program at ${host}.`,
    "I'm afraid I wasn't able to deliver your message to the following addresses.",
    "This is a permanent error; I've given up. Sorry it didn't work out.",
    '',
    `${quoted(to)}:`,
    ...said,
    '',
    '--- Below this line is a copy of the message.',
  ],
})

const exim = (to: string, said: readonly string[], headers: readonly string[]): BounceForm => ({
  subject: 'Mail delivery failed: returning message to sender',
  headers,
  text: [
    'This message was created automatically by mail delivery software.',
    '',
    'A message that you sent could not be delivered to one or more of its',
    'recipients. This is a permanent error. The following address(es) failed:',
    '',
    `  ${to}`,
    ...said.map((line) => `    ${line}`),
    '',
    '------ This is a copy of the message, including all the headers. ------',
  ],
})

/** In text alone. */
const letters: Readonly<Record<string, Form>> = {
  qmail: ({ to, lines }) => qmail(to, lines),
  'qmail-remote': ({ to, words }) =>
    qmail(to, [
      '192.0.2.80 does not like recipient.',
      `Remote host said: ${words}`,
      'Giving up on 192.0.2.80.',
    ]),
  'qmail-sender': ({ to, words }) =>
    qmail(to, [
      'Connected to 192.0.2.80 but sender was rejected.',
      `Remote host said: ${words}`,
      'Giving up on 192.0.2.80.',
    ]),
  'qmail-data': ({ to, words }) =>
    qmail(to, ['192.0.2.80 failed after I sent the message.', `Remote host said: ${words}`]),
  exim: ({ to, words }) =>
    exim(
      to,
      [
        `host ${remote} [192.0.2.80]`,
        `SMTP error from remote mail server after RCPT TO:${quoted(to)}:`,
        words,
      ],
      [`X-Failed-Recipients: ${to}`],
    ),
  'exim-local': ({ to, lines }) => exim(to, lines, [`X-Failed-Recipients: ${to}`]),
  'exim-bare': ({ to, lines }) => exim(to, lines, ['Return-Path: <>']),
  mailru: ({ to, words }) => ({
    ...exim(
      to,
      [
        `SMTP error from remote mail server after RCPT TO:${quoted(to)}:`,
        `host ${remote} [192.0.2.80]: ${words}`,
      ],
      [`X-Failed-Recipients: ${to}`],
    ),
    subject: '=?UTF-8?B?0JLQsNGI0LUg0YHQvtC+0LHRidC10L3QuNC1INC90LUg0LTQvtGB0YLQsNCy0LvQtdC90L4=?=',
  }),
  gmx: ({ to, words }) => ({
    from: 'mailer-daemon@example.net',
    subject: 'Mail delivery failed: returning message to sender',
    text: [
      'A message that you sent could not be delivered to one or more of',
      'its recipients. This is a permanent error. The following address',
      'failed:',
      '',
      `"${to}":`,
      'SMTP error from remote server after RCPT command:',
      `host: ${remote}`,
      words,
      '',
      '--- The header of the original message is following. ---',
    ],
  }),
  ionos: ({ to, words }) => ({
    subject: 'Mail delivery failed: returning message to sender',
    text: [
      'A message that you sent could not be delivered to one or more of',
      'its recipients. This is a permanent error.',
      '',
      'The following address failed:',
      '',
      to,
      '',
      'For the following reason:',
      '',
      words,
      '',
      '--- The header of the original message is following. ---',
    ],
  }),
  opensmtpd: ({ to, words }) => ({
    from: 'Mailer Daemon <MAILER-DAEMON@mx.example.net>',
    subject: 'Delivery status notification: error',
    text: [
      'Hi!',
      '',
      'This is the MAILER-DAEMON, please DO NOT REPLY to this e-mail.',
      '',
      'An error has occurred while attempting to deliver a message for',
      'the following list of recipients:',
      '',
      `${to}: ${words}`,
      '',
      'Below is a copy of the original message:',
    ],
  }),
  dragonfly: ({ to, words }) => ({
    from: 'MAILER-DAEMON <>',
    subject: 'Mail delivery failed',
    text: [
      `This is the DragonFly Mail Agent v0.13 at ${host}.`,
      '',
      `There was an error delivering your mail to ${quoted(to)}.`,
      '',
      `${remote} [192.0.2.80] did not like our RCPT TO:`,
      words,
      '',
      'Message headers follow.',
    ],
  }),
  'dragonfly-own': ({ to, words }) => ({
    from: 'MAILER-DAEMON <>',
    subject: 'Mail delivery failed',
    text: [
      `This is the DragonFly Mail Agent v0.13 at ${host}.`,
      '',
      `There was an error delivering your mail to ${quoted(to)}.`,
      '',
      words,
      '',
      'Message headers follow.',
    ],
  }),
  imail: ({ lines }) => ({
    from: '"Postmaster" <postmaster@mx.example.net>',
    subject: 'Undeliverable Mail',
    text: [...lines, '', 'Original message follows.'],
  }),
  mailmarshal: ({ to, words }) => ({
    from: 'postmaster@mx.example.net',
    subject: 'Undeliverable Mail: "Your order"',
    text: [
      'Your message:',
      '   From:    shop@example.org',
      '   Subject: Your order',
      '',
      'Could not be delivered because of',
      '',
      words,
      '',
      'The following recipients were affected:',
      `   ${to}`,
      '',
      'Additional Information',
      'Original Sender: <shop@example.org>',
    ],
    returned: 'none',
  }),
  verizon: ({ words }) => ({
    from: 'MMSC NDR Administrator <postmaster@example.net>',
    subject: 'Undeliverable Message',
    text: ['Message could not be delivered to mobile.', `Error: ${words}`, '', 'Original Message:'],
  }),
  yahoo: ({ to, lines }) => ({
    from: 'MAILER-DAEMON@mx.example.net',
    subject: 'Failure Notice',
    text: [
      'Sorry, we were unable to deliver your message to the following address.',
      '',
      `${quoted(to)}:`,
      ...lines,
      '',
      '--- Below this line is a copy of the message.',
    ],
  }),
  'yahoo-old': ({ to, lines }) => ({
    from: 'MAILER-DAEMON@mx.example.net',
    subject: 'Delivery failure',
    text: [
      `Message from ${host}.`,
      'Unable to deliver message to the following address(es).',
      '',
      `${quoted(to)}:`,
      ...lines,
      '',
      '--- Original message follows.',
    ],
  }),
  mailfoundry: ({ to, words }) => ({
    from: 'postmaster@mx.example.net',
    subject: 'Message delivery has failed',
    text: [
      `Unable to deliver message to: ${quoted(to)}`,
      'Delivery failed for the following reason:',
      `Server ${remote}[192.0.2.80] failed with: ${words}`,
      '',
      'This has been a permanent failure. No further delivery attempts will be made.',
    ],
    returned: 'none',
  }),
  mxlogic: ({ to, words }) => ({
    subject: 'Mail delivery failed',
    text: [
      'A message that you have sent could not be delivered to one or more',
      'recipients. This is a permanent error. The following address failed:',
      '',
      `  ${quoted(to)}: ${words}`,
      '',
      'Included is a copy of the message header:',
      '-----------------------------------------',
    ],
  }),
  zoho: ({ to, words }) => ({
    from: 'mailer-daemon@mx.example.net',
    subject: 'Undelivered Mail Returned to Sender',
    text: [
      'A message that you sent could not be delivered to one or more of its recipients. This is a permanent error.',
      '',
      `${to} ${words}`,
      '',
    ],
  }),
  x1: ({ to, words }) => ({
    from: '"Mail Deliver System" <MAILER-DAEMON@mx.example.net>',
    subject: 'Returned Mail: User unknown',
    text: [
      'The original message was received at Sun, 22 Nov 2026 09:00:00 +0000',
      '',
      '---The following addresses had delivery errors---',
      '',
      `${to} [${words}]`,
      '',
      '--------- Original message ---------',
    ],
  }),
  x3: ({ to, words }) => ({
    subject: 'Delivery status notification',
    text: [
      'This is an automatically generated Delivery Status Notification.',
      '',
      'Delivery to the following recipients failed permanently:',
      '',
      `  * ${to}`,
      '',
      'Technical details:',
      `SMTP:RCPT host 192.0.2.80: ${words}`,
      '',
    ],
  }),
  x4: ({ to, lines }) => ({
    from: 'mailer-daemon@mx.example.net',
    subject: 'failure notice',
    text: [
      'Your mail message to the following address(es) could not be delivered. This',
      'is a permanent error. Please verify the addresses and try again.',
      '',
      `${quoted(to)}:`,
      ...lines,
      '',
      '--- Below this line is a copy of the message.',
    ],
  }),
  x6: ({ to, words }) => ({
    from: 'mailer-daemon',
    subject: 'There was an error sending your mail',
    text: [
      'We had trouble delivering your message. Full details follow:',
      '',
      "Subject: 'Your order'",
      '',
      '1 error(s):',
      '',
      `SMTP Server <${remote}> rejected recipient ${quoted(to)} (Error following RCPT command). It responded as follows: [${words}]`,
    ],
    returned: 'none',
  }),
  'exchange-old': ({ to, lines }) => ({
    from: 'System Administrator <postmaster@example.net>',
    subject: 'Undeliverable: Your order',
    text: [
      'Your message',
      '',
      '  To:      Team',
      '  Subject: Your order',
      '  Sent:    Sun, 22 Nov 2026 09:00:00 -0000',
      '',
      'did not reach the following recipient(s):',
      '',
      `${to} on Sun, 22 Nov 2026 10:00:00 -0000`,
      ...lines.map((line) => `    ${line}`),
      '    MSEXCH:IMS:EXAMPLE:SITE:SERVER 0 (000C05A6) Refused',
    ],
    returned: 'none',
  }),
  groupwise: ({ to, words }) => ({
    from: 'Mail Delivery Subsystem <mailer-daemon@mx.example.net>',
    subject: 'Message status - undeliverable',
    text: ['The message that you sent was undeliverable to the following:', `\t${to} (${words})`],
    returned: 'none',
  }),
  hmailserver: ({ to, words }) => ({
    from: 'mailer-daemon@mx.example.net',
    subject: 'Message undeliverable: Your order',
    text: [
      'Your message did not reach some or all of the intended recipients.',
      '',
      '   Subject: Your order',
      '',
      'The following recipient(s) could not be reached:',
      '',
      to,
      '   Error Type: SMTP',
      '   Remote server (192.0.2.80) issued an error.',
      `   hMailServer sent: RCPT TO:${quoted(to)}`,
      `   Remote server replied: ${words}`,
      '',
      'hMailServer',
    ],
    returned: 'none',
  }),
  mailenable: ({ to, words }) => ({
    from: 'postmaster@mx.example.net',
    subject: 'Message Delivery Failure',
    text: [
      'MailEnable: Message could not be delivered to some recipients.',
      'The following recipient(s) could not be reached:',
      '',
      `\tRecipient: [SMTP:${to}]`,
      `\tReason: ${words}`,
      '',
      'Message headers follow:',
    ],
  }),
  smartermail: ({ to, words }) => ({
    from: 'System Administrator <postmaster@mx.example.net>',
    subject: 'Delivery Failure',
    text: [
      'Could not deliver message to the following recipient(s):',
      '',
      `Failed Recipient: ${to}`,
      `Reason: Remote host said: ${words}`,
      '',
      '   -- The header and top 20 lines of the message follows --',
    ],
  }),
  purelymail: ({ to, words }) => ({
    from: 'postmaster@mx.example.net',
    subject: 'Undeliverable mail',
    text: [
      'We could not deliver the attached mail for the following recipients.',
      `${to} at remote mailserver ${remote}. (192.0.2.80): MessagingException: ${words}`,
    ],
    returned: 'none',
  }),
  winmail: ({ to, words }) => ({
    from: 'postmaster@mx.example.net',
    subject: 'failure notice',
    text: [
      'Hi. This is the smtp delivery program.',
      "I'm afraid I wasn't able to deliver your message to the following addresses.",
      "This is a permanent error; I've given up. Sorry it didn't work out.",
      '',
      `${quoted(to)}, remote server said: ${words}`,
      '',
      '--- Below this line is a copy of the message.',
    ],
  }),
  coremail: ({ to, words }) => ({
    from: 'Postmaster <postmaster@mx.example.net>',
    subject: '=?UTF-8?B?57O757uf6YCA5L+h?=',
    text: ['很抱歉，您的邮件被退回。', '', `收件人: ${to}`, `退信原因: ${words}`],
    returned: 'none',
  }),
  mdaemon: ({ to, words }) => ({
    from: 'MDaemon at mx.example.net <MDaemon@mx.example.net>',
    subject: 'Permanent Delivery Failure',
    text: [
      'The following data may contain sections which represent BASE64 encoded messages.',
      '',
      `Failed address: ${to}`,
      '',
      '--- Session Transcript ---',
      `--> RCPT To:${quoted(to)}`,
      `<-- ${words}`,
      '--- End Transcript ---',
      '',
      ': Message contains [1] file attachments',
    ],
    returned: 'none',
  }),
  communigate: ({ to, words }) => ({
    from: 'MAILER-DAEMON@mx.example.net',
    subject: 'Undeliverable mail: Your order',
    text: [
      `Failed to deliver to '${to}'`,
      'SMTP module(domain example.net) reports:',
      ` ${words}`,
      '',
    ],
    returned: 'none',
  }),
  /** The fields of a report, written into the text. */
  workmail: ({ to, status, action, words }) => ({
    from: 'postmaster@mx.example.net',
    subject: '=?iso-8859-15?Q?Delivery_Status_Notification_=28Failure=29?=',
    text: [
      'An error occurred while trying to deliver the mail to the following recipients:',
      to,
      '',
      'Technical report:',
      '',
      `Reporting-MTA: dsn; ${host}`,
      '',
      `Action: ${action}`,
      `Final-Recipient: rfc822; ${to}`,
      `Diagnostic-Code: smtp; ${words}`,
      `Status: ${status}`,
    ],
    returned: 'none',
  }),
  interscan: ({ to, words }) => ({
    from: '"InterScan MSS" <postmaster@mx.example.net>',
    subject: 'Mail delivery failure',
    text: [
      `Sent <<< RCPT TO:${quoted(to)}`,
      `Received >>> ${words}`,
      '',
      `Unable to deliver message to ${quoted(to)}`,
      '************************     End of message     **********************',
    ],
    returned: 'none',
  }),
  'sendmail-old': ({ to, lines }) => ({
    from: 'Mail Delivery Subsystem <MAILER-DAEMON@mx.example.net>',
    subject: 'Returned mail: User unknown',
    text: [
      '   ----- Transcript of session follows -----',
      `... while talking to ${remote}:`,
      `>>> RCPT To:${quoted(to)}`,
      ...lines.map((line) => `<<< ${line}`),
      `${quoted(to)}... undeliverable`,
      '',
      '   ----- Unsent message follows -----',
    ],
  }),
  biglobe: ({ to, words }) => ({
    from: 'postmaster@mx.example.net',
    subject: 'Returned mail: Service unavailable',
    text: [
      '   ----- The following addresses had delivery problems -----',
      to,
      '',
      '   ----- Non-delivered information -----',
      words,
    ],
    returned: 'none',
  }),
  mcafee: ({ to, words }) => ({
    from: '<postmaster@mx.example.net>',
    subject: 'Delivery Status',
    text: [
      '--- The following addresses had delivery problems ---',
      '',
      `${quoted(to)}   (${words})`,
      '',
    ],
    returned: 'none',
  }),
  notes: ({ to, words }) => ({
    from: 'postmaster@mx.example.net',
    subject: 'Undeliverable message',
    text: [
      '------- Failure Reasons  --------',
      '',
      words,
      to,
      '',
      '------- Returned Message --------',
    ],
  }),
  james: ({ to, words }) => ({
    from: 'postmaster@mx.example.net',
    subject: '[BOUNCE]',
    text: [
      'Your message was not delivered.',
      'Message details:',
      '  Subject: Your order',
      'Error message below:',
      words,
      'Failed recipient(s):',
      to,
    ],
    returned: 'none',
  }),
  mfilter: ({ to, words }) => ({
    from: 'POSTMASTER <postmaster@mx.example.net>',
    subject: 'failure notice',
    text: [
      to,
      '',
      '-------server message',
      words,
      '',
      '-------SMTP command',
      'DATA',
      '',
      '-------original message',
    ],
  }),
  kddi: ({ to, words }) => ({
    from: 'postmaster@mx.example.net',
    subject: 'Mail System Error - Returned Mail',
    text: [
      'Your mail sent on: Sun, 22 Nov 2026 09:00:00 +0000',
      `Could not be delivered to: ${quoted(to)}`,
      words,
    ],
    returned: 'none',
  }),
  ezweb: ({ to, words }) => ({
    from: '<postmaster@mx.example.net>',
    subject: 'Mail System Error - Returned Mail',
    text: [quoted(to), '', words, '', '---------------------------------------------------'],
  }),
  aol: ({ to, words }) => ({
    from: 'Postmaster <postmaster@mx.example.net>',
    subject: 'Undeliverable: Your order',
    type: 'text/html',
    text: [
      '<html><body><h1>Message not delivered</h1>',
      `<p>Your message to ${to} could not be delivered.</p>`,
      `<p>${words}</p></body></html>`,
    ],
    returned: 'none',
  }),
  /** Nothing but what is in bounces.txt, from a mailer daemon. */
  plain: ({ lines }) => ({
    text: lines,
    returned: 'none',
  }),
  /** The same, from a person. */
  person: ({ lines }) => ({
    from: 'Cy <cy@example.net>',
    subject: 'Re: Your order',
    headers: ['Return-Path: <cy@example.net>'],
    text: lines,
    returned: 'none',
  }),
  /** The same, written by a machine for a person: an automatic answer. */
  autoreply: ({ lines }) => ({
    from: 'Cy <cy@example.net>',
    subject: 'Out of office: Your order',
    headers: ['Return-Path: <>', 'Auto-Submitted: auto-replied', 'Precedence: bulk'],
    text: lines,
    returned: 'none',
  }),
  delay: ({ to, words }) => ({
    subject: 'Warning: message 1abcde-000001-Ab delayed 24 hours',
    headers: ['Return-Path: <>'],
    text: [
      'A message that you sent has not yet been delivered to one or more of its',
      'recipients after more than 24 hours on the queue.',
      '',
      `  ${to}`,
      `    Delay reason: ${words}`,
      '',
      'No action is required on your part. Delivery attempts will continue for',
      'some time, and this warning may be repeated at intervals.',
    ],
    returned: 'none',
  }),
}

export const forms: Readonly<Record<string, Form>> = { ...reports, ...letters }
