/** How the tenant stands: problems first, then numbers, and what became of the mail over time. */
import type { Attention, Overview } from '@postrider/client'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { Fragment } from 'react'
import { useWebhooks } from '../email/use-webhooks.ts'
import type { RecipientStatus } from '../emails/email-status.tsx'
import type { EmailsSearch } from '../emails/emails-search.ts'
import { useMailers } from '../emails/use-mailers.ts'
import { words as emailWords } from '../emails/words.ts'
import { useTenant } from '../session/use-tenant.ts'
import { Answer } from '../ui/answers.tsx'
import { Banner } from '../ui/banner.tsx'
import { BarChart } from '../ui/bar-chart.tsx'
import { SegmentedControl } from '../ui/controls.ts'
import { Card, Columns, Page, Stack } from '../ui/page.tsx'
import { Shares, Stats } from '../ui/stat.tsx'
import { Time } from '../ui/time.tsx'
import { NearQuotas } from '../usage/usage-card.tsx'
import { useWords } from '../words/define-words.ts'
import { useFormat } from '../words/format.ts'
import { FirstSteps } from './first-steps.tsx'
import { type Range, ranges, spanOf } from './range.ts'
import { words } from './words.ts'

const refreshMs = 15_000
const urgent: readonly string[] = ['tenant_suspended', 'mailer_deactivated', 'webhook_failing']

export function OverviewPage() {
  const text = useWords(words)
  const { tenantId, client, name } = useTenant()
  const navigate = useNavigate()
  const { range = '24h' } = useSearch({ from: '/shell/t/$tenantId/' })
  const overview = useQuery({
    queryKey: [tenantId, 'overview', range],
    queryFn: async ({ signal }) => {
      const { start } = spanOf(range, new Date())
      return (await client.getOverview({ start }, { signal })).overview
    },
    refetchInterval: refreshMs,
    placeholderData: (before) => before,
  })
  const names: Record<Range, string> = {
    '24h': text.last24h,
    '7d': text.last7d,
    '30d': text.last30d,
  }
  return (
    <Page
      title={text.overview}
      lead={name}
      actions={
        <SegmentedControl
          aria-label={text.range}
          size="xs"
          value={range}
          data={ranges.map((value) => ({ value, label: names[value] }))}
          onChange={(value) =>
            void navigate({
              to: '.',
              search: value === '24h' ? {} : { range: value as Range },
              replace: true,
            })
          }
        />
      }
    >
      <Answer query={overview}>
        {(answer) => (
          <>
            <Problems attention={answer.attention} />
            <NearQuotas />
            <FirstSteps hasMail={answer.counts.accepted > 0} />
            <Numbers overview={answer} range={range} />
            <History range={range} />
            <Columns>
              <TopReasons overview={answer} range={range} />
              <TopDomains overview={answer} range={range} />
            </Columns>
          </>
        )}
      </Answer>
    </Page>
  )
}

function Problems({ attention }: { readonly attention: readonly Attention[] }) {
  const text = useWords(words)
  const { tenantId } = useTenant()
  const mailers = useMailers()
  const webhooks = useWebhooks()
  if (attention.length === 0) return null
  return (
    <Stack>
      {attention.map(({ reason, mailer_id, webhook_id, since, detail }) => (
        <Banner
          key={`${reason} ${mailer_id ?? webhook_id}`}
          tone={urgent.includes(reason) ? 'bad' : 'warn'}
          word={text.problem}
          title={text.attention[reason]}
          action={
            mailer_id !== undefined ? (
              <Link to="/t/$tenantId/mailers/$mailerId" params={{ tenantId, mailerId: mailer_id }}>
                {text.lookAt(mailers.nameOf(mailer_id))}
              </Link>
            ) : webhook_id !== undefined ? (
              <Link to="/t/$tenantId/webhooks" params={{ tenantId }} hash={webhook_id}>
                {text.lookAt(webhooks.nameOf(webhook_id))}
              </Link>
            ) : undefined
          }
        >
          {detail}
          {since !== null && (
            <>
              {' '}
              ({text.since} <Time at={since} />)
            </>
          )}
        </Banner>
      ))}
    </Stack>
  )
}

interface InRange {
  readonly overview: Overview
  readonly range: Range
}

function Numbers({ overview: { counts, rates, queue }, range }: InRange) {
  const text = useWords(words)
  const format = useFormat()
  const emails = useEmailsLink()
  const failed = counts.failed + counts.expired + counts.bounced
  return (
    <Stats
      entries={[
        {
          name: text.accepted,
          value: format.integer(counts.accepted),
          note: text.recipients,
          link: emails({ last: range }),
        },
        {
          name: text.delivered,
          value: format.integer(counts.delivered),
          note:
            rates.delivery === null ? undefined : text.deliveryRate(format.percent(rates.delivery)),
          link: emails({ last: range, status: 'delivered' }),
        },
        {
          name: text.failed,
          value: format.integer(failed),
          note: <ByStatus statuses={['failed', 'expired', 'bounced']} last={range} />,
          isBad: failed > 0,
        },
        {
          name: text.waiting,
          value: format.integer(queue.waiting),
          note: (
            <>
              {queue.oldest_due_at !== null ? (
                <>
                  {text.dueSince} <Time at={queue.oldest_due_at} />
                </>
              ) : queue.scheduled > 0 ? (
                text.scheduledNote(format.integer(queue.scheduled))
              ) : (
                text.recipients
              )}
              {queue.waiting > 0 && (
                <>
                  : <ByStatus statuses={['queued', 'deferred', 'held']} />
                </>
              )}
            </>
          ),
        },
        {
          name: text.deferred,
          value: format.integer(counts.deferred),
          note: text.deferredNote,
          link: emails({ last: range, status: 'deferred' }),
        },
        {
          name: text.opens,
          value: format.integer(counts.unique_opens),
          note: text.opensNote(format.integer(counts.unique_clicks)),
          link: emails({ last: range, status: 'opened' }),
        },
      ]}
    />
  )
}

/** A number of several statuses has a list for each. */
function ByStatus({
  statuses,
  last,
}: {
  readonly statuses: readonly RecipientStatus[]
  readonly last?: Range
}) {
  const text = useWords(emailWords)
  const emails = useEmailsLink()
  return statuses.map((status, n) => (
    <Fragment key={status}>
      {n > 0 && ', '}
      <Link {...emails({ status, ...(last !== undefined && { last }) })}>
        {text.statuses[status]}
      </Link>
    </Fragment>
  ))
}

/** Where the list of emails is, searched. */
function useEmailsLink() {
  const { tenantId } = useTenant()
  return (search: EmailsSearch) =>
    ({ to: '/t/$tenantId/emails', params: { tenantId }, search }) as const
}

function History({ range }: { readonly range: Range }) {
  const text = useWords(words)
  const { tenantId, client } = useTenant()
  const statistics = useQuery({
    queryKey: [tenantId, 'statistics', range],
    queryFn: async ({ signal }) => {
      const { statistics: answer } = await client.getStatistics(spanOf(range, new Date()), {
        signal,
      })
      return answer
    },
    refetchInterval: refreshMs * 4,
    placeholderData: (before) => before,
  })
  return (
    <Card title={text.chart}>
      <Answer query={statistics}>
        {({ intervals, interval }) => (
          <BarChart
            label={text.chart}
            interval={interval}
            series={[
              { name: text.delivered, tone: 'good' },
              { name: text.deferred, tone: 'warn' },
              { name: text.failed, tone: 'bad' },
              { name: text.stopped, tone: 'muted' },
            ]}
            bars={intervals.map((one) => ({
              at: one.at,
              values: [
                one.delivered,
                one.deferred,
                one.failed + one.expired + one.bounced,
                one.blocked + one.rejected + one.suppressed,
              ],
            }))}
          />
        )}
      </Answer>
    </Card>
  )
}

function TopReasons({ overview, range }: InRange) {
  const text = useWords(words)
  const format = useFormat()
  const emails = useEmailsLink()
  const entries = largestFirst(
    overview.top_failed_reasons.map(({ failed_reason = '', totals: n }) => ({
      name: failed_reason,
      link: emails({ last: range, reason: failed_reason }),
      value: n.deferred + n.failed + n.expired + n.bounced + n.blocked + n.rejected,
    })),
  )
  return (
    <Card title={text.topReasons} note={text.topReasonsNote}>
      {entries.length === 0 ? (
        <p>{text.noFailures}</p>
      ) : (
        <Shares entries={entries} format={format.integer} />
      )}
    </Card>
  )
}

function TopDomains({ overview, range }: InRange) {
  const text = useWords(words)
  const format = useFormat()
  const emails = useEmailsLink()
  const entries = largestFirst(
    overview.top_recipient_domains.map(({ recipient_domain = '', totals }) => ({
      name: recipient_domain,
      value: totals.accepted,
      link: emails({ last: range, q: `domain:${recipient_domain}` }),
    })),
  )
  return (
    <Card title={text.topDomains}>
      {entries.length === 0 ? (
        <p>{text.noMail}</p>
      ) : (
        <Shares entries={entries} format={format.integer} />
      )}
    </Card>
  )
}

/** The service sorts by all that it counted, of which this is a part. */
function largestFirst<Entry extends { readonly value: number }>(entries: readonly Entry[]) {
  return entries.filter(({ value }) => value > 0).toSorted((a, b) => b.value - a.value)
}
