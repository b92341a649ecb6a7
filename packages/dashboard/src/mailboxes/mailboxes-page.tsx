/** Mailboxes that are read: whether they can be, and what was met last. */
import type { ListedDomainMailer, ListedMailer } from '@postrider/client'
import { useQuery } from '@tanstack/react-query'
import { Plus } from 'lucide-react'
import { useState } from 'react'
import { ConnectMailbox } from '../oauth/connect.tsx'
import { ActionButton } from '../session/action-button.tsx'
import { EmptyList } from '../session/empty-list.tsx'
import { useTenant } from '../session/use-tenant.ts'
import { Answer } from '../ui/answers.tsx'
import { DataTable } from '../ui/data-table.tsx'
import { Card, Page, Row } from '../ui/page.tsx'
import { Time } from '../ui/time.tsx'
import { useWords } from '../words/define-words.ts'
import { ImapForm } from './imap-form.tsx'
import { MailboxStateMark } from './mailbox-state.tsx'
import { imapSnippets } from './snippets.ts'
import { words } from './words.ts'

/** Mailers of a tenant that are looked through. */
const mailersMax = 2_000

export function MailboxesPage() {
  const text = useWords(words)
  const { tenantId, client } = useTenant()
  const [open, setOpen] = useState<'imap' | 'oauth'>()
  const close = () => setOpen(undefined)
  const mailboxes = useQuery({
    queryKey: [tenantId, 'mailboxes'],
    async queryFn({ signal }) {
      const found: ListedMailer[] = []
      let seen = 0
      for await (const mailer of client.listMailers({ pageSize: 100 }, { signal })) {
        if (isMailbox(mailer)) found.push(mailer)
        seen += 1
        if (seen >= mailersMax) break
      }
      return found
    },
    refetchInterval: 30_000,
  })
  const add = (
    <Row>
      <ActionButton
        operation="configureIMAP"
        leftSection={<Plus size={15} aria-hidden />}
        onClick={() => setOpen('imap')}
      >
        {text.add}
      </ActionButton>
      <ActionButton variant="default" operation="oauthLogin" onClick={() => setOpen('oauth')}>
        {text.connectOAuth}
      </ActionButton>
    </Row>
  )
  return (
    <Page title={text.mailboxes} lead={text.lead} actions={mailboxes.data?.length !== 0 && add}>
      <Card isFlush>
        <Answer query={mailboxes}>
          {(found) =>
            found.length === 0 ? (
              <EmptyList title={text.noMailboxes} action={add} snippets={imapSnippets()}>
                {text.noMailboxesHelp}
              </EmptyList>
            ) : (
              <Mailboxes mailboxes={found} />
            )
          }
        </Answer>
      </Card>
      <ImapForm isOpen={open === 'imap'} close={close} />
      <ConnectMailbox type="imap" isOpen={open === 'oauth'} close={close} />
    </Page>
  )
}

function isMailbox(mailer: ListedMailer | ListedDomainMailer): mailer is ListedMailer {
  return mailer.config_type !== 'domain' && mailer.mailbox !== undefined
}

function Mailboxes({ mailboxes }: { readonly mailboxes: readonly ListedMailer[] }) {
  const text = useWords(words)
  const { tenantId } = useTenant()
  return (
    <DataTable
      label={text.mailboxes}
      rows={mailboxes}
      rowKey={({ mailer_id }) => mailer_id}
      link={({ mailer_id }) => ({
        to: '/t/$tenantId/mailers/$mailerId',
        params: { tenantId, mailerId: mailer_id },
      })}
      columns={[
        {
          key: 'name',
          head: text.name,
          width: 'minmax(0, 1.2fr)',
          isTitle: true,
          cell: ({ name }) => name,
        },
        {
          key: 'address',
          head: text.address,
          width: 'minmax(0, 1.4fr)',
          cell: ({ email }) => email,
        },
        {
          key: 'state',
          head: text.state,
          width: '170px',
          cell: ({ mailbox }) =>
            mailbox !== undefined && <MailboxStateMark state={mailbox.state} />,
        },
        { key: 'folders', head: text.folders, cell: ({ folders }) => folders?.join(', ') ?? '' },
        {
          key: 'read',
          head: text.lastRead,
          width: '140px',
          cell: ({ mailbox }) => <Time at={mailbox?.last_read_at} />,
        },
        {
          key: 'error',
          head: text.lastError,
          width: 'minmax(0, 1.4fr)',
          cell: ({ mailbox }) => {
            const last = mailbox?.last_error
            if (last === null || last === undefined) return text.none
            return (
              <code title={last.provider_error}>{last.provider_error || last.failed_reason}</code>
            )
          },
        },
      ]}
    />
  )
}
