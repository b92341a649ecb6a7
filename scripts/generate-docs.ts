/**
 * Writes the reference pages that are made from code: docs/config.md, docs/errors.md and
 * docs/failed-reasons.md.
 *
 * `npm run docs` after a change; a test holds the committed pages against the code.
 */
import { writeFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { errorCatalogue } from '../packages/contract/src/index.ts'
import { ADDRESS_CODES } from '../packages/mail/src/address-evidence.ts'
import { CATEGORY_ORDER, classifyFailure } from '../packages/mail/src/classify-reply.ts'
import { FAILURES } from '../packages/mail/src/failure-category.ts'
import { IMAP_SENTENCES } from '../packages/mail/src/imap/failure.ts'
import { EVIDENCE_ORDER, judgeBounce } from '../packages/mail/src/judge-bounce.ts'
import { configPrefix, variables } from '../packages/server/src/config.ts'
import { WORDLESS } from '../packages/server/src/feedback/apply/event-details.ts'
import { STOPPED_SENTENCES } from '../packages/server/src/sending/phishing/decide-phishing.ts'

const docs = new URL('../docs/', import.meta.url)

export interface Page {
  readonly file: URL
  readonly text: string
}

export function generatePages(): readonly Page[] {
  return [
    { file: new URL('config.md', docs), text: configPage() },
    { file: new URL('errors.md', docs), text: errorsPage() },
    { file: new URL('failed-reasons.md', docs), text: failedReasonsPage() },
  ]
}

const NOTE = '<!-- Generated from the code by `npm run docs`. Do not edit. -->'

function configPage(): string {
  const rows = Object.values(variables).map((variable) => {
    const value = 'default' in variable ? `\`${variable.default}\`` : variable.defaultText
    const meaning = [
      variable.meaning,
      ...('isSecret' in variable && variable.isSecret ? ['Secret'] : []),
    ].join('. ')
    return `| \`${variable.name}\` | ${value} | ${cell(meaning)} | ${cell(variable.type.expected)} |`
  })
  return `${NOTE}

# Configuration

By environment variables, each name with the prefix \`${configPrefix}\`: \`PORT\` below is \`${configPrefix}PORT\`.
Everything is checked at start. A bad value and an unknown \`${configPrefix}*\` name are refused by name, all of
them at once; an empty variable counts as unset. Secrets are never printed: the log shows only whether
they are set.

| variable | default | meaning | value |
|---|---|---|---|
${rows.join('\n')}
`
}

function errorsPage(): string {
  const entries = Object.entries(errorCatalogue).map(
    ([code, { status, message, cause, fix }]) => `## \`${code}\`

${status} · ${message}

- **Cause:** ${cause}
- **Fix:** ${fix}
`,
  )
  return `${NOTE}

# Errors

Every refusal and failure has one shape:

\`\`\`json
{
  "success": false,
  "message": "Validation Failed",
  "code": "validation_failed",
  "request_id": "01JD3Z4W5X6Y7Z8A9B0C1D2E3F",
  "errors": [{ "path": "/to/0/email", "message": "is required" }]
}
\`\`\`

\`code\` is for programs and never changes its meaning; \`message\` is for people; \`errors\` is there when fields
of the request are at fault. \`request_id\` is also the header \`X-Request-Id\`, and what the log has to
the request.

${entries.join('\n')}`
}

const RETRY = {
  'by-class': 'after a 4yz reply, not after a 5yz reply',
  always: 'yes',
  never: 'no',
} as const

const STOPPED_BECAUSE: Readonly<Record<string, string>> = {
  score: 'the score reaches the threshold of the tenant (`PUT /v1/phishing`)',
  blocked_domain: "a domain of the tenant's `blocked_domains` is named",
  too_much: 'too large, or too deep',
} satisfies Record<keyof typeof STOPPED_SENTENCES, string>

function failedReasonsPage(): string {
  const rows = Object.entries(FAILURES)
    .filter(([category]) => category !== 'unknown')
    .map(
      ([category, { sentence, retry }]) =>
        `| ${cell(sentence)} | \`${category}\` | ${RETRY[retry]} |`,
    )
  const stopped = Object.entries(STOPPED_SENTENCES).map(
    ([because, sentence]) => `| ${cell(sentence)} | ${STOPPED_BECAUSE[because]} |`,
  )
  return `${NOTE}

# Failed reasons

\`failed_reason\` of an \`SMTP_ERROR\` event is one of these sentences, which do not change, so programs may
compare them. What the server said is in \`provider_error\`; a reply whose meaning is not known is the
\`failed_reason\` itself.

Whether another attempt follows is \`retry_scheduled\`, never this table: it also depends on the attempts that
are left, and where a server's class is known to lie, on what it says. It follows after the wait of
\`POSTRIDER_SEND_RETRY_SCHEDULE\`, or a longer one that the server's words name ("try again in 20 minutes");
after greylisting that names none, 5 minutes at least. No such wait is longer than the longest of the schedule.

| \`failed_reason\` | category | tried again |
|---|---|---|
${rows.join('\n')}

## What a verdict rests on

The category is in the log line of each attempt and, with what it rests on, in \`classified\` of each failed attempt
and each report of a bounce (\`GET /v1/email/{ref_id}\`, \`postrider email show\`). It is \`null\` for an attempt that
did not fail and for every other report: of a delay, a delivery, a complaint or a rejection by policy.

| member | says |
|---|---|
| \`category\` | the category of the table above; \`unknown\` where the reply has no meaning that is known |
| \`by\` | \`enhanced_code\` (\`5.1.1\`), \`reply_code\` (\`550\`) or \`words\`; of \`unknown\` what was looked at |
| \`evidence\` | the code, or the words, in lower case and without addresses |

A relay provider that refuses a mail at once answers with an HTTP status, which \`provider_error\` begins with. It is no
reply code, so \`by\` is never \`reply_code\` then, and whether another attempt follows depends on what the provider's answer means.

A reply can say two things at once: \`550 5.7.1 User unknown\`. This decides on the category, the first that applies:

| | what decides | source |
|---|---|---|
${CATEGORY_ORDER.map(({ says, source }, i) => `| ${i + 1} | ${cell(says)} | ${cell(source)} |`).join('\n')}

So the category of \`550 5.7.1 User unknown\` is \`${categoryOf('550 5.7.1 User unknown')}\`. Where none applies, as in \`550 xyzzy\`, it is
\`${categoryOf('550 xyzzy')}\`. This is about why a mail failed; whether the address is suppressed is decided by another order,
which is stricter ([below](#who-is-suppressed)). The category of an attempt is the one that was decided then; what it
rests on is read from the stored reply when you look. Of a bounce both are stored as they were decided.

## Who is suppressed

A suppressed address gets no mail any more, and its owner is not told. So a bounce suppresses only where it says that
something is wrong with the **address**. Doubt never suppresses.

- A refusal while we send (\`SMTP_ERROR\`) suppresses nobody, however permanent it is: the next mail is tried.
- A bounce that comes later, by mail or from a relay provider, suppresses as this table says. The first row that applies
  decides.
- A relay provider's own verdict counts too: it has to call the bounce permanent, and where the reply says nothing that is
  known, the provider's "invalid address" is enough. What the reply says against it is stronger.
- A report of a delay does nothing, nor does one that names no recipient.

| | what the bounce says | so the address is | source |
|---|---|---|---|
${EVIDENCE_ORDER.map(
  ({ says, verdict, source }, i) =>
    `| ${i + 1} | ${cell(says)} | ${VERDICTS[verdict]} | ${cell(source)} |`,
).join('\n')}

Codes about the address:

| code | says that | source |
|---|---|---|
${ADDRESS_CODES.map(({ code, says, source }) => `| \`${code}\` | ${cell(says)} | ${cell(source)} |`).join('\n')}

| reply | suppresses | why |
|---|---|---|
${JUDGED.map(([reply, why]) => `| \`${reply}\` | ${isSuppressing(reply) ? 'yes' : 'no'} | ${why} |`).join('\n')}

### Suppressions from before

Earlier versions suppressed on less. \`postrider suppressions review\` judges the bounces behind all suppressions for a bounce
again and changes nothing; \`--apply\` lifts those that are \`insufficient\`, \`--tenant tn_…\` keeps to one tenant, \`--json\`
prints one JSON document. It prints what is not \`sufficient\`, then the counts.

| verdict | means |
|---|---|
| \`sufficient\` | a report on an email to the address is kept that suppresses it today |
| \`insufficient\` | reports are kept, and all of them speak against it; with \`--apply\` mail to the address is sent again |
| \`unknown\` | no report is kept any more (\`POSTRIDER_RETENTION\`), or a relay provider decided by more than the reply; never lifted |

An address that a relay provider has on a list of its own may bounce again there: take it off that list, too.

## Mailboxes

\`failed_reason\` of an \`IMAP_ERROR\` event is one of the sentences above that are about a login, a server or the
way to it, or one of these. What is meant by a reply that is not known is the \`failed_reason\` itself.

${Object.values(IMAP_SENTENCES)
  .map((sentence) => `- ${sentence}`)
  .join('\n')}

## Phishing

\`failed_reason\` of a \`PHISHING\` event is one of these sentences; what is in braces differs from mail to mail.
\`{signs}\` are up to three of what was found, the heaviest first. No attempt follows.

| \`failed_reason\` | |
|---|---|
${stopped.join('\n')}

## Reports of relay providers

\`failed_reason\` of \`MAIL_BOUNCE\`, \`MAIL_SPAM\`, \`MAIL_POLICY_REJECTION\`, \`MAIL_GENERATION_FAILURE\` and
\`MAIL_GENERATION_REJECTION\` is what the receiving server said, as the provider relays it. Where it relays nothing,
it is one of these sentences.

${Object.values(WORDLESS)
  .map((sentence) => `- ${sentence}`)
  .join('\n')}
`
}

const JUDGED = [
  ['550 5.1.1 User unknown', 'a code about the address'],
  ['550 User unknown', 'words about the recipient, and about nothing else'],
  ['550 User unknown or blocked by policy', 'it also speaks of policy'],
  ['550 5.1.1 User unknown. Your IP address is blocked', 'words against the code: doubt'],
  ['550 5.1.1 <dan@example.org>: User unknown', 'it names another than the recipient: doubt'],
  ['552 5.2.2 User unknown', '5.2.2 is specific: the mailbox is full'],
  ['550 5.7.1 User unknown', '5.7.1 is specific: a policy'],
  ['550 Sorry', 'a code that stands for many things'],
  ['450 4.1.1 User unknown', 'it may pass'],
] as const

function categoryOf(text: string): string {
  const reply = { code: Number(text.slice(0, 3)), text }
  return classifyFailure({ stage: 'rcpt', reply }).category
}

function isSuppressing(diagnostic: string): boolean {
  return judgeBounce({ recipient: 'cy@example.net', status: undefined, diagnostic }).isOfAddress
}

const VERDICTS = { suppresses: 'suppressed', soft: 'kept', doubt: 'kept: doubt' } as const

/** A pipe would end the cell. */
function cell(text: string): string {
  return text.replaceAll('|', '\\|')
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href)
  for (const { file, text } of generatePages()) writeFileSync(file, text)
