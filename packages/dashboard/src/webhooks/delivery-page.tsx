/** One request to a webhook: what was sent, each attempt, each answer. */
import type { WebhookAttempt, WebhookDeliveryDetail } from '@postrider/client'
import { useMutation, useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { queryClient } from '../api/query-client.ts'
import { ActionButton } from '../session/action-button.tsx'
import { useTenant } from '../session/use-tenant.ts'
import { Answer } from '../ui/answers.tsx'
import { CodeBlock, Copyable } from '../ui/copy.tsx'
import { DataTable } from '../ui/data-table.tsx'
import { Card, Columns, Fields, Page } from '../ui/page.tsx'
import { StateMark } from '../ui/state-mark.tsx'
import { Time } from '../ui/time.tsx'
import { tellDone, tellFailed } from '../ui/toast.ts'
import { useWords } from '../words/define-words.ts'
import { useFormat } from '../words/format.ts'
import classes from './delivery-page.module.css'
import { prettyJson } from './pretty-json.ts'
import { DeliveryStateMark } from './states.tsx'
import { words } from './words.ts'

export function DeliveryPage() {
  const { tenantId, client } = useTenant()
  const { deliveryId } = useParams({ from: '/shell/t/$tenantId/deliveries/$deliveryId' })
  const delivery = useQuery({
    queryKey: [tenantId, 'delivery', deliveryId],
    queryFn: async ({ signal }) =>
      (await client.getWebhookDelivery(deliveryId, { signal })).delivery,
    refetchInterval: ({ state }) => (state.data?.finished_at ? false : 5_000),
  })
  return <Answer query={delivery}>{(found) => <Found delivery={found} />}</Answer>
}

function Found({ delivery }: { readonly delivery: WebhookDeliveryDetail }) {
  const text = useWords(words)
  const format = useFormat()
  const { tenantId, client } = useTenant()
  const again = useMutation({
    mutationFn: async () => (await client.redeliver(delivery.delivery_id)).replayed,
    onSuccess: (replayed) =>
      tellDone(text.redelivered(text.eventsCount(replayed, format.integer(replayed)))),
    onError: tellFailed('send'),
    onSettled: () => queryClient.invalidateQueries({ queryKey: [tenantId] }),
  })
  return (
    <Page
      title={text.delivery}
      heading={
        <>
          {text.delivery} <DeliveryStateMark status={delivery.status} />
        </>
      }
      trail={
        <Link to="/t/$tenantId/deliveries" params={{ tenantId }}>
          {text.deliveries}
        </Link>
      }
      actions={
        <ActionButton
          variant="default"
          operation="redeliver"
          loading={again.isPending}
          onClick={() => again.mutate()}
        >
          {text.redeliver}
        </ActionButton>
      }
    >
      <Columns>
        <Card title={text.delivery}>
          <Fields
            entries={[
              [text.id, <Copyable value={delivery.delivery_id} />],
              delivery.webhook_url === null
                ? undefined
                : [text.receiver, <Copyable value={delivery.webhook_url} />],
              [text.made, <Time at={delivery.created_at} isExact />],
              delivery.finished_at === null
                ? undefined
                : [text.finished, <Time at={delivery.finished_at} isExact />],
              delivery.next_attempt_at === null
                ? undefined
                : [text.attempts, <Time at={delivery.next_attempt_at} />],
              delivery.divided_into === undefined
                ? undefined
                : [
                    text.dividedInto,
                    delivery.divided_into.map((id) => (
                      <div key={id}>
                        <Link
                          to="/t/$tenantId/deliveries/$deliveryId"
                          params={{ tenantId, deliveryId: id }}
                        >
                          <code>{id}</code>
                        </Link>
                      </div>
                    )),
                  ],
            ]}
          />
        </Card>
        <Card title={text.events} isFlush>
          <DataTable
            label={text.events}
            rows={delivery.events}
            rowKey={({ event_id }) => event_id}
            columns={[
              { key: 'event', head: text.event, isTitle: true, cell: ({ event }) => event ?? '–' },
              {
                key: 'ref',
                head: text.refId,
                width: 'minmax(0, 1.4fr)',
                cell: ({ ref_id }) => (ref_id === null ? '–' : <Copyable value={ref_id} />),
              },
              {
                key: 'at',
                head: text.made,
                width: '130px',
                cell: ({ event_at }) => <Time at={event_at} />,
              },
            ]}
          />
        </Card>
      </Columns>
      <Attempts attempts={delivery.attempts} />
      <Request request={delivery.request} />
    </Page>
  )
}

function Attempts({ attempts }: { readonly attempts: readonly WebhookAttempt[] }) {
  const text = useWords(words)
  const format = useFormat()
  const longest = Math.max(1, ...attempts.map(({ duration_ms }) => duration_ms))
  if (attempts.length === 0) return null
  return (
    <Card title={text.attempts}>
      <ol className={classes.attempts}>
        {attempts.map((attempt, at) => {
          const { status, duration_ms, error, response, timings } = attempt
          const isOk = status !== null && status >= 200 && status < 300
          const parts = (['dns_ms', 'connect_ms', 'tls_ms', 'first_byte_ms'] as const).flatMap(
            (name) =>
              timings?.[name] === undefined
                ? []
                : `${text.timings[name]} ${format.duration(timings[name])}`,
          )
          return (
            <li key={attempt.at}>
              <div className={classes.line}>
                <strong>{text.attempt(at + 1)}</strong>
                <StateMark tone={isOk ? 'good' : 'bad'}>{status ?? text.noAnswer}</StateMark>
                <span className={classes.when}>
                  <Time at={attempt.at} />
                </span>
                <span className={classes.duration} title={parts.join(', ')}>
                  {format.duration(duration_ms)}
                </span>
              </div>
              <svg
                className={classes.bar}
                viewBox="0 0 100 1"
                preserveAspectRatio="none"
                aria-hidden="true"
              >
                <rect width={(duration_ms / longest) * 100} height="1" data-ok={isOk} />
              </svg>
              {error !== null && <CodeBlock code={error} label={text.answer} />}
              {response !== null && response !== '' && (
                <CodeBlock code={response} label={text.answer} />
              )}
            </li>
          )
        })}
      </ol>
    </Card>
  )
}

function Request({ request }: { readonly request: WebhookDeliveryDetail['request'] }) {
  const text = useWords(words)
  return (
    <Card title={text.request} note={request.headers.join(', ')}>
      {request.body === null ? (
        <p>{request.body_hidden ? text.bodyHidden : text.bodyGone}</p>
      ) : (
        <>
          {request.body_truncated && <p>{text.bodyTruncated}</p>}
          <CodeBlock code={prettyJson(request.body)} label={text.body} />
        </>
      )}
    </Card>
  )
}
