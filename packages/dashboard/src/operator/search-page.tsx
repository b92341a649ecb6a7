/** Whose an id, an address or a domain is, over all tenants. */
import { PostriderError, type SearchResult } from '@postrider/client'
import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { clientOf } from '../session/client.ts'
import { Answer, Empty } from '../ui/answers.tsx'
import { Banner } from '../ui/banner.tsx'
import { Button, TextInput } from '../ui/controls.ts'
import { DataTable } from '../ui/data-table.tsx'
import { Card, Page, Row, Stack } from '../ui/page.tsx'
import { useWords } from '../words/define-words.ts'
import { pageOfResult } from './find-page.ts'
import { TenantLink } from './tenant-link.tsx'
import { words } from './words.ts'

export function SearchPage() {
  const text = useWords(words)
  const { q } = useSearch({ from: '/shell/operator/search' })
  const navigate = useNavigate({ from: '/operator/search' })
  const [typed, setTyped] = useState(q ?? '')
  useEffect(() => setTyped(q ?? ''), [q])
  return (
    <Page title={text.search} lead={text.searchLead}>
      <search>
        <form
          onSubmit={(event) => {
            event.preventDefault()
            void navigate({ search: typed.trim() === '' ? {} : { q: typed.trim() } })
          }}
        >
          <Row>
            <TextInput
              type="search"
              aria-label={text.searchLabel}
              placeholder={text.searchLabel}
              value={typed}
              maxLength={320}
              autoFocus
              autoComplete="off"
              flex="1 1 240px"
              maw={560}
              onChange={(event) => setTyped(event.currentTarget.value)}
            />
            <Button type="submit">{text.searchButton}</Button>
          </Row>
        </form>
      </search>
      {q === undefined ? <Help /> : <Results q={q} />}
    </Page>
  )
}

function Help() {
  const text = useWords(words)
  const { id, address, domain } = text.searchStartHelp
  return (
    <Card title={text.searchStart}>
      <Stack>
        <p>{id}</p>
        <p>{address}</p>
        <p>{domain}</p>
      </Stack>
    </Card>
  )
}

function Results({ q }: { readonly q: string }) {
  const text = useWords(words)
  const query = useQuery({
    queryKey: ['operator', 'search', q],
    queryFn: ({ signal }) => clientOf().search({ q }, { signal }),
  })
  if (query.error instanceof PostriderError && query.error.status === 400)
    return <Empty title={text.notWhole}>{text.notWholeHelp}</Empty>
  return (
    <Answer query={query}>
      {({ results, complete }) =>
        results.length === 0 ? (
          <Empty title={text.nothingFound}>{text.nothingFoundHelp(q)}</Empty>
        ) : (
          <>
            {!complete && (
              <Banner tone="info" word={text.note} title={text.incomplete}>
                {text.incompleteHelp}
              </Banner>
            )}
            <Found results={results} />
          </>
        )
      }
    </Answer>
  )
}

function Found({ results }: { readonly results: readonly SearchResult[] }) {
  const text = useWords(words)
  return (
    <Card isFlush>
      <DataTable
        label={text.results}
        rows={results}
        rowKey={({ kind, id, tenant_id }) => `${kind} ${tenant_id} ${id}`}
        link={pageOfResult}
        linkLabel={({ kind, id }) => `${text.searchKinds[kind]} ${id}`}
        columns={[
          {
            key: 'kind',
            head: text.kind,
            width: 'minmax(110px, 180px)',
            isTitle: true,
            cell: ({ kind }) => text.searchKinds[kind],
          },
          {
            key: 'id',
            head: text.id,
            width: 'minmax(0, 1.6fr)',
            cell: ({ id }) => <code title={id}>{id}</code>,
          },
          {
            key: 'tenant',
            head: text.tenant,
            cell: ({ tenant_id }) =>
              tenant_id === null ? '–' : <TenantLink tenantId={tenant_id} />,
          },
        ]}
      />
    </Card>
  )
}
