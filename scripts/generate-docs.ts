/**
 * Writes what is made from code: docs/config.md, docs/errors.md, docs/failed-reasons.md,
 * docs/reference/permissions.md, and the permissions and the names that the dashboard goes by.
 *
 * `npm run docs` after a change; a test holds the committed pages against the code.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import {
  apiKeyScopes,
  errorCatalogue,
  eventNames,
  memberRoles,
  recipientFacts,
  recipientStatuses,
  recipientTypes,
  relayKinds,
  suppressionReasons,
  type UserRole,
  userRoles,
  webhookDeliveryFilters,
} from '../packages/contract/src/index.ts'
import { ADDRESS_CODES } from '../packages/mail/src/address-evidence.ts'
import { CATEGORY_ORDER, classifyFailure } from '../packages/mail/src/classify-reply.ts'
import { FAILURES } from '../packages/mail/src/failure-category.ts'
import { IMAP_SENTENCES } from '../packages/mail/src/imap/failure.ts'
import { EVIDENCE_ORDER, judgeBounce } from '../packages/mail/src/judge-bounce.ts'
import { configPrefix, variables } from '../packages/server/src/config.ts'
import { WORDLESS } from '../packages/server/src/feedback/apply/report-events.ts'
import { tracingVariables } from '../packages/server/src/platform/tracing/settings.ts'
import { STOPPED_SENTENCES } from '../packages/server/src/sending/phishing/decide-phishing.ts'

const docs = new URL('../docs/', import.meta.url)
const dashboard = new URL('../packages/dashboard/src/', import.meta.url)

export interface Page {
  readonly file: URL
  readonly text: string
}

export function generatePages(): readonly Page[] {
  return [
    { file: new URL('config.md', docs), text: configPage() },
    { file: new URL('errors.md', docs), text: errorsPage() },
    { file: new URL('failed-reasons.md', docs), text: failedReasonsPage() },
    { file: new URL('reference/permissions.md', docs), text: permissionsPage() },
    { file: new URL('session/permissions.ts', dashboard), text: permissionsModule() },
    { file: new URL('api/names.ts', dashboard), text: namesModule() },
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
  const traces = tracingVariables.map(
    ({ name, default: value, meaning }) => `| \`${name}\` | ${value} | ${cell(meaning)} |`,
  )
  return `${NOTE}

# Configuration

Postrider reads environment variables, each name with the prefix \`${configPrefix}\`: \`PORT\` below is
\`${configPrefix}PORT\`. The start checks all of them. It refuses bad values and unknown \`${configPrefix}*\` names, and
lists all of them at once. An empty variable counts as unset. Secrets are never printed: the log only shows
whether they are set.

| variable | default | meaning | value |
|---|---|---|---|
${rows.join('\n')}

## Traces

These are variables of OpenTelemetry, with its names and without a prefix. A bad value does not refuse the start:
the log names it (\`traces.setting_ignored\`). See [traces](operations/monitor.md#traces).

| variable | default | meaning |
|---|---|---|
${traces.join('\n')}
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

Every refusal and failure has this shape:

\`\`\`json
{
  "success": false,
  "message": "Validation Failed",
  "code": "validation_failed",
  "request_id": "01JD3Z4W5X6Y7Z8A9B0C1D2E3F",
  "errors": [{ "path": "/to/0/email", "message": "is required" }]
}
\`\`\`

\`code\` is for programs and never changes its meaning. \`message\` is for people. \`errors\` names wrong fields of
the request. \`request_id\` is also the header \`X-Request-Id\`, and is in the log lines of the request.

${entries.join('\n')}`
}

const RETRY = {
  'by-class': 'after a 4yz reply, not after a 5yz reply',
  always: 'yes',
  never: 'no',
} as const

const STOPPED_BECAUSE: Readonly<Record<string, string>> = {
  score: 'the score reaches the threshold of the tenant (`PUT /v1/phishing`)',
  blocked_domain: "it names a domain of the tenant's `blocked_domains`",
  too_much: 'it is too large, or too deep',
} satisfies Record<keyof typeof STOPPED_SENTENCES, string>

function failedReasonsPage(): string {
  return [
    NOTE,
    sentencesSection(),
    verdictSection(),
    suppressedSection(),
    reviewSection(),
    mailboxesSection(),
    phishingSection(),
    reportsSection(),
  ].join('\n\n')
}

function sentencesSection(): string {
  const rows = Object.entries(FAILURES)
    .filter(([category]) => category !== 'unknown')
    .map(
      ([category, { sentence, retry }]) =>
        `| ${cell(sentence)} | \`${category}\` | ${RETRY[retry]} |`,
    )
  return `# Failed reasons

\`failed_reason\` of an \`SMTP_ERROR\` event is one of these sentences. They do not change, so programs may
compare them. \`provider_error\` has the server's words. If the meaning of a reply is unknown, the reply itself is
the \`failed_reason\`.

\`retry_scheduled\` says whether another attempt follows, not this table. It also depends on the attempts that are
left, and on the words of a server whose reply class is known to be wrong.

The wait before an attempt is the one of \`POSTRIDER_SEND_RETRY_SCHEDULE\`, or a longer one that the server's words
name ("try again in 20 minutes"). After greylisting without a time, it is 5 minutes at least. It is never longer
than the longest wait of the schedule.

| \`failed_reason\` | category | tried again |
|---|---|---|
${rows.join('\n')}`
}

function verdictSection(): string {
  return `## What a verdict rests on

The log line of each attempt has its category. \`classified\` has the category and its evidence, for each failed
attempt and each report of a bounce (\`GET /v1/email/{ref_id}\`, \`postrider email show\`). \`classified\` is \`null\`
for other attempts, and for reports of a delay, a delivery, a complaint or a rejection by policy.

| member | says |
|---|---|
| \`category\` | the category of the table above; \`unknown\` if the meaning of the reply is unknown |
| \`by\` | \`enhanced_code\` (\`5.1.1\`), \`reply_code\` (\`550\`) or \`words\`; for \`unknown\`, what was checked |
| \`evidence\` | the code, or the words as the rules read them |

Words in \`evidence\` are no quotation. They are in lower case and without codes and links. An address in them is left
out, or the word \`address\` stands for it: \`<cy@example.net> not found\` gives \`address not found\`, and
\`USER_UNKNOWN\` gives \`user unknown\`. \`provider_error\` has the server's own words.

A relay provider that refuses a mail at once answers with an HTTP status, and \`provider_error\` begins with it. It is
no reply code, so \`by\` is never \`reply_code\` then. The meaning of the provider's answer decides whether another
attempt follows.

A reply can say two things at once: \`550 5.7.1 User unknown\`. The first row that applies decides on the category:

| | what decides | source |
|---|---|---|
${CATEGORY_ORDER.map(({ says, source }, i) => `| ${i + 1} | ${cell(says)} | ${cell(source)} |`).join('\n')}

So the category of \`550 5.7.1 User unknown\` is \`${categoryOf('550 5.7.1 User unknown')}\`. If none applies, as in \`550 xyzzy\`, it is
\`${categoryOf('550 xyzzy')}\`. The category says why a mail failed. Another, stricter order decides whether the address is
suppressed ([below](#who-is-suppressed)). The category of an attempt is stored with it, and its evidence is read from
the stored reply when you look. For a bounce both are stored.`
}

function suppressedSection(): string {
  return `## Who is suppressed

A suppressed address gets no more mail, and its owner does not learn of it. So a bounce suppresses only if it says that
something is wrong with the **address**. Doubt never suppresses.

- A refusal while Postrider sends (\`SMTP_ERROR\`) suppresses nobody, however permanent it is: the next mail is tried.
- A bounce that comes later, by mail or from a relay provider, suppresses by this table. The first row that applies
  decides.
- A bounce from a relay provider must also be permanent by the provider's own verdict. If the meaning of the reply is
  unknown, the provider's "invalid address" is enough. A reply that contradicts the provider is stronger.
- A report of a delay does nothing, nor does a report without a recipient.

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
${JUDGED.map(([reply, why]) => `| \`${reply}\` | ${isSuppressing(reply) ? 'yes' : 'no'} | ${why} |`).join('\n')}`
}

function reviewSection(): string {
  return `### Reviewing suppressions

\`postrider suppression review\` applies this table again to the bounces behind all suppressions for a bounce. It changes
nothing, and prints those that are not \`sufficient\`, then the counts. \`--apply\` lifts those that are \`insufficient\`.
\`--tenant tn_…\` limits the review to one tenant, and \`--json\` prints one JSON document.

| verdict | means |
|---|---|
| \`sufficient\` | there is a report on an email to the address that suppresses it |
| \`insufficient\` | there are reports, and none of them suppresses; with \`--apply\` mail to the address is sent again |
| \`unknown\` | the report is older than \`POSTRIDER_RETENTION\`, or a relay provider decided by more than the reply; never lifted |

If a relay provider has the address on its own list, it may bounce again there: remove it from that list, too.`
}

function mailboxesSection(): string {
  return `## Mailboxes

\`failed_reason\` of an \`IMAP_ERROR\` event is one of these sentences, or one of those above about a login, a server or
the network. If the meaning of a reply is unknown, the reply itself is the \`failed_reason\`.

${Object.values(IMAP_SENTENCES)
  .map((sentence) => `- ${sentence}`)
  .join('\n')}`
}

function phishingSection(): string {
  const stopped = Object.entries(STOPPED_SENTENCES).map(
    ([because, sentence]) => `| ${cell(sentence)} | ${STOPPED_BECAUSE[because]} |`,
  )
  return `## Phishing

\`failed_reason\` of a \`PHISHING\` event is one of these sentences. Parts in braces differ from mail to mail:
\`{signs}\` are up to three signs, the heaviest first. No attempt follows.

| \`failed_reason\` | |
|---|---|
${stopped.join('\n')}`
}

function reportsSection(): string {
  return `## Reports of relay providers

\`failed_reason\` of \`MAIL_BOUNCE\`, \`MAIL_SPAM\`, \`MAIL_POLICY_REJECTION\`, \`MAIL_GENERATION_FAILURE\` and
\`MAIL_GENERATION_REJECTION\` has the words of the receiving server, as the provider relays them. If it relays none,
it is one of these sentences.

${Object.values(WORDLESS)
  .map((sentence) => `- ${sentence}`)
  .join('\n')}
`
}

interface Described {
  readonly operationId: string
  readonly 'x-required-scope'?: readonly string[]
  readonly 'x-roles'?: readonly string[]
}

interface Permission {
  readonly operation: string
  readonly scopes: readonly string[] | undefined
  readonly roles: readonly UserRole[]
  readonly needsContent: boolean
}

/** From the description that the service writes of its routes. Sessions are for everybody who has one. */
function readPermissions(): Permission[] {
  const document: { readonly paths: Record<string, Record<string, Described>> } = JSON.parse(
    readFileSync(new URL('openapi.json', docs), 'utf8'),
  )
  const described = Object.values(document.paths).flatMap((methods) => Object.values(methods))
  return described.flatMap((one) => {
    const { 'x-roles': able, 'x-required-scope': scopes } = one
    if (able === undefined) return []
    const roles = userRoles.filter((role) => able.includes(role))
    return [
      { operation: one.operationId, scopes, roles, needsContent: scopes?.join() === 'content' },
    ]
  })
}

function permissionsPage(): string {
  const rows = readPermissions().map(({ operation, scopes, roles, needsContent }) => {
    const allowed = needsContent ? 'with `content`' : 'yes'
    const cells = userRoles.map((role) => (roles.includes(role) ? allowed : ''))
    return `| ${[`\`${operation}\``, keysOf(scopes), ...cells].join(' | ')} |`
  })
  return `${NOTE}

# Permissions

Who may call which operation. [Roles](people.md#roles) are for people with a session, [scopes](http.md#scopes) for API
keys. A test calls every operation in every way and compares the answers with this table.

- A key with one of the scopes in \`keys\` may call the operation, and so may a key without scopes.
- "With \`content\`": the person also needs the permission to read the content of mail.
- The operator's token may call everything, on operations of a tenant with \`X-Postrider-Tenant\`.

| operation | keys | ${userRoles.map((role) => `\`${role}\``).join(' | ')} |
|---|---|${userRoles.map(() => '---|').join('')}
${rows.join('\n')}
`
}

/** Formatted as the formatter would. */
function permissionsModule(): string {
  const permissions = readPermissions()
  const sets = new Map(permissions.map(({ roles }) => [nameOf(roles), roles]))
  const constants = Array.from(
    sets,
    ([name, roles]) => `const ${name}: Roles = [${roles.map((role) => `'${role}'`).join(', ')}]`,
  )
  const entries = permissions.map(({ operation, roles, scopes, needsContent }) => {
    const scope = scopes === undefined ? '' : `, scope: '${scopes[0] ?? 'all'}'`
    return `  ${operation}: { roles: ${nameOf(roles)}${needsContent ? ', content: true' : ''}${scope} },`
  })
  return `/**
 * Generated from the code by \`npm run docs\`. Do not edit.
 *
 * Who may call which operation; \`content\`: the person also needs the permission to read the content of mail. What
 * is absent is for everybody with a session. A key with \`scope\` may call it; \`all\`: one that has no scopes;
 * without \`scope\` the operator's token alone.
 */
import type { ApiKeyScope, OperationId, UserRole } from '@postrider/client'

type Roles = readonly UserRole[]
interface Rule {
  readonly roles: Roles
  readonly content?: true
  readonly scope?: ApiKeyScope | 'all'
}

${constants.join('\n')}

export const permissions: Readonly<Partial<Record<OperationId, Rule>>> = {
${entries.join('\n')}
}
`
}

/** Names that screens list. Formatted as the formatter would. */
function namesModule(): string {
  const lists = {
    ...{ apiKeyScopes, eventNames, memberRoles, recipientFacts, recipientStatuses, recipientTypes },
    ...{ relayKinds, suppressionReasons, userRoles, webhookDeliveryFilters },
  }
  const constants = Object.entries(lists).map(([name, values]) => {
    const quoted = values.map((value) => `'${value}'`)
    const line = `export const ${name} = [${quoted.join(', ')}] as const`
    if (line.length <= LINE_CHARS_MAX) return line
    return `export const ${name} = [\n${quoted.map((value) => `  ${value},\n`).join('')}] as const`
  })
  return `/**
 * Generated from the code by \`npm run docs\`. Do not edit.
 *
 * Names of the contract that screens list: of the contract the client has types alone.
 */
${constants.join('\n')}
`
}
const LINE_CHARS_MAX = 100

/** Of a constant with these roles. */
function nameOf(roles: readonly UserRole[]): string {
  if (roles.length === userRoles.length) return 'everyRole'
  return roles.join('_').replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
}

/** @param scopes undefined: an operation of the operator */
function keysOf(scopes: readonly string[] | undefined): string {
  if (scopes === undefined) return 'none'
  return scopes.length === 0 ? 'without scopes' : scopes.map((scope) => `\`${scope}\``).join(', ')
}

const JUDGED = [
  ['550 5.1.1 User unknown', 'a code about the address'],
  ['550 User unknown', 'words about the recipient, and about nothing else'],
  ['550 User unknown or blocked by policy', 'it also mentions policy'],
  ['550 5.1.1 User unknown. Your IP address is blocked', 'the words contradict the code: doubt'],
  ['550 5.1.1 <dan@example.org>: User unknown', 'it names another address: doubt'],
  ['552 5.2.2 User unknown', '5.2.2 is specific: the mailbox is full'],
  ['550 5.7.1 User unknown', '5.7.1 is specific: a policy'],
  ['550 Sorry', 'a code that stands for many things'],
  ['450 4.1.1 User unknown', 'it may be temporary'],
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
