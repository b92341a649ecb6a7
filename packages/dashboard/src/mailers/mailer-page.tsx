/** One mailer: whether it works, what it did, what it waits for, and how to repair it. */
import type { DomainMailer, Mailer, MailerActivity } from '@postrider/client'
import { useMutation, useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { queryClient } from '../api/query-client.ts'
import { ImapForm } from '../mailboxes/imap-form.tsx'
import { MailboxBanner, MailboxCard } from '../mailboxes/mailbox-card.tsx'
import { LogInAgain } from '../oauth/log-in-again.tsx'
import { ActionButton } from '../session/action-button.tsx'
import { useTenant } from '../session/use-tenant.ts'
import { Answer } from '../ui/answers.tsx'
import { BarChart } from '../ui/bar-chart.tsx'
import { Copyable } from '../ui/copy.tsx'
import { DataTable } from '../ui/data-table.tsx'
import { Confirm } from '../ui/dialog.tsx'
import { Card, Columns, Fields, Page } from '../ui/page.tsx'
import { Time } from '../ui/time.tsx'
import { tellDone, tellFailed } from '../ui/toast.ts'
import { useWords } from '../words/define-words.ts'
import { useFormat } from '../words/format.ts'
import { LimitsCard } from './limits-card.tsx'
import { isReading, isReadOnly } from './mailer-kind.ts'
import { MailerStateMark } from './mailer-state.tsx'
import { MailerTest } from './mailer-test.tsx'
import { readMailer } from './read-mailer.ts'
import { RepairBanner } from './repair-banner.tsx'
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
  const isSending = !isReadOnly(mailer)
  const activity = useActivity(mailer.mailer_id, isSending)
  const [open, setOpen] = useState<Open>()
  const close = () => setOpen(undefined)
  const isOAuth = mailer.connection_type === 'oauth'
  const waiting = activity.data?.queue.waiting ?? 0
  const address = mailer.config_type === 'domain' ? mailer.config.domain : mailer.email
  const update = isSending ? 'updateSMTP' : 'updateIMAP'
  const actions = (
    <>
      <ActionButton variant="default" operation="testMailer" onClick={() => setOpen('test')}>
        {text.test}
      </ActionButton>
      {isOAuth && mailer.state !== 'deactivated' && <LogInAgain mailer={mailer} />}
      {mailer.config_type !== 'domain' && (
        <ActionButton variant="default" operation={update} onClick={() => setOpen('edit')}>
          {text.edit}
        </ActionButton>
      )}
      <ActiveButton mailer={mailer} onPause={() => setOpen('pause')} />
      {mailer.config_type !== 'domain' && (
        <ActionButton
          variant="default"
          operation={isSending ? 'deleteSMTPConfig' : 'deleteIMAPConfig'}
          onClick={() => setOpen('delete')}
        >
          {text.delete}
        </ActionButton>
      )}
    </>
  )
  const remedy = isOAuth ? (
    <LogInAgain mailer={mailer} isMain />
  ) : (
    <ActionButton size="xs" operation={update} onClick={() => setOpen('edit')}>
      {text.repair}
    </ActionButton>
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
      <RepairBanner mailer={mailer} remedy={remedy} />
      {isReading(mailer) && <MailboxBanner mailbox={mailer.mailbox} />}
      {isSending ? (
        <Answer query={activity}>
          {(data) => (
            <>
              <Activity activity={data} />
              <Columns>
                <Settings mailer={mailer} />
                <LimitsCard mailer={mailer} activity={data} />
                {isReading(mailer) && <MailboxCard mailer={mailer} />}
              </Columns>
              <LastReplies activity={data} />
            </>
          )}
        </Answer>
      ) : (
        <Columns>
          {isReading(mailer) && <MailboxCard mailer={mailer} />}
          <Settings mailer={mailer} />
        </Columns>
      )}
      {mailer.config_type !== 'domain' &&
        (isSending ? (
          <SmtpForm isOpen={open === 'edit'} close={close} mailer={mailer} />
        ) : (
          <ImapForm isOpen={open === 'edit'} close={close} mailer={mailer} />
        ))}
      <MailerTest mailer={mailer} isOpen={open === 'test'} close={close} />
      <Pause mailer={mailer} waiting={waiting} isOpen={open === 'pause'} close={close} />
      <Delete mailer={mailer} waiting={waiting} isOpen={open === 'delete'} close={close} />
    </Page>
  )
}

function useSetActive(mailer: Mailer | DomainMailer) {
  const text = useWords(words)
  const what = isReadOnly(mailer) ? text.reading : text.sending
  const { tenantId, client } = useTenant()
  return useMutation({
    mutationFn: (active: boolean) =>
      client.setMailerActive({ mailer_id: mailer.mailer_id, active }),
    onSuccess: (_, active) => tellDone(active ? what.resumed : what.paused),
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
      <p>
        {isReadOnly(mailer)
          ? text.reading.pausedHelp
          : text.pauseHelp(text.waitingRecipients(waiting, format.integer(waiting)))}
      </p>
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
      <p>
        {isReadOnly(mailer)
          ? text.reading.deleteHelp
          : text.deleteHelp(text.waitingRecipients(waiting, format.integer(waiting)))}
      </p>
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

function Settings({ mailer }: { readonly mailer: Mailer | DomainMailer }) {
  const text = useWords(words)
  const { tenantId } = useTenant()
  const sending = [
    [text.uncertain, text.uncertainWords[mailer.uncertain]],
    [text.bouncesTo, mailer.return_path ?? text.toSender],
  ] as const
  return (
    <Card title={text.settings}>
      <Fields
        entries={[
          ...(mailer.config_type === 'domain'
            ? ([[text.provider, mailer.config.relay]] as const)
            : ([
                [text.server, <code>{`${mailer.config.host}:${mailer.config.port}`}</code>],
                [text.login, mailer.config.username ?? text.noLogin],
                [text.encryption, text.secureModes[mailer.config.secure]],
                [text.certificate, mailer.config.tls_verify ? text.verified : text.notVerified],
              ] as const)),
          mailer.connection_type === 'oauth'
            ? [
                text.oauthApp,
                <Link to="/t/$tenantId/mailers/oauth-apps" params={{ tenantId }}>
                  {mailer.config.app_id}
                </Link>,
              ]
            : undefined,
          ...(isReadOnly(mailer) ? [] : sending),
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
