/** The tenant's settings: its members, its usage and quotas, where its alerts go, and its audit log. */
import { useNavigate, useSearch } from '@tanstack/react-router'
import { AlertsCard } from '../alerts/alerts-card.tsx'
import { words as alertWords } from '../alerts/words.ts'
import { usePages } from '../api/use-pages.ts'
import { AuditFilters, useActiveAuditFilters } from '../audit/audit-filters.tsx'
import { toAuditQuery } from '../audit/audit-search.ts'
import { ClosedPage } from '../session/closed-page.tsx'
import { EmptyList } from '../session/empty-list.tsx'
import { useTenant } from '../session/use-tenant.ts'
import { Tabs } from '../ui/controls.ts'
import { PagedTable } from '../ui/data-table.tsx'
import { NothingMatches } from '../ui/filters.tsx'
import { Card, Page } from '../ui/page.tsx'
import { Time } from '../ui/time.tsx'
import { UsageCard } from '../usage/usage-card.tsx'
import { useWords } from '../words/define-words.ts'
import { Members } from './members.tsx'
import { readSettingsSearch, settingsTabs } from './settings-search.ts'
import { auditSnippets } from './snippets.ts'
import { words } from './words.ts'

export function SettingsPage() {
  const text = useWords(words)
  const { may } = useTenant()
  const search = useSearch({ from: '/shell/t/$tenantId/settings' })
  const navigate = useNavigate()
  const open = settingsTabs.filter((name) => may(reads[name]))
  const [first] = open
  const tab = search.tab ?? first
  if (tab === undefined || !open.includes(tab)) return <ClosedPage />
  return (
    <Page title={text.settings} lead={text.lead}>
      <Tabs
        value={tab}
        onChange={(chosen) =>
          void navigate({
            to: '.',
            search: readSettingsSearch(chosen === first ? {} : { tab: chosen }),
          })
        }
      >
        <Tabs.List>
          {open.map((name) => (
            <Tabs.Tab key={name} value={name}>
              {text.tabs[name]}
            </Tabs.Tab>
          ))}
        </Tabs.List>
      </Tabs>
      {tab === 'members' && <Members />}
      {tab === 'usage' && <UsageCard />}
      {tab === 'alerts' && <TenantAlerts />}
      {tab === 'audit' && <Audit />}
    </Page>
  )
}

const reads = {
  members: 'listMembers',
  usage: 'getUsage',
  alerts: 'getAlerts',
  audit: 'listAudit',
} as const

function TenantAlerts() {
  const text = useWords(alertWords)
  const { tenantId, client } = useTenant()
  return (
    <AlertsCard
      source={{
        queryKey: [tenantId, 'alerts'],
        note: text.tenantNote,
        get: (signal) => client.getAlerts({ signal }),
        set: (body) => client.setAlerts(body),
        remove: () => client.deleteAlerts(),
        operations: { set: 'setAlerts', remove: 'deleteAlerts' },
      }}
    />
  )
}

function Audit() {
  const text = useWords(words)
  const { tenantId, client } = useTenant()
  const search = useSearch({ from: '/shell/t/$tenantId/settings' })
  const filters = useActiveAuditFilters(search)
  const pages = usePages({
    key: [tenantId, 'audit', search],
    name: 'entries',
    list: (page, options) => client.listAudit({ ...toAuditQuery(search), ...page }, options),
  })
  return (
    <>
      <AuditFilters search={search} />
      <Card title={text.tabs.audit} note={text.auditNote} isFlush>
        <PagedTable
          pages={pages}
          label={text.tabs.audit}
          rowKey={({ request_id, at }) => `${request_id} ${at}`}
          columns={[
            {
              key: 'operation',
              head: text.operation,
              isTitle: true,
              cell: ({ operation }) => operation,
            },
            {
              key: 'target',
              head: text.target,
              width: 'minmax(0, 1.6fr)',
              cell: ({ target }) => <code>{target ?? ''}</code>,
            },
            {
              key: 'actor',
              head: text.actor,
              width: 'minmax(0, 1.6fr)',
              cell: ({ actor }) => <code>{actor}</code>,
            },
            {
              key: 'from',
              head: text.from,
              width: '130px',
              cell: ({ from }) => <code>{from}</code>,
            },
            {
              key: 'status',
              head: text.status,
              width: '80px',
              cell: ({ status }) => status ?? '–',
            },
            { key: 'at', head: text.at, width: '150px', cell: ({ at }) => <Time at={at} /> },
          ]}
          empty={
            filters.length > 0 ? (
              <NothingMatches filters={filters} />
            ) : (
              <EmptyList title={text.noAudit} snippets={auditSnippets()}>
                {text.noAuditHelp}
              </EmptyList>
            )
          }
        />
      </Card>
    </>
  )
}
