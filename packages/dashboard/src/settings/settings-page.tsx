/** The tenant's settings: its members, where its alerts go, and its audit log. */
import { useNavigate, useSearch } from '@tanstack/react-router'
import { AlertsCard } from '../alerts/alerts-card.tsx'
import { words as alertWords } from '../alerts/words.ts'
import { usePages } from '../api/use-pages.ts'
import { AuditFilters, useActiveAuditFilters } from '../audit/audit-filters.tsx'
import { toAuditQuery } from '../audit/audit-search.ts'
import { ClosedPage } from '../session/closed-page.tsx'
import { useTenant } from '../session/use-tenant.ts'
import { Empty } from '../ui/answers.tsx'
import { Tabs } from '../ui/controls.ts'
import { PagedTable } from '../ui/data-table.tsx'
import { NothingMatches } from '../ui/filters.tsx'
import { Card, Page } from '../ui/page.tsx'
import { Time } from '../ui/time.tsx'
import { useWords } from '../words/define-words.ts'
import { Members } from './members.tsx'
import { settingsTabs } from './settings-search.ts'
import { words } from './words.ts'

export function SettingsPage() {
  const text = useWords(words)
  const { may } = useTenant()
  const { tab = 'members' } = useSearch({ from: '/shell/t/$tenantId/settings' })
  const navigate = useNavigate()
  const open = settingsTabs.filter((name) => may(reads[name]))
  // Everybody may see where alerts go; the page is for those who may see more.
  if (open.every((name) => name === 'alerts')) return <ClosedPage />
  return (
    <Page title={text.settings} lead={text.lead}>
      <Tabs
        value={tab}
        onChange={(chosen) =>
          void navigate({
            to: '.',
            search: chosen === 'audit' || chosen === 'alerts' ? { tab: chosen } : {},
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
      {tab === 'members' && open.includes('members') && <Members />}
      {tab === 'alerts' && open.includes('alerts') && <TenantAlerts />}
      {tab === 'audit' && open.includes('audit') && <Audit />}
    </Page>
  )
}

const reads = { members: 'listMembers', alerts: 'getAlerts', audit: 'listAudit' } as const

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
              <Empty title={text.noAudit}>{text.noAuditHelp}</Empty>
            )
          }
        />
      </Card>
    </>
  )
}
