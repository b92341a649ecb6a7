/** Received mail, and the domains that receive. */
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { usePages } from '../api/use-pages.ts'
import { snippetsOf } from '../developers/snippets-of.ts'
import { ActionButton } from '../session/action-button.tsx'
import { useTenant } from '../session/use-tenant.ts'
import { Empty } from '../ui/answers.tsx'
import { Button, Tabs } from '../ui/controls.ts'
import { PagedTable } from '../ui/data-table.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Card, Page } from '../ui/page.tsx'
import { StateMark } from '../ui/state-mark.tsx'
import { Time } from '../ui/time.tsx'
import { useWords } from '../words/define-words.ts'
import { useFormat } from '../words/format.ts'
import { InboundDomainForm } from './inbound-domain-form.tsx'
import { inboundTabs } from './inbound-search.ts'
import { InboundStateMark } from './inbound-state.tsx'
import { words } from './words.ts'

const snippets = snippetsOf('/v1/inbound/domain', 'configureInboundRouting', {
  domain: 'in.example.com',
  url: 'https://hooks.example.com/inbound',
})

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
  const format = useFormat()
  const { tenantId, client } = useTenant()
  const pages = usePages({
    key: [tenantId, 'inbound-messages'],
    name: 'inbound_messages',
    list: (page, options) => client.listInboundMessages(page, options),
    refreshMs: 15_000,
  })
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
          {
            key: 'to',
            head: text.to,
            width: 'minmax(0, 2fr)',
            isTitle: true,
            cell: ({ domain, username, folder }) =>
              domain === null
                ? `${text.mailbox} (${folder ?? ''})`
                : `${username ?? '*'}@${domain}`,
          },
          {
            key: 'state',
            head: text.state,
            width: '130px',
            cell: ({ state }) => (
              <StateMark tone={state === 'reported' ? 'good' : 'info'}>
                {text.states[state]}
              </StateMark>
            ),
          },
          { key: 'problem', head: text.problem, cell: ({ problem }) => problem ?? '' },
          {
            key: 'size',
            head: text.size,
            width: '110px',
            align: 'end',
            cell: ({ bytes }) => format.bytes(bytes),
          },
          {
            key: 'at',
            head: text.received,
            width: '150px',
            cell: ({ received_at }) => <Time at={received_at} />,
          },
        ]}
        empty={
          <Empty
            title={text.noMessages}
            action={
              <Button component={Link} to={`/t/${tenantId}/inbound?tab=domains`}>
                {text.toDomains}
              </Button>
            }
          >
            {text.noMessagesHelp}
          </Empty>
        }
      />
    </Card>
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
          <Empty title={text.noDomains} action={add} {...snippets}>
            {text.noDomainsHelp}
          </Empty>
        }
      />
      <Dialog title={text.addDomain} isOpen={isAdding} close={close}>
        <InboundDomainForm close={close} />
      </Dialog>
    </Card>
  )
}
