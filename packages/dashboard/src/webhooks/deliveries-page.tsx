/** Requests to webhooks, filtered by what the address holds. */
import { Link, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { eventNames, webhookDeliveryFilters } from '../api/names.ts'
import { usePages } from '../api/use-pages.ts'
import { useSearchChange } from '../app/use-search-change.ts'
import { useWebhooks } from '../email/use-webhooks.ts'
import { ActionButton } from '../session/action-button.tsx'
import { EmptyList } from '../session/empty-list.tsx'
import { useTenant } from '../session/use-tenant.ts'
import { Button, Select, TextInput } from '../ui/controls.ts'
import { PagedTable } from '../ui/data-table.tsx'
import { type ActiveFilter, FilterChips, NothingMatches } from '../ui/filters.tsx'
import { Card, Page, Row } from '../ui/page.tsx'
import { useWords } from '../words/define-words.ts'
import { useDeliveryColumns } from './delivery-columns.tsx'
import type { DeliverySearch } from './delivery-search.ts'
import { Replay } from './replay.tsx'
import { webhookSnippets } from './snippets.ts'
import { words } from './words.ts'

export function DeliveriesPage() {
  const text = useWords(words)
  const { tenantId, client } = useTenant()
  const search = useSearch({ from: '/shell/t/$tenantId/deliveries' })
  const [isReplaying, setReplaying] = useState(false)
  const pages = usePages({
    key: [tenantId, 'deliveries', search],
    name: 'deliveries',
    list: (page, options) => client.listWebhookDeliveries({ ...search, ...page }, options),
    refreshMs: 15_000,
  })
  const { ofFields, ofWebhook } = useFilters(search)
  const filters = [...ofFields, ...ofWebhook]
  return (
    <Page
      title={text.deliveries}
      lead={text.deliveriesLead}
      actions={
        <ActionButton
          variant="default"
          operation="replayWebhookEvents"
          onClick={() => setReplaying(true)}
        >
          {text.replay}
        </ActionButton>
      }
    >
      <FilterFields search={search} />
      <FilterChips filters={ofWebhook} />
      {search.status === 'open' && <p>{text.openHelp}</p>}
      <Card isFlush>
        <PagedTable
          pages={pages}
          label={text.deliveries}
          columns={useDeliveryColumns()}
          rowKey={({ delivery_id }) => delivery_id}
          link={({ delivery_id }) => ({
            to: '/t/$tenantId/deliveries/$deliveryId',
            params: { tenantId, deliveryId: delivery_id },
          })}
          empty={filters.length > 0 ? <NothingMatches filters={filters} /> : <NoDeliveries />}
        />
      </Card>
      <Replay isOpen={isReplaying} close={() => setReplaying(false)} />
    </Page>
  )
}

/** Those that hold. The webhook has no field: another page leads here with it. */
function useFilters(search: DeliverySearch) {
  const text = useWords(words)
  const change = useSearchChange(search)
  const webhooks = useWebhooks()
  const filterOf = (name: string, value: string | undefined, drop: () => void): ActiveFilter[] =>
    value === undefined ? [] : [{ name, value, drop }]
  const { status, event, ref_id: refId, webhook_id: webhookId } = search
  return {
    ofFields: [
      ...filterOf(text.status, status && text.statuses[status], () =>
        change({ status: undefined }),
      ),
      ...filterOf(text.event, event, () => change({ event: undefined })),
      ...filterOf(text.refId, refId, () => change({ ref_id: '' })),
    ],
    ofWebhook: filterOf(text.receiver, webhookId && webhooks.nameOf(webhookId), () =>
      change({ webhook_id: '' }),
    ),
  }
}

function FilterFields({ search }: { readonly search: DeliverySearch }) {
  const text = useWords(words)
  const change = useSearchChange(search)
  return (
    <Row>
      <Select
        aria-label={text.status}
        placeholder={`${text.status}: ${text.all}`}
        data={webhookDeliveryFilters.map((value) => ({ value, label: text.statuses[value] }))}
        value={search.status ?? null}
        clearable
        onChange={(value) =>
          change({ status: webhookDeliveryFilters.find((one) => one === value) })
        }
      />
      <Select
        aria-label={text.event}
        placeholder={text.allEvents}
        data={[...eventNames]}
        value={search.event ?? null}
        clearable
        searchable
        onChange={(value) => change({ event: eventNames.find((one) => one === value) })}
      />
      <TextInput
        key={search.ref_id}
        aria-label={text.refId}
        placeholder={`${text.refId} (ref_id)`}
        defaultValue={search.ref_id ?? ''}
        onKeyDown={(event) => {
          if (event.key === 'Enter') change({ ref_id: event.currentTarget.value.trim() })
        }}
      />
    </Row>
  )
}

function NoDeliveries() {
  const text = useWords(words)
  const { tenantId } = useTenant()
  return (
    <EmptyList
      title={text.noDeliveries}
      action={
        <Button component={Link} to={`/t/${tenantId}/webhooks`}>
          {text.webhooks}
        </Button>
      }
      snippets={webhookSnippets()}
    >
      {text.noDeliveriesHelp}
    </EmptyList>
  )
}
