/** One email: what happens next, what happened to each recipient, and what the mail says. */
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { EmailStatus, toneOf } from '../emails/email-status.tsx'
import { TestMark } from '../emails/test-mark.tsx'
import { type Mailers, useMailers } from '../emails/use-mailers.ts'
import { useTenant } from '../session/use-tenant.ts'
import { Answer, Empty } from '../ui/answers.tsx'
import { Tabs } from '../ui/controls.ts'
import { CodeBlock } from '../ui/copy.tsx'
import { useKeys } from '../ui/keys.ts'
import { useNow } from '../ui/now.ts'
import { Card, Page } from '../ui/page.tsx'
import { Time } from '../ui/time.tsx'
import { useWords } from '../words/define-words.ts'
import { useFormat } from '../words/format.ts'
import { buildTimeline, type Trace, type TracedRecipient } from './build-timeline.ts'
import { HeadersTab, LinksTab, PreviewTab, SourceTab, TextTab } from './content-tabs.tsx'
import classes from './email.module.css'
import { EmailActions } from './email-actions.tsx'
import { type EmailSearch, emailTabs } from './email-search.ts'
import { Facts, Recipients } from './email-side.tsx'
import { type NextStep, nextStepOf } from './next-step.ts'
import { tellNext } from './tell-next.ts'
import { Timeline } from './timeline.tsx'
import { useWebhooks } from './use-webhooks.ts'
import { words } from './words.ts'

/** Quick while something is about to happen. An email to many is a large answer. */
const refreshMs = { soon: 2_000, waiting: 10_000, ended: 20_000 }
const quickRecipientsMax = 20
/** Of the newest events, those that are drawn. */
const shownEventsMax = 50

export function EmailPage() {
  const text = useWords(words)
  const { client, tenantId } = useTenant()
  const { refId = '' } = useParams({ strict: false })
  const search = useSearch({ from: '/shell/t/$tenantId/emails/$refId' })
  const mailers = useMailers()
  const whole = useQuery({
    queryKey: [tenantId, 'email', refId],
    queryFn: ({ signal }) => client.getEmail(refId, {}, { signal }),
    refetchInterval: ({ state: { data } }) => refreshOf(data?.email.recipients ?? []),
  })
  useKeys({ r: () => void whole.refetch() })
  const email = whole.data?.email
  const subject = email?.subject === '' ? text.noSubject : (email?.subject ?? refId)
  return (
    <Page
      title={subject}
      trail={
        <Link to="/t/$tenantId/emails" params={{ tenantId }}>
          {text.allEmails}
        </Link>
      }
      lead={email && <Lead email={email} mailers={mailers} />}
      actions={email && <EmailActions email={email} mailers={mailers} />}
    >
      <Answer query={whole}>
        {({ email: found }) => <Opened whole={found} search={search} mailers={mailers} />}
      </Answer>
    </Page>
  )
}

function refreshOf(recipients: readonly TracedRecipient[]): number {
  const isSoon = recipients.some(({ status }) => status === 'queued' || status === 'sending')
  if (isSoon && recipients.length <= quickRecipientsMax) return refreshMs.soon
  return recipients.some(({ waiting }) => waiting !== null) ? refreshMs.waiting : refreshMs.ended
}

function Lead({ email, mailers }: { readonly email: Trace; readonly mailers: Mailers }) {
  const text = useWords(words)
  const format = useFormat()
  const [first, ...others] = email.recipients
  return (
    <span className={classes.lead}>
      {email.test && (
        <>
          <TestMark /> {text.testHelp}{' '}
        </>
      )}
      {text.from} <strong>{email.from}</strong> {text.to.toLowerCase()}{' '}
      <strong>
        {others.length === 0
          ? first?.email
          : text.recipientsOf(format.integer(email.recipients.length))}
      </strong>
      {' · '}
      {mailers.nameOf(email.mailer_id)}
      {' · '}
      <Time at={email.created_at} />
    </span>
  )
}

/** Of many recipients one is opened: the one of the address, else the first who has a problem. */
function Opened({
  whole,
  search,
  mailers,
}: {
  readonly whole: Trace
  readonly search: EmailSearch
  readonly mailers: Mailers
}) {
  const { client, tenantId } = useTenant()
  const { recipients, ref_id: refId } = whole
  const isOne = recipients.length === 1
  const named = search.recipient?.toLowerCase()
  const chosen =
    recipients.find(({ email }) => email.toLowerCase() === named) ??
    recipients.find(({ status }) => toneOf(status) === 'bad') ??
    recipients[0]
  // Of an email to many each recipient is cut: alone it is whole.
  const own = useQuery({
    queryKey: [tenantId, 'email', refId, 'of', chosen?.email],
    enabled: !isOne && chosen !== undefined,
    queryFn: ({ signal }) => client.getEmail(refId, { recipient: chosen?.email ?? '' }, { signal }),
    refetchInterval: chosen === undefined ? false : refreshOf([chosen]),
  })
  if (chosen === undefined) return null
  const email = isOne ? whole : own.data?.email
  const recipient = email?.recipients[0] ?? chosen
  return (
    <>
      <Next email={whole} recipient={recipient} mailers={mailers} />
      <div className={classes.layout} data-one={isOne || undefined}>
        <div className={classes.side}>
          {!isOne && (
            <div className={classes.recipients}>
              <Recipients
                recipients={recipients}
                chosen={chosen.email}
                refId={refId}
                search={search}
              />
            </div>
          )}
          <div className={classes.about}>
            <Facts email={whole} recipient={recipient} mailers={mailers} />
          </div>
        </div>
        <div className={classes.main}>
          <Card isFlush>
            {email === undefined ? (
              <Answer query={own}>{() => null}</Answer>
            ) : (
              <EmailTabs email={email} recipient={recipient} search={search} mailers={mailers} />
            )}
          </Card>
        </div>
      </div>
    </>
  )
}

function Next({
  email,
  recipient,
  mailers,
}: {
  readonly email: Trace
  readonly recipient: TracedRecipient
  readonly mailers: Mailers
}) {
  const text = useWords(words)
  const format = useFormat()
  const now = useNow()
  const { tenantId } = useTenant()
  const step = nextStepOf(recipient, now)
  const remedy = remedyOf(step, { email, recipient, mailers })
  const reason = 'reason' in step ? step.reason : ''
  return (
    <div className={classes.next} data-tone={toneOf(recipient.status)} role="status">
      <EmailStatus status={recipient.status} />
      <div className={classes.sentence}>
        {email.recipients.length > 1 && <strong>{recipient.email}</strong>}
        {reason !== '' && `${reason.replace(/\.$/, '')}. `}
        {tellNext(step, { text: text.next, format, now, nameOf: mailers.nameOf })}
      </div>
      {remedy !== undefined && (
        <Link to={`/t/${tenantId}/${remedy.to}` as '/'}>{text[remedy.label]}</Link>
      )}
    </div>
  )
}

function remedyOf(
  step: NextStep,
  o: {
    readonly email: Trace
    readonly recipient: TracedRecipient
    readonly mailers: Mailers
  },
) {
  if (step.kind === 'suppressed')
    return {
      to: `suppressions?${new URLSearchParams({ q: o.recipient.email })}`,
      label: 'seeSuppression',
    } as const
  if (step.kind === 'blocked') return { to: 'protection', label: 'seeProtection' } as const
  if (step.kind === 'held')
    return {
      to: `mailers/${o.mailers.idOf(step.mailerId ?? o.email.mailer_id)}`,
      label: 'seeMailer',
    } as const
  return undefined
}

function EmailTabs({
  email,
  recipient,
  search,
  mailers,
}: {
  readonly email: Trace
  readonly recipient: TracedRecipient
  readonly search: EmailSearch
  readonly mailers: Mailers
}) {
  const text = useWords(words)
  const { tenantId } = useTenant()
  const webhooks = useWebhooks()
  const navigate = useNavigate({ from: '/t/$tenantId/emails/$refId' })
  const tab = search.tab ?? 'timeline'
  const of = { refId: email.ref_id, recipient }
  const panels = {
    timeline: (
      <Timeline
        entries={buildTimeline(email, recipient)}
        names={{
          tenantId,
          refId: email.ref_id,
          mailerOf: mailers.nameOf,
          webhookOf: webhooks.nameOf,
        }}
      />
    ),
    preview: <PreviewTab {...of} search={search} />,
    text: <TextTab {...of} />,
    source: <SourceTab {...of} />,
    headers: <HeadersTab {...of} />,
    links: <LinksTab {...of} />,
    events: <EventsTab email={email} />,
  }
  return (
    <Tabs
      value={tab}
      keepMounted={false}
      onChange={(value) => {
        const chosen = emailTabs.find((one) => one === value)
        void navigate({
          search: ({ tab: _, ...rest }) =>
            chosen === undefined || chosen === 'timeline' ? rest : { ...rest, tab: chosen },
        })
      }}
    >
      <div className={classes.tabs}>
        <Tabs.List>
          {emailTabs.map((one) => (
            <Tabs.Tab key={one} value={one}>
              {text.tabs[one]}
            </Tabs.Tab>
          ))}
        </Tabs.List>
      </div>
      {emailTabs.map((one) => (
        <Tabs.Panel key={one} value={one}>
          {panels[one]}
        </Tabs.Panel>
      ))}
    </Tabs>
  )
}

function EventsTab({ email }: { readonly email: Trace }) {
  const text = useWords(words)
  if (email.events.length === 0) return <Empty title={text.noEvents}>{text.noEventsHelp}</Empty>
  return (
    <>
      {(email.events_truncated || email.events.length > shownEventsMax) && (
        <p className={classes.tools}>{text.eventsCut}</p>
      )}
      {email.events
        .slice(-shownEventsMax)
        .map(({ event_id: id, event, event_at, success, details }) => (
          <section key={id} className={classes.event}>
            <header>
              <h3>
                <code>{event}</code>
              </h3>
              <Time at={event_at} isExact />
            </header>
            <CodeBlock
              code={JSON.stringify({ event, success, details }, undefined, 2)}
              label={`${event} ${id}`}
            />
          </section>
        ))}
    </>
  )
}
