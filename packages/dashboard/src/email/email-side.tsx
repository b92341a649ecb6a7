/** Beside the tabs: the recipients of an email to many, and what is known of the email. */
import { Link } from '@tanstack/react-router'
import { type ReactNode, useMemo, useState } from 'react'
import { EmailStatus, type RecipientStatus, toneOf } from '../emails/email-status.tsx'
import type { Mailers } from '../emails/use-mailers.ts'
import { useTenant } from '../session/use-tenant.ts'
import { Simulate } from '../test-inbox/simulate.tsx'
import { words as testWords } from '../test-inbox/words.ts'
import { TextInput } from '../ui/controls.ts'
import { Copyable } from '../ui/copy.tsx'
import { Card } from '../ui/page.tsx'
import { Time } from '../ui/time.tsx'
import { useWords } from '../words/define-words.ts'
import { useFormat } from '../words/format.ts'
import type { Trace, TracedRecipient } from './build-timeline.ts'
import classes from './email.module.css'
import type { EmailSearch } from './email-search.ts'
import { words } from './words.ts'

/** Below it, all are seen at once. */
const findAbove = 12
const urgency = ['bad', 'warn', 'info', 'muted', 'violet', 'good']

export function Recipients({
  recipients,
  chosen,
  refId,
  search,
}: {
  readonly recipients: readonly TracedRecipient[]
  readonly chosen: string
  readonly refId: string
  readonly search: EmailSearch
}) {
  const text = useWords(words)
  const format = useFormat()
  const { tenantId } = useTenant()
  const [wanted, setWanted] = useState('')
  const sorted = useMemo(
    () =>
      recipients.toSorted(
        (a, b) => urgency.indexOf(toneOf(a.status)) - urgency.indexOf(toneOf(b.status)),
      ),
    [recipients],
  )
  const counts = [...Map.groupBy(sorted, ({ status }) => status)]
  const shown = sorted.filter(({ email }) => email.toLowerCase().includes(wanted.toLowerCase()))
  return (
    <Card
      isFlush
      title={text.recipientsOf(format.integer(recipients.length))}
      note={
        <span className={classes.sum}>
          {counts.map(([status, of]: readonly [RecipientStatus, readonly unknown[]]) => (
            <span key={status}>
              {format.integer(of.length)} <EmailStatus status={status} isQuiet />
            </span>
          ))}
        </span>
      }
    >
      {recipients.length > findAbove && (
        <div className={classes.find}>
          <TextInput
            size="xs"
            aria-label={text.findRecipient}
            placeholder={text.findRecipient}
            value={wanted}
            onChange={(event) => setWanted(event.currentTarget.value)}
          />
        </div>
      )}
      {shown.length === 0 && <p className={classes.find}>{text.noRecipient}</p>}
      <ul className={classes.people} aria-label={text.recipients}>
        {shown.map(({ email, status }) => (
          <li key={email}>
            <Link
              to="/t/$tenantId/emails/$refId"
              params={{ tenantId, refId }}
              search={{ ...search, recipient: email }}
              resetScroll={false}
              className={classes.person}
              activeProps={{}}
              aria-current={email === chosen ? 'true' : undefined}
            >
              <span title={email}>{email}</span>
              <EmailStatus status={status} isQuiet />
            </Link>
          </li>
        ))}
      </ul>
    </Card>
  )
}

export function Facts({
  email,
  recipient,
  mailers,
}: {
  readonly email: Trace
  readonly recipient: TracedRecipient
  readonly mailers: Mailers
}) {
  const text = useWords(words)
  const { simulate } = useWords(testWords)
  const { tenantId } = useTenant()
  const { custom_args: customArgs = email.custom_args } = recipient
  const facts: readonly (readonly [string, ReactNode] | undefined)[] = [
    [
      recipient.type === 'to' ? text.to : recipient.type.toUpperCase(),
      <Copyable key="to" value={recipient.email} />,
    ],
    email.test
      ? [simulate, <Simulate key="simulate" mail={{ ...recipient, ref_id: email.ref_id }} />]
      : undefined,
    [text.from, <Copyable key="from" value={email.from} />],
    [
      text.mailer,
      <Link key="mailer" to={`/t/${tenantId}/mailers/${mailers.idOf(email.mailer_id)}` as '/'}>
        {mailers.nameOf(email.mailer_id)}
      </Link>,
    ],
    [text.accepted, <Time key="accepted" at={email.created_at} isExact />],
    recipient.delivered_at === null
      ? undefined
      : [text.delivered, <Time key="delivered" at={recipient.delivered_at} isExact />],
    recipient.waiting === null
      ? undefined
      : [text.expires, <Time key="expires" at={recipient.waiting.expires_at} isExact />],
    email.campaign_id === null
      ? undefined
      : [
          text.campaign,
          <Link
            key="campaign"
            to="/t/$tenantId/emails"
            params={{ tenantId }}
            search={{ campaign: email.campaign_id }}
          >
            {email.campaign_id}
          </Link>,
        ],
    [text.emailId, <Copyable key="id" value={email.ref_id} />],
    recipient.message_id === ''
      ? undefined
      : [text.messageId, <Copyable key="message" value={recipient.message_id} />],
    customArgs === null
      ? undefined
      : [text.customArgs, <Copyable key="custom" value={JSON.stringify(customArgs)} />],
    [text.traceparent, <Copyable key="trace" value={email.traceparent} />],
  ]
  return (
    <Card isFlush title={text.facts}>
      <dl className={classes.facts}>
        {facts
          .filter((fact) => fact !== undefined)
          .map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
      </dl>
    </Card>
  )
}
