/** Who changed what over all tenants, the newest first. */
import type { TenantAuditEntry } from '@postrider/client'
import { useSearch } from '@tanstack/react-router'
import { usePages } from '../api/use-pages.ts'
import { AuditFilters, Changes, useActiveAuditFilters } from '../audit/audit-filters.tsx'
import { toAuditQuery } from '../audit/audit-search.ts'
import { clientOf } from '../session/client.ts'
import { EmptyList } from '../session/empty-list.tsx'
import { Copyable } from '../ui/copy.tsx'
import { type Column, PagedTable } from '../ui/data-table.tsx'
import { NothingMatches } from '../ui/filters.tsx'
import { Card, Page } from '../ui/page.tsx'
import { StateMark } from '../ui/state-mark.tsx'
import { Time } from '../ui/time.tsx'
import { useWords } from '../words/define-words.ts'
import { useUserNames } from './names.ts'
import { auditSnippets } from './snippets.ts'
import { outcomeOf } from './states.ts'
import { TenantLink } from './tenant-link.tsx'
import { words } from './words.ts'

const outcomeTones = { done: 'good', refused: 'bad', unfinished: 'warn' } as const

export function AuditPage() {
  const text = useWords(words)
  const people = useUserNames()
  const search = useSearch({ from: '/shell/operator/audit' })
  const filters = useActiveAuditFilters(search)
  /** Who is no person and no key. */
  const others: Readonly<Record<string, string>> = text.actors
  const pages = usePages({
    key: ['operator', 'audit', search],
    name: 'entries',
    list: (page, options) =>
      clientOf().listAuditOfAllTenants({ ...toAuditQuery(search), ...page }, options),
  })
  const columns: readonly Column<TenantAuditEntry>[] = [
    {
      key: 'what',
      head: text.what,
      width: 'minmax(0, 1.2fr)',
      isTitle: true,
      cell: ({ operation }) => <code title={operation}>{operation}</code>,
    },
    { key: 'when', head: text.when, width: '120px', cell: ({ at }) => <Time at={at} /> },
    {
      key: 'outcome',
      head: text.outcome,
      width: '138px',
      cell: ({ status }) => {
        const outcome = outcomeOf(status)
        return (
          <StateMark tone={outcomeTones[outcome]}>
            {status === null ? text[outcome] : `${text[outcome]} · ${status}`}
          </StateMark>
        )
      },
    },
    {
      key: 'who',
      head: text.who,
      cell: ({ actor }) => (
        <span title={actor}>{others[actor] ?? people.get(actor) ?? <code>{actor}</code>}</span>
      ),
    },
    {
      key: 'tenant',
      head: text.tenant,
      cell: ({ tenant_id }) =>
        tenant_id === null ? text.ofTheService : <TenantLink tenantId={tenant_id} />,
    },
    {
      key: 'target',
      head: text.target,
      cell: ({ target }) => (target === null ? '–' : <Copyable value={target} />),
    },
    {
      key: 'changes',
      head: text.changed,
      cell: ({ changes }) => <Changes changes={changes} />,
    },
    {
      key: 'from',
      head: text.from,
      width: 'minmax(0, 110px)',
      cell: ({ from }) => <code title={from}>{from}</code>,
    },
    {
      key: 'request',
      head: text.request,
      width: 'minmax(0, 110px)',
      cell: ({ request_id }) => <Copyable value={request_id} />,
    },
  ]
  return (
    <Page title={text.audit} lead={text.auditLead}>
      <AuditFilters search={search} />
      <Card isFlush>
        <PagedTable
          pages={pages}
          label={text.audit}
          empty={
            filters.length > 0 ? (
              <NothingMatches filters={filters} />
            ) : (
              <EmptyList title={text.noAudit} snippets={auditSnippets()}>
                {text.noAuditHelp}
              </EmptyList>
            )
          }
          columns={columns}
          rowKey={({ request_id, operation, at }) => `${request_id} ${operation} ${at}`}
        />
      </Card>
    </Page>
  )
}
