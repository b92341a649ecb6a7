/** Answers that a provider, or a host in its place, could give; and mails that nobody would write. */
import fc from 'fast-check'
import type { RelayAnswer, RelayMail } from './relay.ts'

/** Names that providers use: garbage is only read where it stands under them. */
const NAMES = [
  ...[
    'errors',
    'message',
    'description',
    'code',
    'field',
    'help',
    'results',
    'id',
    'rcpt_to_errors',
  ],
  ...['total_accepted_recipients', 'total_rejected_recipients', 'dns', 'dkim', 'valid', 'domain'],
  ...['dkim_status', 'ownership_verified', 'compliance_status', 'selector', 'public', 'reason'],
  ...['validation_results', 'mail_cname', 'dkim1', 'host', 'data', 'type', 'msys', 'message_event'],
  ...['track_event', 'event', 'event_id', 'sg_event_id', 'sg_message_id', 'timestamp', 'time'],
  ...['rcpt_meta', 'postrider_ref', 'raw_rcpt_to', 'rcpt_to', 'email', 'message_id', 'status'],
  ...['transmission_id', 'error_code', 'num_retries', 'bounce_class', 'raw_reason', 'response'],
  ...['ip', 'ip_address', 'useragent', 'user_agent', 'hard', 'suppresses', 'fbtype', '__proto__'],
]

/** Values that mean something, or nearly. */
const VALUES = [
  ...['bounce', 'delivered', 'delivery', 'out_of_band', 'dropped', 'spamreport', 'unsubscribe'],
  ...['spam_complaint', 'policy_rejection', 'generation_failure', 'injection', 'link_unsubscribe'],
  ...['01JD4M8W6ZQ3V5T7X9Y2A4C6E8.3', '01JD4M8W6ZQ3V5T7X9Y2A4C6E8.-1', '10', '5.1.1', 'valid'],
  ...['1700000000', '2026-01-02T03:04:05.678Z', '\u0000', '\ud800', 'x'.repeat(10_000), ''],
  ...[0, -1, 1e21, 1.5, 1_700_000_000, 1_700_000_000_000, 2 ** 60, true, null],
]

const json = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom<unknown>(...VALUES),
    fc.string({ unit: 'binary', maxLength: 20 }),
    fc.double(),
    fc.array(tie('value'), { maxLength: 4 }),
    tie('object'),
  ),
  object: fc.dictionary(fc.constantFrom(...NAMES), tie('value'), { maxKeys: 10 }),
}))

const text = fc.oneof(
  json.value.map((value) => JSON.stringify(value)),
  json.object.map((value) => JSON.stringify(value)),
  fc.string({ unit: 'binary' }),
  fc.constantFrom('', '<html>', 'null', '[]', '{}', '[null]', '{"errors":[{}]}', '{"results":{}}'),
)

export const anyAnswer: fc.Arbitrary<RelayAnswer> = fc.record({
  status: fc.oneof(fc.integer({ min: 200, max: 599 }), fc.constantFrom(200, 202, 401, 403, 429)),
  headers: fc.dictionary(
    fc.constantFrom('x-message-id', 'retry-after', 'date', 'x-ratelimit-reset', 'content-type'),
    fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.array(fc.string()),
      fc.constantFrom('0', '-1', '77', '99999999999', 'Thu, 01 Jan 2099 00:00:00 GMT', 'NaN'),
    ),
  ),
  body: text,
})

export const anyCallback: fc.Arbitrary<string> = fc.oneof(
  text,
  fc.array(json.object).map((reports) => JSON.stringify(reports)),
  fc
    .array(json.object)
    .map((events) => JSON.stringify(events.map((event) => ({ msys: { message_event: event } })))),
)

/** Everything that acceptance lets through may stand in it. */
export function anyMail(base: RelayMail): fc.Arbitrary<RelayMail> {
  const words = (o: { readonly minLength: number; readonly maxLength: number }) =>
    fc
      .string({ ...o, unit: 'grapheme' })
      .map((one) => one.replace(/\p{C}/gu, '?').trim())
      .filter((one) => one !== '')
  const templating = fc.constantFrom('{{', '}}', '{{{x}}}', '%', '-', '"', '\\', '<', '[')
  const mixed = fc
    .array(fc.oneof(words({ minLength: 1, maxLength: 20 }), templating), { minLength: 1 })
    .map((parts) => parts.join('').trim())
  const attachment = fc
    .record({
      filename: fc.oneof(mixed, fc.constantFrom('Report, final; 2.pdf', 'möbel "x".bin')),
      type: fc.constantFrom('application/pdf', 'text/calendar; charset=utf-8; method=REQUEST'),
      content: fc.uint8Array({ minLength: 1, maxLength: 50 }),
      contentId: fc.stringMatching(/^[!-;=?-~]{1,20}$/),
      isInline: fc.boolean(),
    })
    .map(({ filename, content, isInline, ...more }) => ({
      ...more,
      filename: filename.slice(0, 255).toWellFormed(),
      content: Buffer.from(content).toString('base64'),
      disposition: isInline ? ('inline' as const) : ('attachment' as const),
    }))
  return fc
    .record({
      subject: mixed,
      name: mixed,
      text: fc.oneof(mixed, words({ minLength: 1, maxLength: 500 })),
      html: mixed.map((one) => `<p>${one}</p>\n`),
      header: mixed,
      local: fc.stringMatching(/^[a-z0-9][a-z0-9!#$&*=?^_+-]{0,20}[a-z0-9]$/),
      n: fc.nat({ max: 999 }),
      campaignId: words({ minLength: 1, maxLength: 255 }).map((one) =>
        one.slice(0, 255).toWellFormed(),
      ),
      attachments: fc.uniqueArray(attachment, { maxLength: 3, selector: (one) => one.contentId }),
    })
    .map(({ name, header, local, ...rest }) => {
      const to = { address: `${local}@example.net`, name }
      return {
        ...base,
        ...rest,
        from: { address: base.from.address, name },
        to,
        shown: { to: [to], cc: [{ address: 'carol@example.org', name }] },
        headers: [...base.headers, ['X-Words', header] as const],
      }
    })
}

/** In a PostgreSQL text column, and in JSON. */
export function isStorable(value: string, lengthMax: number): boolean {
  return value.isWellFormed() && !value.includes('\u0000') && value.length <= lengthMax
}
