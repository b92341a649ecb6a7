/** What waits of mailers and webhooks over all tenants, late ones first. */
import type { OperatedQueue, QueueKind } from '@postrider/client'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { usePages } from '../api/use-pages.ts'
import { clientOf } from '../session/client.ts'
import { EmptyList } from '../session/empty-list.tsx'
import { SegmentedControl } from '../ui/controls.ts'
import { type Column, PagedTable } from '../ui/data-table.tsx'
import { Card, Page } from '../ui/page.tsx'
import { StateMark } from '../ui/state-mark.tsx'
import { Time } from '../ui/time.tsx'
import { useWords } from '../words/define-words.ts'
import { useFormat } from '../words/format.ts'
import { pageOfResult } from './find-page.ts'
import { queueSnippets } from './snippets.ts'
import { queueTone } from './states.ts'
import { TenantLink } from './tenant-link.tsx'
import { words } from './words.ts'

const refreshMs = 10_000

export function QueuesPage() {
  const text = useWords(words)
  const { kind } = useSearch({ from: '/shell/operator/queues' })
  const navigate = useNavigate({ from: '/operator/queues' })
  const pages = usePages({
    key: ['operator', 'queues', kind],
    name: 'queues',
    list: (page, options) =>
      clientOf().getQueues({ ...page, ...(kind !== undefined && { kind }) }, options),
    refreshMs,
  })
  const kinds: readonly ('all' | QueueKind)[] = ['all', 'mailer', 'webhook']
  return (
    <Page
      title={text.queues}
      lead={text.queuesLead}
      actions={
        <SegmentedControl
          aria-label={text.kind}
          value={kind ?? 'all'}
          data={kinds.map((value) => ({ value, label: text.queueKinds[value] }))}
          onChange={(value) =>
            void navigate({
              search: value === 'mailer' || value === 'webhook' ? { kind: value } : {},
            })
          }
        />
      }
    >
      <Card isFlush>
        <PagedTable
          pages={pages}
          label={text.queues}
          empty={
            <EmptyList title={text.noQueues} snippets={queueSnippets()}>
              {kind === undefined ? text.noQueuesHelp : text.noQueuesOfKind}
            </EmptyList>
          }
          rowKey={idOf}
          link={(queue) =>
            pageOfResult({ kind: queue.kind, id: idOf(queue), tenant_id: queue.tenant_id })
          }
          linkLabel={(queue) => `${text.queueKind[queue.kind]} ${idOf(queue)}`}
          columns={useColumns()}
        />
      </Card>
    </Page>
  )
}

function useColumns(): readonly Column<OperatedQueue>[] {
  const text = useWords(words)
  const format = useFormat()
  return [
    {
      key: 'queue',
      head: text.queue,
      width: 'minmax(0, 1.6fr)',
      isTitle: true,
      cell: (queue) => (
        <>
          {text.queueKind[queue.kind]} <code>{idOf(queue)}</code>
        </>
      ),
    },
    {
      key: 'state',
      head: text.state,
      width: 'minmax(170px, 1fr)',
      cell: (queue) => (
        <span title={queue.late ? lateness(queue) : undefined}>
          <StateMark tone={queueTone(queue)}>
            {queue.late ? `${text.late} · ${stateOf(queue)}` : stateOf(queue)}
          </StateMark>
        </span>
      ),
    },
    {
      key: 'tenant',
      head: text.tenant,
      cell: ({ tenant_id }) => <TenantLink tenantId={tenant_id} />,
    },
    {
      key: 'oldest',
      head: text.oldest,
      width: '124px',
      cell: ({ oldest_at }) => (oldest_at === null ? '–' : <Time at={oldest_at} />),
    },
    {
      key: 'due',
      head: text.due,
      width: '64px',
      align: 'end',
      cell: ({ due }) => atMost(due),
    },
    {
      key: 'waiting',
      head: text.later,
      width: '64px',
      align: 'end',
      cell: ({ waiting }) => atMost(waiting),
    },
  ]

  /** In the service's word where there is no other. */
  function stateOf({ state }: OperatedQueue): string {
    const known: Readonly<Record<string, string>> = text.queueStates
    return known[state] ?? state
  }

  function lateness(queue: OperatedQueue): string {
    return queue.kind === 'mailer' ? text.lateMailer : text.lateWebhook
  }

  /** The service stops counting there. */
  function atMost(count: number): string {
    return count >= 10_000 ? `≥ ${format.integer(count)}` : format.integer(count)
  }
}

function idOf(queue: OperatedQueue): string {
  return queue.mailer_id ?? queue.webhook_id ?? ''
}
