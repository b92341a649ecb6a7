/** Mailboxes that are read: whether they can be, and what was met last. */
import type { ListedDomainMailer, ListedMailer } from '@postrider/client'
import { useQuery } from '@tanstack/react-query'
import { useTenant } from '../session/use-tenant.ts'
import { Answer, Empty } from '../ui/answers.tsx'
import { DataTable } from '../ui/data-table.tsx'
import { Card, Page } from '../ui/page.tsx'
import { StateMark, type Tone } from '../ui/state-mark.tsx'
import { Time } from '../ui/time.tsx'
import { useWords } from '../words/define-words.ts'
import { imapSnippets } from './snippets.ts'
import { words } from './words.ts'

type Health = NonNullable<ListedMailer['mailbox']>

const tones: Readonly<Record<Health['state'], Tone>> = {
  waiting: 'info',
  watched: 'good',
  failing: 'bad',
  stopped: 'muted',
}

/** Mailers of a tenant that are looked through. */
const mailersMax = 2_000

export function MailboxesPage() {
  const text = useWords(words)
  const { tenantId, client } = useTenant()
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
  return (
    <Page title={text.mailboxes} lead={text.lead}>
      <Card isFlush>
        <Answer query={mailboxes}>
          {(found) =>
            found.length === 0 ? (
              <Empty title={text.noMailboxes} {...imapSnippets(location.origin)}>
                {text.noMailboxesHelp}
              </Empty>
            ) : (
              <Mailboxes mailboxes={found} />
            )
          }
        </Answer>
      </Card>
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
            mailbox !== undefined && (
              <StateMark tone={tones[mailbox.state]}>{text.states[mailbox.state]}</StateMark>
            ),
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
