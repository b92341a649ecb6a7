/** One mailer: whether it works, what it did, what it waits for, and how to repair it. */
import type { DomainMailer, Mailer, MailerActivity } from '@postrider/client'
import { useMutation, useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { queryClient } from '../api/query-client.ts'
import { ActionButton } from '../session/action-button.tsx'
import { useTenant } from '../session/use-tenant.ts'
import { Answer } from '../ui/answers.tsx'
import { Banner } from '../ui/banner.tsx'
import { BarChart } from '../ui/bar-chart.tsx'
import { Copyable } from '../ui/copy.tsx'
import { DataTable } from '../ui/data-table.tsx'
import { Confirm } from '../ui/dialog.tsx'
import { Card, Columns, Fields, Page } from '../ui/page.tsx'
import { Time } from '../ui/time.tsx'
import { tellDone, tellFailed } from '../ui/toast.ts'
import { useWords } from '../words/define-words.ts'
import { useFormat } from '../words/format.ts'
import { MailerStateMark } from './mailer-state.tsx'
import { MailerTest } from './mailer-test.tsx'
import { readMailer } from './read-mailer.ts'
import { SmtpForm } from './smtp-form.tsx'
import { useActivity } from './use-activity.ts'
import { words } from './words.ts'

export function MailerPage() {
  const { tenantId, client } = useTenant()
  const { mailerId } = useParams({ from: '/shell/t/$tenantId/mailers/$mailerId' })
  const mailer = useQuery({
    queryKey: [tenantId, 'mailer', mailerId],
    queryFn: ({ signal }) => readMailer(client, mailerId, { signal }),
    refetchInterval: 15_000,
  })
  return <Answer query={mailer}>{(found) => <Found mailer={found} />}</Answer>
}

type Open = 'edit' | 'test' | 'pause' | 'delete'

function Found({ mailer }: { readonly mailer: Mailer | DomainMailer }) {
  const text = useWords(words)
  const { tenantId } = useTenant()
  const activity = useActivity(mailer.mailer_id)
  const [open, setOpen] = useState<Open>()
  const close = () => setOpen(undefined)
  const isSmtp = mailer.config_type === 'smtp' && mailer.connection_type === 'basic'
  const waiting = activity.data?.queue.waiting ?? 0
  const address = mailer.config_type === 'domain' ? mailer.config.domain : mailer.email
  const actions = (
    <>
      <ActionButton variant="default" operation="testMailer" onClick={() => setOpen('test')}>
        {text.test}
      </ActionButton>
      {isSmtp && (
        <ActionButton variant="default" operation="updateSMTP" onClick={() => setOpen('edit')}>
          {text.edit}
        </ActionButton>
      )}
      <ActiveButton mailer={mailer} onPause={() => setOpen('pause')} />
      {mailer.config_type !== 'domain' && (
        <ActionButton
          variant="default"
          operation="deleteSMTPConfig"
          onClick={() => setOpen('delete')}
        >
          {text.delete}
        </ActionButton>
      )}
    </>
  )
  return (
    <Page
      title={mailer.name}
      trail={
        <Link to="/t/$tenantId/mailers" params={{ tenantId }}>
          {text.mailers}
        </Link>
      }
      lead={
        <>
          {address} · {text.kinds[mailer.config_type]} · <MailerStateMark state={mailer.state} />
        </>
      }
      actions={actions}
    >
      {mailer.state === 'deactivated' && (
        <Banner
          tone="bad"
          word={text.off}
          title={text.offTitle}
          action={
            isSmtp && (
              <ActionButton size="xs" operation="updateSMTP" onClick={() => setOpen('edit')}>
                {text.repair}
              </ActionButton>
            )
          }
        >
          {mailer.state_evidence !== null && <code>{mailer.state_evidence}</code>}
          <div>
            {text.offHelp} <Time at={mailer.state_changed_at} />
          </div>
        </Banner>
      )}
      {mailer.state === 'disabled' && (
        <Banner tone="muted" word={text.states.disabled} title={text.pausedTitle}>
          {text.pausedHelp}
        </Banner>
      )}
      <Answer query={activity}>
        {(data) => (
          <>
            <Activity activity={data} />
            <Columns>
              <Settings mailer={mailer} />
              <QueueAndLimits activity={data} />
            </Columns>
            <LastReplies activity={data} />
          </>
        )}
      </Answer>
      {isSmtp && <SmtpForm isOpen={open === 'edit'} close={close} mailer={mailer as Mailer} />}
      <MailerTest mailerId={mailer.mailer_id} isOpen={open === 'test'} close={close} />
      <Pause mailer={mailer} waiting={waiting} isOpen={open === 'pause'} close={close} />
      <Delete mailer={mailer} waiting={waiting} isOpen={open === 'delete'} close={close} />
    </Page>
  )
}

function useSetActive(mailer: { readonly mailer_id: string }) {
  const text = useWords(words)
  const { tenantId, client } = useTenant()
  return useMutation({
    mutationFn: (active: boolean) =>
      client.setMailerActive({ mailer_id: mailer.mailer_id, active }),
    onSuccess: (_, active) => tellDone(active ? text.resumed : text.paused),
    onError: tellFailed('change'),
    onSettled: () => queryClient.invalidateQueries({ queryKey: [tenantId] }),
  })
}

function ActiveButton(o: { readonly mailer: Mailer | DomainMailer; readonly onPause: () => void }) {
  const text = useWords(words)
  const setActive = useSetActive(o.mailer)
  if (o.mailer.state === 'deactivated') return null
  const isPaused = o.mailer.state === 'disabled'
  return (
    <ActionButton
      variant="default"
      operation="setMailerActive"
      loading={setActive.isPending}
      onClick={() => (isPaused ? setActive.mutate(true) : o.onPause())}
    >
      {isPaused ? text.resume : text.pause}
    </ActionButton>
  )
}

interface Asked {
  readonly mailer: Mailer | DomainMailer
  readonly waiting: number
  readonly isOpen: boolean
  readonly close: () => void
}

function Pause({ mailer, waiting, isOpen, close }: Asked) {
  const text = useWords(words)
  const format = useFormat()
  const setActive = useSetActive(mailer)
  return (
    <Confirm
      title={text.pauseTitle}
      confirm={text.pause}
      isOpen={isOpen}
      close={close}
      isBusy={setActive.isPending}
      onConfirm={() => setActive.mutate(false, { onSuccess: close })}
    >
      <p>{text.pauseHelp(text.waitingRecipients(waiting, format.integer(waiting)))}</p>
    </Confirm>
  )
}

function Delete({ mailer, waiting, isOpen, close }: Asked) {
  const text = useWords(words)
  const format = useFormat()
  const { tenantId, client } = useTenant()
  const navigate = useNavigate()
  const remove = useMutation({
    mutationFn: async () => {
      if (mailer.mailer_id.startsWith('imap_')) await client.deleteIMAPConfig(mailer.mailer_id)
      else await client.deleteSMTPConfig(mailer.mailer_id)
    },
    async onSuccess() {
      tellDone(text.deleted)
      await navigate({ to: '/t/$tenantId/mailers', params: { tenantId } })
      await queryClient.invalidateQueries({ queryKey: [tenantId] })
    },
  })
  return (
    <Confirm
      title={text.deleteTitle}
      confirm={text.delete}
      nameToType={mailer.name}
      isDangerous
      isOpen={isOpen}
      close={close}
      isBusy={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate()}
    >
      <p>{text.deleteHelp(text.waitingRecipients(waiting, format.integer(waiting)))}</p>
    </Confirm>
  )
}

function Activity({ activity }: { readonly activity: MailerActivity }) {
  const text = useWords(words)
  return (
    <Card title={text.activity} note={text.day}>
      <BarChart
        label={text.activity}
        interval="hour"
        series={[
          { name: text.sent, tone: 'good' },
          { name: text.deferred, tone: 'warn' },
          { name: text.failed, tone: 'bad' },
        ]}
        bars={activity.intervals.map(({ at, sent, deferred, failed }) => ({
          at,
          values: [sent, deferred, failed],
        }))}
      />
    </Card>
  )
}

function QueueAndLimits({ activity: { queue, limits } }: { readonly activity: MailerActivity }) {
  const text = useWords(words)
  const format = useFormat()
  return (
    <Card title={text.queue}>
      <Fields
        entries={[
          [text.waiting, format.integer(queue.waiting)],
          [text.due, format.integer(queue.due)],
          [
            text.oldestDue,
            queue.oldest_due_at === null ? text.none : <Time at={queue.oldest_due_at} />,
          ],
          ...limits.rates.map(({ name, limit, used, wait_ms }) => {
            const words = text.used(
              format.integer(used),
              format.integer(limit),
              text.limitNames[name],
            )
            const wait = wait_ms > 0 ? `, ${text.waits(format.duration(wait_ms))}` : ''
            return [text.limits, words + wait] as const
          }),
          [text.connections, format.integer(limits.connections)],
        ]}
      />
    </Card>
  )
}

function Settings({ mailer }: { readonly mailer: Mailer | DomainMailer }) {
  const text = useWords(words)
  const server =
    mailer.config_type === 'domain'
      ? undefined
      : ([text.server, <code>{`${mailer.config.host}:${mailer.config.port}`}</code>] as const)
  return (
    <Card title={text.settings}>
      <Fields
        entries={[
          server,
          mailer.config_type === 'domain'
            ? [text.provider, mailer.config.relay]
            : [text.login, mailer.config.username ?? text.noLogin],
          mailer.config_type === 'domain'
            ? undefined
            : [text.encryption, text.secureModes[mailer.config.secure]],
          mailer.config_type === 'domain'
            ? undefined
            : [text.certificate, mailer.config.tls_verify ? text.verified : text.notVerified],
          [text.uncertain, text.uncertainWords[mailer.uncertain]],
          [text.bouncesTo, mailer.return_path ?? text.toSender],
          [text.created, <Time at={mailer.created_at} />],
          [text.id, <Copyable value={mailer.mailer_id} />],
        ]}
      />
    </Card>
  )
}

function LastReplies({ activity }: { readonly activity: MailerActivity }) {
  const text = useWords(words)
  return (
    <Card title={text.lastReplies} isFlush={activity.last_replies.length > 0}>
      {activity.last_replies.length === 0 ? (
        <p>{text.noReplies}</p>
      ) : (
        <DataTable
          label={text.lastReplies}
          rows={activity.last_replies}
          rowKey={({ at, failed_reason }) => `${at} ${failed_reason}`}
          columns={[
            {
              key: 'at',
              head: text.at,
              width: '150px',
              isTitle: true,
              cell: ({ at }) => <Time at={at} />,
            },
            { key: 'reason', head: text.lastFailure, cell: ({ failed_reason }) => failed_reason },
            {
              key: 'reply',
              head: text.server,
              width: 'minmax(0, 3fr)',
              cell: ({ provider_error }) => <code title={provider_error}>{provider_error}</code>,
            },
          ]}
        />
      )}
    </Card>
  )
}
