/** Received mail, and the domains that receive. */
import type { InboundMessage } from '@postrider/client'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { usePages } from '../api/use-pages.ts'
import { ActionButton } from '../session/action-button.tsx'
import { EmptyList } from '../session/empty-list.tsx'
import { useTenant } from '../session/use-tenant.ts'
import { Button, Tabs } from '../ui/controls.ts'
import { type Column, PagedTable } from '../ui/data-table.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Card, Page, Row } from '../ui/page.tsx'
import { StateMark } from '../ui/state-mark.tsx'
import { Time } from '../ui/time.tsx'
import { useWords } from '../words/define-words.ts'
import { nameOf, toneOf } from './authentication.ts'
import { InboundDomainForm } from './inbound-domain-form.tsx'
import { inboundTabs } from './inbound-search.ts'
import { InboundStateMark } from './inbound-state.tsx'
import { inboundSnippets } from './snippets.ts'
import { words } from './words.ts'

export function InboundPage() {
  const text = useWords(words)
  const { tab = 'messages' } = useSearch({ from: '/shell/t/$tenantId/inbound' })
  const navigate = useNavigate()
  return (
    <Page title={text.inbound} lead={text.lead}>
      <Tabs
        value={tab}
        onChange={(chosen) =>
          void navigate({ to: '.', search: chosen === 'domains' ? { tab: 'domains' } : {} })
        }
      >
        <Tabs.List>
          {inboundTabs.map((name) => (
            <Tabs.Tab key={name} value={name}>
              {text.tabs[name]}
            </Tabs.Tab>
          ))}
        </Tabs.List>
      </Tabs>
      {tab === 'messages' ? <Messages /> : <Domains />}
    </Page>
  )
}

function Messages() {
  const text = useWords(words)
  const { tenantId, client, may } = useTenant()
  const pages = usePages({
    key: [tenantId, 'inbound-messages'],
    name: 'inbound_messages',
    list: (page, options) => client.listInboundMessages(page, options),
    refreshMs: 15_000,
  })
  const to: Column<InboundMessage> = {
    key: 'to',
    head: text.to,
    width: 'minmax(0, 1.3fr)',
    cell: ({ domain, username, folder }) =>
      domain === null ? `${text.mailbox} (${folder ?? ''})` : `${username ?? '*'}@${domain}`,
  }
  const said: readonly Column<InboundMessage>[] = [
    {
      key: 'from',
      head: text.from,
      width: 'minmax(0, 1.3fr)',
      isTitle: true,
      cell: ({ from, state }) =>
        from === null ? (
          state === 'waiting' ? (
            text.notReadYet
          ) : (
            text.nobody
          )
        ) : (
          <span title={nameOf(from)}>{nameOf(from)}</span>
        ),
    },
    {
      key: 'subject',
      head: text.subject,
      width: 'minmax(0, 2fr)',
      cell: ({ subject, problem }) => {
        const shown = subject === '' ? text.noSubject : subject
        return <span title={problem ?? shown ?? ''}>{problem ?? shown}</span>
      },
    },
    to,
  ]
  return (
    <Card isFlush>
      <PagedTable
        pages={pages}
        label={text.messages}
        rowKey={({ inbound_id }) => inbound_id}
        link={({ inbound_id }) => ({
          to: '/t/$tenantId/inbound/messages/$inboundId',
          params: { tenantId, inboundId: inbound_id },
        })}
        columns={[
          ...(may('getRawInboundMessage') ? said : [{ ...to, isTitle: true }]),
          {
            key: 'checks',
            head: text.authentication,
            width: '304px',
            cell: ({ authentication }) => authentication && <Checks found={authentication} />,
          },
          {
            key: 'state',
            head: text.state,
            width: '110px',
            cell: ({ state }) => (
              <StateMark tone={state === 'reported' ? 'good' : 'info'}>
                {text.states[state]}
              </StateMark>
            ),
          },
          {
            key: 'at',
            head: text.received,
            width: '120px',
            cell: ({ received_at }) => <Time at={received_at} />,
          },
        ]}
        empty={
          <EmptyList
            title={text.noMessages}
            action={
              <Button component={Link} to={`/t/${tenantId}/inbound?tab=domains`}>
                {text.toDomains}
              </Button>
            }
            snippets={inboundSnippets()}
          >
            {text.noMessagesHelp}
          </EmptyList>
        }
      />
    </Card>
  )
}

function Checks({ found }: { readonly found: NonNullable<InboundMessage['authentication']> }) {
  const checks = [
    ['SPF', found.spf],
    ['DKIM', found.dkim],
    ['DMARC', found.dmarc],
  ] as const
  return (
    <Row>
      {checks.map(([method, result]) => (
        <StateMark key={method} tone={toneOf(result)} isQuiet>
          {method} {result}
        </StateMark>
      ))}
    </Row>
  )
}

function Domains() {
  const text = useWords(words)
  const { tenantId, client } = useTenant()
  const [isAdding, setAdding] = useState(false)
  const close = () => setAdding(false)
  const pages = usePages({
    key: [tenantId, 'inbound-domains'],
    name: 'inbound_domains',
    list: (page, options) => client.listInboundDomains(page, options),
    refreshMs: 20_000,
  })
  const add = (
    <ActionButton size="xs" operation="configureInboundRouting" onClick={() => setAdding(true)}>
      {text.addDomain}
    </ActionButton>
  )
  return (
    <Card title={text.tabs.domains} actions={pages.entries?.length !== 0 && add} isFlush>
      <PagedTable
        pages={pages}
        label={text.tabs.domains}
        rowKey={({ domain }) => domain}
        link={({ domain }) => ({
          to: '/t/$tenantId/inbound/domains/$domain',
          params: { tenantId, domain },
        })}
        columns={[
          {
            key: 'domain',
            head: text.domain,
            width: 'minmax(0, 1.4fr)',
            isTitle: true,
            cell: ({ domain }) => domain,
          },
          {
            key: 'state',
            head: text.state,
            width: '210px',
            cell: ({ state }) => <InboundStateMark state={state} />,
          },
          {
            key: 'url',
            head: text.url,
            width: 'minmax(0, 2fr)',
            cell: ({ url }) => <code>{url}</code>,
          },
          {
            key: 'check',
            head: text.lastCheck,
            width: '150px',
            cell: ({ last_check_at }) => <Time at={last_check_at} />,
          },
        ]}
        empty={
          <EmptyList title={text.noDomains} action={add} snippets={inboundSnippets()}>
            {text.noDomainsHelp}
          </EmptyList>
        }
      />
      <Dialog title={text.addDomain} isOpen={isAdding} close={close}>
        <InboundDomainForm close={close} />
      </Dialog>
    </Card>
  )
}
