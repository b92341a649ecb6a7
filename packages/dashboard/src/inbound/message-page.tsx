/** A received message: where it came, who sent it, what it holds, and the requests that reported it. */
import type { InboundMessage } from '@postrider/client'
import { useMutation, useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { queryClient } from '../api/query-client.ts'
import { usePages } from '../api/use-pages.ts'
import { ActionButton } from '../session/action-button.tsx'
import { useTenant } from '../session/use-tenant.ts'
import { Answer, Empty } from '../ui/answers.tsx'
import { Copyable } from '../ui/copy.tsx'
import { PagedTable } from '../ui/data-table.tsx'
import { Card, Fields, Page } from '../ui/page.tsx'
import { StateMark } from '../ui/state-mark.tsx'
import { Time } from '../ui/time.tsx'
import { tellDone, tellFailed } from '../ui/toast.ts'
import { useDeliveryColumns } from '../webhooks/delivery-columns.tsx'
import { useWords } from '../words/define-words.ts'
import { useFormat } from '../words/format.ts'
import { nameOf, type ReceivedMail } from './authentication.ts'
import { Attachments, Authentication, Preview, Raw } from './message-content.tsx'
import { words } from './words.ts'

const refreshMs = 5_000

export function MessagePage() {
  const { tenantId, client } = useTenant()
  const { inboundId } = useParams({ from: '/shell/t/$tenantId/inbound/messages/$inboundId' })
  const message = useQuery({
    queryKey: [tenantId, 'inbound-message', inboundId],
    queryFn: async ({ signal }) =>
      (await client.getInboundMessage(inboundId, { signal })).inbound_message,
    refetchInterval: ({ state }) => (state.data?.state === 'waiting' ? refreshMs : false),
  })
  return <Answer query={message}>{(found) => <Found message={found} />}</Answer>
}

/** What its event says. It is recorded once the message was read; a report of a bounce has none. */
function useMail({ inbound_id, state }: InboundMessage): ReceivedMail | undefined {
  const { tenantId, client, may } = useTenant()
  const { data } = useQuery({
    queryKey: [tenantId, 'inbound-event', inbound_id],
    enabled: state === 'reported' && may('getRawInboundMessage'),
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async ({ signal }) =>
      (await client.listEvents({ inbound_id, pageSize: 1 }, { signal })).events[0] ?? null,
  })
  return data?.event === 'INCOMING_EMAIL' ? (data.details as ReceivedMail) : undefined
}

function Found({ message }: { readonly message: InboundMessage }) {
  const text = useWords(words)
  const { tenantId, client, may } = useTenant()
  const mail = useMail(message)
  const again = useMutation({
    mutationFn: async () =>
      (await client.replayWebhookEvents({ inbound_id: message.inbound_id })).replayed,
    onSuccess: (replayed) => tellDone(replayed > 0 ? text.reportedAgain : text.reportWaits),
    onError: tellFailed('send'),
    onSettled: () => queryClient.invalidateQueries({ queryKey: [tenantId] }),
  })
  return (
    <Page
      title={mail === undefined ? text.message : mail.subject || text.noSubject}
      trail={
        <Link to="/t/$tenantId/inbound" params={{ tenantId }}>
          {text.inbound}
        </Link>
      }
      lead={
        <StateMark tone={message.state === 'reported' ? 'good' : 'info'}>
          {text.states[message.state]}
        </StateMark>
      }
      actions={
        <ActionButton
          variant="default"
          operation="replayWebhookEvents"
          reason={message.state === 'waiting' ? text.notReportedYet : undefined}
          loading={again.isPending}
          onClick={() => again.mutate()}
        >
          {text.reportAgain}
        </ActionButton>
      }
    >
      <Facts message={message} mail={mail} />
      {mail !== undefined && <Authentication mail={mail} />}
      {mail !== undefined && (
        <Attachments inboundId={message.inbound_id} attachments={mail.attachments} />
      )}
      <Deliveries inboundId={message.inbound_id} />
      {may('getRawInboundMessage') ? (
        <>
          {mail !== undefined && <Preview inboundId={message.inbound_id} />}
          <Raw message={message} />
        </>
      ) : (
        <Card title={text.content}>
          <p>{text.contentClosed}</p>
        </Card>
      )}
    </Page>
  )
}

function Facts(o: { readonly message: InboundMessage; readonly mail: ReceivedMail | undefined }) {
  const text = useWords(words)
  const format = useFormat()
  const { tenantId } = useTenant()
  const { message, mail } = o
  const { domain, mailer_id: mailerId } = message
  const client = mail?.envelope
  return (
    <Card>
      <Fields
        entries={[
          mail && [text.from, nameOf(mail.from)],
          mail && [text.toHeader, mail.to.map(nameOf).join(', ') || '–'],
          [
            text.to,
            domain !== null ? (
              <Link to="/t/$tenantId/inbound/domains/$domain" params={{ tenantId, domain }}>
                {domain}
              </Link>
            ) : mailerId !== null ? (
              <Link to="/t/$tenantId/mailers/$mailerId" params={{ tenantId, mailerId }}>
                {text.mailbox}
              </Link>
            ) : (
              text.mailbox
            ),
          ],
          domain === null
            ? [text.folder, message.folder ?? '']
            : [text.username, message.username ?? text.wholeDomain],
          client && [
            text.handedOver,
            `${client.remote_ip} (${client.helo})${client.tls === true ? `, ${text.encrypted}` : ''}`,
          ],
          [text.size, format.bytes(message.bytes)],
          [text.received, <Time at={message.received_at} isExact />],
          [text.reported, <Time at={message.reported_at} isExact />],
          message.problem === null ? undefined : [text.problem, message.problem],
          mail?.auto_reply === true ? [text.author, text.program] : undefined,
          mail && [text.messageId, <Copyable value={mail.message_id} />],
          [text.id, <Copyable value={message.inbound_id} />],
        ]}
      />
    </Card>
  )
}

function Deliveries({ inboundId }: { readonly inboundId: string }) {
  const text = useWords(words)
  const { tenantId, client } = useTenant()
  const columns = useDeliveryColumns()
  const pages = usePages({
    key: [tenantId, 'deliveries', { inboundId }],
    name: 'deliveries',
    list: (page, options) =>
      client.listWebhookDeliveries({ inbound_id: inboundId, ...page }, options),
    refreshMs,
  })
  return (
    <Card title={text.deliveries} note={text.deliveriesNote} isFlush>
      <PagedTable
        pages={pages}
        label={text.deliveries}
        columns={columns}
        rowKey={({ delivery_id }) => delivery_id}
        link={({ delivery_id }) => ({
          to: '/t/$tenantId/deliveries/$deliveryId',
          params: { tenantId, deliveryId: delivery_id },
        })}
        empty={<Empty title={text.noDeliveries}>{text.noDeliveriesHelp}</Empty>}
      />
    </Card>
  )
}
