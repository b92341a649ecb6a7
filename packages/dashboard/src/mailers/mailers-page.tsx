/** All mailers of the tenant: whether they work, and what they did. */
import type { ListedDomainMailer, ListedMailer } from '@postrider/client'
import { Link } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import { useState } from 'react'
import { usePages } from '../api/use-pages.ts'
import { ConnectMailbox } from '../oauth/connect.tsx'
import { ActionButton } from '../session/action-button.tsx'
import { EmptyList } from '../session/empty-list.tsx'
import { useTenant } from '../session/use-tenant.ts'
import { Sparkline } from '../ui/bar-chart.tsx'
import { type Column, PagedTable } from '../ui/data-table.tsx'
import { Card, Page, Row } from '../ui/page.tsx'
import { Time } from '../ui/time.tsx'
import { useWords } from '../words/define-words.ts'
import { useFormat } from '../words/format.ts'
import { isReadOnly } from './mailer-kind.ts'
import { MailerStateMark } from './mailer-state.tsx'
import { SmtpForm } from './smtp-form.tsx'
import { smtpSnippets } from './snippets.ts'
import { useActivity } from './use-activity.ts'
import { useTellRate } from './use-tell-rate.ts'
import { words } from './words.ts'

type Entry = ListedMailer | ListedDomainMailer

export function MailersPage() {
  const text = useWords(words)
  const { tenantId, client } = useTenant()
  const [open, setOpen] = useState<'smtp' | 'oauth'>()
  const close = () => setOpen(undefined)
  const pages = usePages({
    key: [tenantId, 'mailers'],
    name: 'mailers',
    list: (page, options) => client.listMailers(page, options),
    refreshMs: 20_000,
  })
  const add = (
    <Row>
      <ActionButton
        operation="configureSMTP"
        leftSection={<Plus size={15} aria-hidden />}
        onClick={() => setOpen('smtp')}
      >
        {text.addSmtp}
      </ActionButton>
      <ActionButton variant="default" operation="oauthLogin" onClick={() => setOpen('oauth')}>
        {text.connectOAuth}
      </ActionButton>
    </Row>
  )
  const columns: readonly Column<Entry>[] = [
    {
      key: 'name',
      head: text.name,
      width: 'minmax(0, 1.5fr)',
      isTitle: true,
      cell: (row) => row.name,
    },
    {
      key: 'address',
      head: text.address,
      width: 'minmax(0, 1.5fr)',
      cell: (row) => (row.config_type === 'domain' ? row.config.domain : row.email),
    },
    {
      key: 'kind',
      head: text.kind,
      width: 'minmax(0, 1.2fr)',
      isWrapped: true,
      cell: (row) => text.kinds[row.config_type],
    },
    {
      key: 'state',
      head: text.state,
      width: '170px',
      cell: (row) => <MailerStateMark state={row.state} />,
    },
    { key: 'day', head: text.day, width: '110px', cell: (row) => <Day row={row} /> },
    {
      key: 'limit',
      head: text.limits,
      width: 'minmax(0, 1.5fr)',
      isWrapped: true,
      cell: (row) => <FullestLimit row={row} />,
    },
    {
      key: 'last',
      head: text.lastFailure,
      width: 'minmax(0, 1.4fr)',
      cell: (row) => <LastFailure row={row} />,
    },
  ]
  const lead = (
    <>
      {text.lead}{' '}
      <Link to="/t/$tenantId/mailers/oauth-apps" params={{ tenantId }}>
        {text.oauthApps}
      </Link>
    </>
  )
  return (
    <Page title={text.mailers} lead={lead} actions={pages.entries?.length !== 0 && add}>
      <Card isFlush>
        <PagedTable
          pages={pages}
          label={text.mailers}
          columns={columns}
          rowKey={(row) => row.mailer_id}
          link={(row) => ({
            to: '/t/$tenantId/mailers/$mailerId',
            params: { tenantId, mailerId: row.mailer_id },
          })}
          empty={
            <EmptyList title={text.noMailers} action={add} snippets={smtpSnippets()}>
              {text.noMailersHelp}
            </EmptyList>
          }
        />
      </Card>
      <SmtpForm isOpen={open === 'smtp'} close={close} />
      <ConnectMailbox isOpen={open === 'oauth'} close={close} />
    </Page>
  )
}

function Day({ row }: { readonly row: Entry }) {
  const text = useWords(words)
  const format = useFormat()
  const { data } = useActivity(row.mailer_id, !isReadOnly(row))
  if (data === undefined) return null
  const total = (name: 'sent' | 'deferred' | 'failed') =>
    data.intervals.reduce((sum, interval) => sum + interval[name], 0)
  const failed = total('deferred') + total('failed')
  return (
    <Sparkline
      label={text.sentOf(format.integer(total('sent')), format.integer(failed))}
      values={byHour(
        data.intervals.map(({ sent, deferred, failed: lost }) => sent + deferred + lost),
      )}
      tone={failed > total('sent') ? 'bad' : 'info'}
    />
  )
}

/** Of the limits, the one that mail waits for, or that is used most. */
function FullestLimit({ row }: { readonly row: Entry }) {
  const text = useWords(words)
  const tell = useTellRate()
  const { data } = useActivity(row.mailer_id, !isReadOnly(row))
  if (data === undefined) return null
  const [fullest] = data.limits.rates.toSorted(
    (a, b) => b.wait_ms - a.wait_ms || b.used / b.limit - a.used / a.limit,
  )
  return fullest === undefined ? text.none : tell(fullest)
}

/** Six intervals of ten minutes are an hour. */
function byHour(values: readonly number[]): number[] {
  const hours: number[] = []
  values.forEach((value, at) => {
    const hour = Math.floor(at / 6)
    hours[hour] = (hours[hour] ?? 0) + value
  })
  return hours
}

function LastFailure({ row }: { readonly row: Entry }) {
  const text = useWords(words)
  const [last] = row.last_errors
  if (last === undefined) return <span>{text.noFailure}</span>
  return (
    <span title={last.provider_error}>
      <Time at={last.at} /> {last.provider_error}
    </span>
  )
}
