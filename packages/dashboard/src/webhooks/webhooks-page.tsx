/** The webhooks of the tenant: whether they work, what waits for them, what they hear. */
import type { Webhook, WebhookStatus } from '@postrider/client'
import { useMutation, useQuery } from '@tanstack/react-query'
import { Link, useLocation } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import { useEffect, useState } from 'react'
import { queryClient } from '../api/query-client.ts'
import { ActionButton, SmallAction } from '../session/action-button.tsx'
import { EmptyList } from '../session/empty-list.tsx'
import { useTenant } from '../session/use-tenant.ts'
import { Answer } from '../ui/answers.tsx'
import { Copyable } from '../ui/copy.tsx'
import { Confirm } from '../ui/dialog.tsx'
import { Card, Columns, Fields, Page, Stack } from '../ui/page.tsx'
import { StateMark } from '../ui/state-mark.tsx'
import { Time } from '../ui/time.tsx'
import { tellDone, tellFailed } from '../ui/toast.ts'
import { useWords } from '../words/define-words.ts'
import { useFormat } from '../words/format.ts'
import { ExampleBody } from './example-body.tsx'
import { RotateSecret, useSignedFact } from './signing-secret.tsx'
import { webhookSnippets } from './snippets.ts'
import { WebhookStateMark } from './states.tsx'
import { subscriptionNames, subscriptions } from './subscriptions.ts'
import { retriedStates, tryNow } from './try-now.ts'
import { WebhookForm } from './webhook-form.tsx'
import { WebhookTest } from './webhook-test.tsx'
import classes from './webhooks-page.module.css'
import { words } from './words.ts'

const kinds = ['EMAIL_EVENT', 'DOMAIN_VERIFICATION'] as const

export function WebhooksPage() {
  const text = useWords(words)
  const { tenantId, client } = useTenant()
  const [isAdding, setAdding] = useState(false)
  const webhooks = useQuery({
    queryKey: [tenantId, 'webhooks'],
    queryFn: async ({ signal }) => (await client.listWebhooks({ signal })).webhooks,
    refetchInterval: 15_000,
  })
  const named = useLocation({ select: ({ hash }) => hash })
  const isThere = webhooks.data !== undefined
  useEffect(() => {
    if (isThere && named !== '') document.getElementById(named)?.focus()
  }, [isThere, named])
  const missing = kinds.filter((kind) => !webhooks.data?.some(({ event }) => event === kind))
  const add = (
    <ActionButton
      operation="registerWebhook"
      leftSection={<Plus size={15} aria-hidden />}
      onClick={() => setAdding(true)}
    >
      {text.add}
    </ActionButton>
  )
  return (
    <Page
      title={text.webhooks}
      lead={text.lead}
      actions={webhooks.data?.length !== 0 && missing.length > 0 && add}
    >
      <Answer query={webhooks}>
        {(found) =>
          found.length === 0 ? (
            <Card isFlush>
              <EmptyList title={text.noWebhooks} action={add} snippets={webhookSnippets()}>
                {text.noWebhooksHelp}
              </EmptyList>
            </Card>
          ) : (
            <Stack>
              {mailFirst(found).map((webhook) => (
                <WebhookCard key={webhook.webhook_id} webhook={webhook} />
              ))}
            </Stack>
          )
        }
      </Answer>
      {missing[0] !== undefined && (
        <WebhookForm isOpen={isAdding} close={() => setAdding(false)} kinds={missing} />
      )}
    </Page>
  )
}

function mailFirst(webhooks: readonly Webhook[]): Webhook[] {
  return webhooks.toSorted((a, b) => kinds.indexOf(a.event) - kinds.indexOf(b.event))
}

type Asked = 'edit' | 'secret' | 'test' | 'pause' | 'delete'

function WebhookCard({ webhook }: { readonly webhook: Webhook }) {
  const text = useWords(words)
  const [asked, setAsked] = useState<Asked>()
  const { data: status } = useStatus(webhook)
  const dialog = (name: Asked) => ({ isOpen: asked === name, close: () => setAsked(undefined) })
  return (
    <Card
      id={webhook.webhook_id}
      title={
        <span className={classes.title}>
          {text.kinds[webhook.event]}
          {status !== undefined && <WebhookStateMark state={status.state} />}
        </span>
      }
      note={status === undefined ? undefined : text.stateHelp[status.state]}
      actions={<Actions webhook={webhook} status={status} ask={setAsked} />}
    >
      <Columns>
        <Facts webhook={webhook} status={status} />
        <Events webhook={webhook} />
      </Columns>
      <WebhookForm {...dialog('edit')} kinds={[webhook.event]} webhook={webhook} />
      <RotateSecret {...dialog('secret')} webhookId={webhook.webhook_id} />
      <WebhookTest {...dialog('test')} webhook={webhook} />
      <PauseDialog {...dialog('pause')} webhook={webhook} />
      <DeleteDialog {...dialog('delete')} webhook={webhook} />
    </Card>
  )
}

function useStatus({ webhook_id: webhookId }: Webhook) {
  const { tenantId, client } = useTenant()
  return useQuery({
    queryKey: [tenantId, 'webhook', webhookId, 'status'],
    queryFn: async ({ signal }) => (await client.getWebhookStatus(webhookId, { signal })).status,
    refetchInterval: 5_000,
  })
}

function useRefresh() {
  const { tenantId } = useTenant()
  return () => queryClient.invalidateQueries({ queryKey: [tenantId] })
}

function Actions({
  webhook,
  status,
  ask,
}: {
  readonly webhook: Webhook
  readonly status: WebhookStatus | undefined
  readonly ask: (asked: Asked) => void
}) {
  const text = useWords(words)
  const { client } = useTenant()
  const change = { onError: tellFailed('change'), onSettled: useRefresh() }
  const resume = useMutation({
    ...change,
    mutationFn: () => client.resumeWebhook(webhook.webhook_id),
    onSuccess: () => tellDone(text.resumed),
  })
  const trial = useMutation({
    ...change,
    mutationFn: () => tryNow(client, webhook.webhook_id),
    onSuccess: (isTried) => tellDone(isTried ? text.triedNow : text.paused),
  })
  const isPaused = status?.state === 'paused'
  return (
    <>
      {status !== undefined && retriedStates.includes(status.state) && (
        <SmallAction
          operation="resumeWebhook"
          loading={trial.isPending}
          onClick={() => trial.mutate()}
        >
          {text.tryNow}
        </SmallAction>
      )}
      <SmallAction operation="sendTestEvent" onClick={() => ask('test')}>
        {text.test}
      </SmallAction>
      <SmallAction
        operation={isPaused ? 'resumeWebhook' : 'pauseWebhook'}
        loading={resume.isPending}
        onClick={() => (isPaused ? resume.mutate() : ask('pause'))}
      >
        {isPaused ? text.resume : text.pause}
      </SmallAction>
      {webhook.signing === true && (
        <SmallAction operation="rotateSigningSecret" onClick={() => ask('secret')}>
          {text.rotate}
        </SmallAction>
      )}
      <SmallAction operation="updateWebhook" onClick={() => ask('edit')}>
        {text.edit}
      </SmallAction>
      <SmallAction operation="deleteWebhook" onClick={() => ask('delete')}>
        {text.delete}
      </SmallAction>
    </>
  )
}

interface DialogProps {
  readonly webhook: Webhook
  readonly isOpen: boolean
  readonly close: () => void
}

function PauseDialog({ webhook, isOpen, close }: DialogProps) {
  const text = useWords(words)
  const { client } = useTenant()
  const pause = useMutation({
    mutationFn: () => client.pauseWebhook(webhook.webhook_id),
    onSuccess: () => tellDone(text.paused),
    onError: tellFailed('change'),
    onSettled: useRefresh(),
  })
  return (
    <Confirm
      title={text.pauseTitle}
      confirm={text.pause}
      isOpen={isOpen}
      close={close}
      isBusy={pause.isPending}
      onConfirm={() => pause.mutate(undefined, { onSuccess: close })}
    >
      <p>{text.pauseHelp}</p>
    </Confirm>
  )
}

function DeleteDialog({ webhook, isOpen, close }: DialogProps) {
  const text = useWords(words)
  const { client } = useTenant()
  const remove = useMutation({
    mutationFn: () => client.deleteWebhook({ event: webhook.event }),
    onSuccess() {
      tellDone(text.deleted)
      close()
    },
    onSettled: useRefresh(),
  })
  return (
    <Confirm
      title={text.deleteTitle}
      confirm={text.delete}
      nameToType={webhook.event}
      isDangerous
      isOpen={isOpen}
      close={close}
      isBusy={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate()}
    >
      <p>{text.deleteHelp}</p>
    </Confirm>
  )
}

function Facts({
  webhook,
  status,
}: {
  readonly webhook: Webhook
  readonly status: WebhookStatus | undefined
}) {
  const text = useWords(words)
  const format = useFormat()
  const { tenantId } = useTenant()
  const signed = useSignedFact(webhook.signing)
  const backlog = status?.backlog ?? 0
  const duration = (ms: number | null | undefined) =>
    ms === null || ms === undefined ? '–' : format.duration(ms)
  return (
    <Fields
      entries={[
        [text.url, <Copyable value={webhook.url} />],
        [
          text.waiting,
          <>
            {backlog === 0 ? (
              '0'
            ) : (
              <Link
                to="/t/$tenantId/deliveries"
                params={{ tenantId }}
                search={{ webhook_id: webhook.webhook_id, status: 'open' }}
              >
                {text.undelivered(format.integer(backlog))}
              </Link>
            )}{' '}
            <Link
              to="/t/$tenantId/deliveries"
              params={{ tenantId }}
              search={{ webhook_id: webhook.webhook_id }}
            >
              {text.showDeliveries}
            </Link>
          </>,
        ],
        status?.oldest_pending_at
          ? [text.since, <Time at={status.oldest_pending_at} />]
          : undefined,
        status?.next_attempt_at ? [text.nextTry, <Time at={status.next_attempt_at} />] : undefined,
        [text.typical, `${duration(status?.p50_ms)} ${text.lastHour}`],
        [text.slowest, duration(status?.p95_ms)],
        [text.lastOk, <Time at={status?.last_ok_at} />],
        [
          text.headers,
          webhook.headers_present.length === 0
            ? text.noHeaders
            : webhook.headers_present.join(', '),
        ],
        signed,
        [text.id, <Copyable value={webhook.webhook_id} />],
      ]}
    />
  )
}

function Events({ webhook }: { readonly webhook: Webhook }) {
  const text = useWords(words)
  const on = webhook.options?.events
  if (on === undefined) return null
  return (
    <div>
      <h3 className={classes.heading}>{text.events}</h3>
      <ul className={classes.events}>
        {subscriptionNames.map((name) => (
          <li key={name}>
            <StateMark tone={on[name] ? 'good' : 'muted'} isQuiet>
              {text.eventNames[name]}
            </StateMark>
            <span className={classes.name}>
              <code>{subscriptions[name]}</code>
              <ExampleBody event={subscriptions[name]} />
            </span>
          </li>
        ))}
      </ul>
    </div>
  )
}
