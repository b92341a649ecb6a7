/** What happened to one recipient, and what comes next, on one line of time. */
import { Link } from '@tanstack/react-router'
import {
  Ban,
  Bot,
  CircleCheck,
  CircleDashed,
  CircleHelp,
  CircleX,
  Clock,
  Flag,
  Inbox,
  type LucideIcon,
  MailOpen,
  MousePointerClick,
  Scissors,
  ShieldAlert,
  ShieldCheck,
  Undo2,
  UserMinus,
  Webhook,
} from 'lucide-react'
import type { ReactNode } from 'react'
import { useNow } from '../ui/now.ts'
import { StateMark, type Tone } from '../ui/state-mark.tsx'
import { Time } from '../ui/time.tsx'
import { Verbatim } from '../ui/verbatim.tsx'
import { useWords } from '../words/define-words.ts'
import { type Format, useFormat } from '../words/format.ts'
import type {
  TimelineEntry,
  TracedAttempt,
  TracedDelivery,
  TracedHit,
  TracedReport,
} from './build-timeline.ts'
import { describeAgent } from './describe-agent.ts'
import classes from './timeline.module.css'
import { words } from './words.ts'

export interface TimelineNames {
  readonly refId: string
  readonly tenantId: string
  readonly mailerOf: (mailerId: string) => string
  readonly webhookOf: (webhookId: string) => string
}

export function Timeline({
  entries,
  names,
}: {
  readonly entries: readonly TimelineEntry[]
  readonly names: TimelineNames
}) {
  const format = useFormat()
  let day = ''
  return (
    <ol className={classes.line}>
      {entries.map((entry, at) => {
        const time = 'at' in entry ? entry.at : undefined
        const ownDay = time === undefined ? day : format.day(new Date(time))
        const isNewDay = ownDay !== day
        day = ownDay
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: entries only grow, and have no name of their own
          <Entry key={at} entry={entry} names={names} day={isNewDay ? ownDay : undefined} />
        )
      })}
    </ol>
  )
}

function Entry({
  entry,
  names,
  day,
}: {
  readonly entry: TimelineEntry
  readonly names: TimelineNames
  readonly day: string | undefined
}) {
  const text = useWords(words).entry
  const format = useFormat()
  switch (entry.kind) {
    case 'accepted':
      return (
        <Item
          {...{ day, at: entry.at, icon: Inbox, tone: 'info', title: text.accepted }}
          note={
            entry.sendAt === undefined
              ? text.acceptedNote
              : text.acceptedLater(format.dayAndTime(new Date(entry.sendAt)))
          }
        />
      )
    case 'checked':
      return (
        <Item
          {...{ day, at: entry.at, icon: ShieldCheck, tone: 'muted', title: text.checked }}
          note={text.checkedNote}
        />
      )
    case 'blocked':
      return (
        <Item {...{ day, at: entry.at, icon: ShieldAlert, tone: 'bad', title: text.blocked }}>
          <p>{entry.reason}</p>
        </Item>
      )
    case 'suppressed':
      return (
        <Item
          {...{ day, at: entry.at, icon: Ban, tone: 'muted', title: text.suppressed }}
          note={text.suppressedNote}
        />
      )
    case 'attempt':
      return <AttemptItem day={day} attempt={entry.attempt} names={names} />
    case 'report':
      return <ReportItem day={day} report={entry.report} />
    case 'hit':
      return <HitItem day={day} hit={entry.hit} count={entry.count} />
    case 'delivery':
      return (
        <DeliveryItem
          {...{ day, at: entry.at, names, delivery: entry.delivery, events: entry.events }}
        />
      )
    case 'left_out':
      return (
        <Item
          {...{ icon: Scissors, tone: 'muted', title: text.leftOut[entry.what], isSmall: true }}
          note={
            entry.what === 'deliveries' && (
              <Link
                to="/t/$tenantId/deliveries"
                params={{ tenantId: names.tenantId }}
                search={{ ref_id: names.refId }}
              >
                {text.allDeliveries}
              </Link>
            )
          }
        />
      )
    case 'cancelled':
      return (
        <Item {...{ icon: Ban, tone: 'muted', title: text.cancelled, note: text.cancelledNote }} />
      )
    case 'next':
      return <NextItem day={day} entry={entry} />
    default:
      return entry satisfies never
  }
}

function Item(o: {
  readonly day?: string | undefined
  readonly at?: string | undefined
  readonly icon: LucideIcon
  readonly tone: Tone
  readonly title: ReactNode
  readonly mark?: ReactNode
  readonly note?: ReactNode
  readonly isSmall?: boolean
  readonly isAhead?: boolean
  readonly children?: ReactNode
}) {
  const Icon = o.icon
  return (
    <>
      {o.day !== undefined && <li className={classes.day}>{o.day}</li>}
      <li
        className={classes.item}
        data-tone={o.tone}
        data-small={o.isSmall || undefined}
        data-ahead={o.isAhead || undefined}
      >
        <span className={classes.time}>{o.at !== undefined && <Time at={o.at} isClock />}</span>
        <span className={classes.dot}>
          <Icon size={o.isSmall === true ? 13 : 15} strokeWidth={2.1} aria-hidden />
        </span>
        <div className={classes.content}>
          <div className={classes.head}>
            <strong>{o.title}</strong>
            {o.mark}
            {o.note !== undefined && o.note !== false && (
              <span className={classes.note}>{o.note}</span>
            )}
          </div>
          {o.children}
        </div>
      </li>
    </>
  )
}

const outcomes: Record<TracedAttempt['outcome'], readonly [Tone, LucideIcon]> = {
  accepted: ['good', CircleCheck],
  deferred: ['warn', Clock],
  failed: ['bad', CircleX],
  uncertain: ['warn', CircleHelp],
}

function AttemptItem({
  day,
  attempt: a,
  names,
}: {
  readonly day: string | undefined
  readonly attempt: TracedAttempt
  readonly names: TimelineNames
}) {
  const text = useWords(words)
  const format = useFormat()
  const [tone, icon] = outcomes[a.outcome]
  const took = Date.parse(a.finished_at) - Date.parse(a.started_at)
  const nextAt = a.next_attempt_at === null ? undefined : new Date(a.next_attempt_at)
  return (
    <Item
      {...{ day, at: a.started_at, icon, tone }}
      title={text.entry.attempt(a.attempt, a.max_attempts)}
      mark={
        <StateMark tone={tone} icon={icon}>
          {text.outcomes[a.outcome]}
        </StateMark>
      }
      note={
        <Parts
          parts={[
            names.mailerOf(a.mailer_id),
            text.took(format.duration(took)),
            nextAt && text.entry.nextTry(format.clock(nextAt)),
          ]}
        />
      }
    >
      <Reason reason={a.failed_reason} classified={a.classified} />
      <Said words={a.provider_error} />
    </Item>
  )
}

function ReportItem({
  day,
  report,
}: {
  readonly day: string | undefined
  readonly report: TracedReport
}) {
  const text = useWords(words)
  const isBad = !['processed', 'delivered', 'deferred', 'unsubscribed'].includes(report.meaning)
  const tone = isBad ? 'bad' : report.meaning === 'delivered' ? 'good' : 'muted'
  const icon = { bounced: Undo2, complained: Flag, unsubscribed: UserMinus }[
    report.meaning as string
  ]
  return (
    <Item
      {...{ day, at: report.at, tone, icon: icon ?? (isBad ? CircleX : CircleCheck) }}
      title={text.meanings[report.meaning]}
      note={
        <Parts
          parts={[
            report.relay === null ? text.reportedByMail : text.reportedBy(report.relay),
            report.hard === null ? undefined : report.hard ? text.hard : text.soft,
            <code key="type">{report.type}</code>,
            report.error_code === null ? undefined : <code key="code">{report.error_code}</code>,
          ]}
        />
      }
    >
      <Reason reason="" classified={report.classified} />
      <Said words={report.reason} />
    </Item>
  )
}

const hitIcons = { open: MailOpen, click: MousePointerClick, unsubscribe: UserMinus } as const

function HitItem({
  day,
  hit,
  count,
}: {
  readonly day: string | undefined
  readonly hit: TracedHit
  readonly count: number
}) {
  const text = useWords(words)
  const agent = describeAgent(hit.user_agent)
  const rule = hit.rule === null ? undefined : text.rules[hit.rule as keyof typeof text.rules]
  return (
    <Item
      {...{ day, at: hit.at, tone: hit.bot ? 'muted' : 'violet' }}
      icon={hit.bot ? Bot : hitIcons[hit.kind]}
      title={text.entry.hits[hit.kind]}
      mark={
        <StateMark tone={hit.bot ? 'muted' : 'violet'} icon={hit.bot ? Bot : hitIcons[hit.kind]}>
          {hit.bot ? text.entry.byRobot : text.entry.byPerson}
        </StateMark>
      }
      note={
        <Parts
          parts={[
            count > 1 ? text.entry.times(count) : undefined,
            <span key="agent" title={hit.user_agent}>
              {agent === '' ? hit.user_agent.slice(0, 60) : agent}
            </span>,
            <code key="ip">{hit.ip}</code>,
          ]}
        />
      }
    >
      {hit.url !== undefined && <code className={classes.url}>{hit.url}</code>}
      {hit.rule !== null && (
        <p className={classes.note}>
          {text.entry.rule} <code>{hit.rule}</code>
          {rule !== undefined && `: ${rule}`}
        </p>
      )}
    </Item>
  )
}

const deliveryTones: Record<TracedDelivery['status'], Tone> = {
  pending: 'muted',
  retrying: 'warn',
  delivered: 'muted',
  parked: 'warn',
  exhausted: 'bad',
  discarded: 'muted',
}

function DeliveryItem(o: {
  readonly day: string | undefined
  readonly at: string
  readonly delivery: TracedDelivery
  readonly events: readonly string[]
  readonly names: TimelineNames
}) {
  const text = useWords(words).entry
  const format = useFormat()
  const now = useNow()
  const { delivery, names } = o
  const tone = deliveryTones[delivery.status]
  const last = delivery.attempts.at(-1)
  const next = delivery.next_attempt_at
  const isFine = delivery.status === 'delivered'
  return (
    <Item
      {...{ day: o.day, at: o.at, icon: Webhook, tone, isSmall: isFine }}
      title={text.delivery}
      mark={
        isFine ? undefined : (
          <StateMark tone={tone}>{text.deliveryState[delivery.status]}</StateMark>
        )
      }
      note={
        <Parts
          parts={[
            ...o.events.map((name) => <code key={name}>{name}</code>),
            names.webhookOf(delivery.webhook_id),
            last && answerOf(last, text, format),
            delivery.attempts.length > 1 ? text.requests(delivery.attempts.length) : undefined,
            next === null ? undefined : text.nextTry(format.relative(new Date(next), now)),
            <Link
              key="link"
              to={`/t/${names.tenantId}/deliveries/${delivery.delivery_id}` as '/'}
              aria-label={`${text.openDelivery} ${delivery.delivery_id}`}
            >
              {text.openDelivery}
            </Link>,
          ]}
        />
      }
    >
      {!isFine && last !== undefined && <Said words={last.error ?? last.response ?? ''} />}
    </Item>
  )
}

function answerOf(
  { status, duration_ms }: TracedDelivery['attempts'][number],
  text: (typeof words)['en']['entry'],
  format: Format,
): string {
  return status === null ? text.unanswered : text.answered(status, format.duration(duration_ms))
}

function NextItem({
  day,
  entry,
}: {
  readonly day: string | undefined
  readonly entry: Extract<TimelineEntry, { kind: 'next' }>
}) {
  const text = useWords(words).entry
  const format = useFormat()
  const now = useNow()
  const at = new Date(entry.at)
  const when = entry.isUnderWay
    ? text.underWay
    : at <= now
      ? text.nextDue
      : text.nextAt(format.relative(at, now))
  return (
    <Item
      {...{ day, icon: CircleDashed, tone: 'info', isAhead: true }}
      at={entry.isUnderWay ? undefined : entry.at}
      title={text.next(entry.attempt, entry.maxAttempts)}
      note={<Parts parts={[when, text.expires(format.dayAndTime(new Date(entry.expiresAt)))]} />}
    />
  )
}

/** The service's sentence, and what it rests on. */
function Reason({
  reason,
  classified,
}: {
  readonly reason: string
  readonly classified: TracedAttempt['classified']
}) {
  const text = useWords(words)
  if (reason === '' && classified === null) return null
  return (
    <p className={classes.reason}>
      {reason !== '' && <span>{reason}</span>}
      {classified !== null && (
        <span className={classes.note}>
          <code>{classified.category}</code> {text.classifiedBy[classified.by]}{' '}
          <code>{classified.evidence}</code>
        </span>
      )}
    </p>
  )
}

/** As it came: in the fixed font, untranslated. */
function Said({ words: said }: { readonly words: string }) {
  const text = useWords(words)
  if (said === '') return null
  return (
    <div className={classes.said}>
      <Verbatim label={text.serverSaid} text={said} isRepeated />
    </div>
  )
}

function Parts({ parts }: { readonly parts: readonly ReactNode[] }) {
  return (
    <span className={classes.parts}>
      {parts
        .filter((part) => part !== undefined && part !== '')
        .map((part, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one line keep their order
          <span key={at}>{part}</span>
        ))}
    </span>
  )
}
