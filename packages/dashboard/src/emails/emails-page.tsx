/** All mail of a tenant, recipient by recipient: found by what is typed, filtered, changed many at once. */
import type { EmailLog } from '@postrider/client'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import { usePages } from '../api/use-pages.ts'
import { sendSnippets } from '../developers/snippets.ts'
import { useSender } from '../developers/use-sender.ts'
import { EmptyList } from '../session/empty-list.tsx'
import { useTenant } from '../session/use-tenant.ts'
import { Button } from '../ui/controls.ts'
import { type Column, PagedTable } from '../ui/data-table.tsx'
import { type ActiveFilter, FilterChips, NothingMatches } from '../ui/filters.tsx'
import { Card, Page } from '../ui/page.tsx'
import { useWords } from '../words/define-words.ts'
import { useFormat } from '../words/format.ts'
import { BulkMenu } from './bulk-menu.tsx'
import { EmailStatus, toneOf } from './email-status.tsx'
import classes from './emails.module.css'
import { type EmailsSearch, toLogFilter } from './emails-search.ts'
import { ExportMenu } from './export-menu.tsx'
import { FilterBar } from './filter-bar.tsx'
import { logLinks, useLogColumns } from './log-columns.tsx'
import { readQuery } from './read-query.ts'
import { tellFacts } from './tell-facts.ts'
import { TestMail } from './test-mail.tsx'
import { TestMark } from './test-mark.tsx'
import { useMailers } from './use-mailers.ts'
import { Views } from './views.tsx'
import { words } from './words.ts'

const pageSize = 50
/** While no more is shown, it is kept up to date. */
const refreshMs = 10_000

export function EmailsPage() {
  const text = useWords(words)
  const { tenantId, client, may } = useTenant()
  const search = useSearch({ from: '/shell/t/$tenantId/emails' })
  const navigate = useNavigate({ from: '/t/$tenantId/emails' })
  const mailers = useMailers()
  const sender = useSender()
  const [isTestOpen, setTestOpen] = useState(false)
  const key = JSON.stringify(search)
  // biome-ignore lint/correctness/useExhaustiveDependencies: "the last hours" begin when the filters change
  const now = useMemo(() => new Date(), [key])
  const filter = toLogFilter(search, now)
  const pages = usePages({
    key: [tenantId, 'emails', search],
    name: 'logs',
    list: (page, options) => client.getEmailLogs({ ...filter, pageSize, ...page }, options),
    refreshMs,
  })
  const set = (change: { readonly [K in keyof EmailsSearch]: EmailsSearch[K] | undefined }) =>
    void navigate({ search: (before) => clean({ ...before, ...change }) })
  const filters = useActiveFilters(search, { nameOf: mailers.nameOf, set })
  const columns = useColumns(mailers.nameOf)
  const isEmpty = pages.entries?.length === 0 && !pages.hasMore && filters.length === 0
  const sendTest = may('sendEmail') && mailers.sending.length > 0 && (
    <Button onClick={() => setTestOpen(true)}>{text.sendTest}</Button>
  )
  return (
    <Page
      title={text.emails}
      actions={
        !isEmpty && (
          <>
            <ExportMenu filter={filter} />
            <BulkMenu search={search} now={now} mailers={mailers} />
          </>
        )
      }
    >
      {!isEmpty && (
        <div className={classes.find}>
          <Views tenantId={tenantId} search={search} />
          <FilterBar search={search} mailers={mailers} set={set} />
          <FilterChips filters={filters} />
        </div>
      )}
      <Card isFlush>
        <PagedTable
          pages={pages}
          label={text.emails}
          columns={columns}
          rowKey={({ ref_id, email }) => `${ref_id} ${email}`}
          {...logLinks(tenantId)}
          empty={
            filters.length > 0 ? (
              <NothingMatches filters={filters} />
            ) : (
              <EmptyList
                title={text.noEmails}
                action={
                  sendTest ||
                  (may('configureSMTP') && mailers.all?.length === 0 && (
                    <Button component={Link} to={`/t/${tenantId}/mailers`}>
                      {text.addMailer}
                    </Button>
                  ))
                }
                snippets={sendSnippets(sender)}
              >
                {text.noEmailsHelp}
              </EmptyList>
            )
          }
        />
      </Card>
      <TestMail isOpen={isTestOpen} close={() => setTestOpen(false)} mailers={mailers} />
    </Page>
  )
}

/** An address without what is not set. */
function clean(search: { readonly [K in keyof EmailsSearch]: EmailsSearch[K] | undefined }) {
  return Object.fromEntries(
    Object.entries(search).filter(([, value]) => value !== undefined && value !== ''),
  ) as EmailsSearch
}

type Set = (change: { readonly [K in keyof EmailsSearch]: EmailsSearch[K] | undefined }) => void

function useActiveFilters(
  search: EmailsSearch,
  { nameOf, set }: { readonly nameOf: (mailerId: string) => string; readonly set: Set },
): readonly ActiveFilter[] {
  const text = useWords(words)
  const query = readQuery(search.q ?? '')
  const named: readonly (readonly [keyof EmailsSearch, string, string | undefined])[] = [
    ['q', query === undefined ? '' : text.searchedBy[query.by], query?.value],
    ['status', text.status, search.status && text.statuses[search.status]],
    ['mailer', text.mailer, search.mailer && nameOf(search.mailer)],
    ['last', text.accepted, search.last && text.last[search.last]],
    ['from', text.acceptedFrom, search.from],
    ['to', text.acceptedTo, search.to],
    ['deliveredFrom', text.deliveredFrom, search.deliveredFrom],
    ['deliveredTo', text.deliveredTo, search.deliveredTo],
    ['campaign', text.campaign, search.campaign],
    ['reason', text.reason, search.reason],
    ['type', text.addressedBy, search.type],
    ['test', text.testMail, search.test && text.testFilter[search.test]],
  ]
  return named.flatMap(([name, label, value]) =>
    value === undefined ? [] : [{ name: label, value, drop: () => set({ [name]: undefined }) }],
  )
}

function useColumns(nameOf: (mailerId: string) => string): readonly Column<EmailLog>[] {
  const text = useWords(words)
  const format = useFormat()
  const { recipient, subject, accepted } = useLogColumns()
  return [
    recipient,
    subject,
    {
      key: 'status',
      head: text.status,
      width: 'minmax(0, 1.9fr)',
      cell: (log) => (
        <span className={classes.state}>
          <EmailStatus status={log.status} isQuiet={toneOf(log.status) === 'good'} />
          {log.test && <TestMark isQuiet />}
          <span className={classes.reason} title={log.failed_reason}>
            {tellFacts(log, text, format)}
          </span>
        </span>
      ),
    },
    {
      key: 'mailer',
      head: text.mailer,
      width: 'minmax(0, 0.8fr)',
      isMinor: true,
      cell: ({ mailer_id }) => <span className={classes.quiet}>{nameOf(mailer_id)}</span>,
    },
    {
      key: 'attempts',
      head: text.attempts,
      width: '72px',
      align: 'end',
      isMinor: true,
      cell: ({ attempts }) => (attempts === 0 ? '–' : format.integer(attempts)),
    },
    accepted,
  ]
}
