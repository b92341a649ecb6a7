/** Builds the mail of a labelled bounce: what its form says around what the server said. */
import { type BounceForm, forms } from './bounce-forms.ts'
import type { LabelledBounce } from './labels.ts'

export const RECIPIENT = 'cy@example.net'

/** The message that came back. Whom it was addressed to is not whom the bounce is about. */
const RETURNED = [
  'Received: from app.example.org (app.example.org [192.0.2.25]) by mx.example.org; Sun, 22 Nov 2026 09:00:00 +0000',
  'From: Shop <shop@example.org>',
  'To: Team <team@example.net>',
  'Subject: Your order',
  'Message-ID: <01JABCDEFGHJKMNPQRSTVWXYZ0.3@example.org>',
  'Date: Sun, 22 Nov 2026 09:00:00 +0000',
]

export function buildBounce({ form: name, options, said }: LabelledBounce): Uint8Array {
  const make = forms[name]
  if (make === undefined) throw new Error(`no such form: ${name}`)
  const to = options.to === 'none' ? '' : RECIPIENT
  const words = said
    .replaceAll('{r}', RECIPIENT)
    .split(/ \/\/(?= |$)/)
    .map((line) => line.trimStart())
  const status = options.status ?? /[45]\.\d{1,3}\.\d{1,3}/.exec(said)?.[0] ?? '5.0.0'
  const form = make({
    to,
    status,
    action: options.action ?? 'failed',
    lines: words,
    words: words.join(' '),
  })
  const lines = [
    `From: ${options.from ?? form.from ?? 'Mail Delivery System <MAILER-DAEMON@mx.example.net>'}`,
    'To: shop@example.org',
    `Subject: ${options.subject ?? form.subject ?? 'Undelivered Mail Returned to Sender'}`,
    'Date: Sun, 22 Nov 2026 10:00:00 +0000',
    'Message-ID: <b1@mx.example.net>',
    ...(form.headers ?? ['Return-Path: <>']),
    'MIME-Version: 1.0',
    ...bodyOf(form),
  ]
  return Buffer.from(lines.join('\r\n'))
}

function bodyOf({ text, fields, type, returned = 'all' }: BounceForm): readonly string[] {
  const ofText = [`Content-Type: ${type ?? 'text/plain'}; charset=utf-8`, '']
  if (fields === undefined) return [...ofText, ...text, ...(returned === 'none' ? [] : inText())]
  return [
    'Content-Type: multipart/report; report-type=delivery-status; boundary="r"',
    '',
    '--r',
    ...ofText,
    ...text,
    '--r',
    'Content-Type: message/delivery-status',
    '',
    ...fields,
    ...(returned === 'none' ? [] : asPart(returned)),
    '--r--',
    '',
  ]
}

function inText(): readonly string[] {
  return ['', ...RETURNED, '', 'Thank you for your order.', '']
}

function asPart(returned: 'all' | 'headers'): readonly string[] {
  return returned === 'all'
    ? ['--r', 'Content-Type: message/rfc822', '', ...RETURNED, '', 'Thank you for your order.']
    : ['--r', 'Content-Type: text/rfc822-headers', '', ...RETURNED]
}
