/** The columns of a list of deliveries. */
import type { WebhookDelivery } from '@postrider/client'
import { hostOf } from '../email/use-webhooks.ts'
import type { Column } from '../ui/data-table.tsx'
import { Time } from '../ui/time.tsx'
import { useWords } from '../words/define-words.ts'
import { useFormat } from '../words/format.ts'
import { DeliveryStateMark } from './states.tsx'
import { words } from './words.ts'

export function useDeliveryColumns(): readonly Column<WebhookDelivery>[] {
  const text = useWords(words)
  const format = useFormat()
  return [
    {
      key: 'events',
      head: text.content,
      width: 'minmax(0, 1.6fr)',
      isTitle: true,
      cell: ({ events: [first, ...more] }) => (
        <>
          {first?.event ?? '–'} {more.length > 0 && text.moreEvents(more.length)}
        </>
      ),
    },
    {
      key: 'receiver',
      head: text.receiver,
      width: 'minmax(0, 1.3fr)',
      cell: ({ webhook_url, webhook_id }) => (
        <span title={webhook_url ?? webhook_id}>{hostOf(webhook_url) ?? webhook_id}</span>
      ),
    },
    {
      key: 'status',
      head: text.status,
      width: '170px',
      cell: ({ status }) => <DeliveryStateMark status={status} isQuiet={status === 'delivered'} />,
    },
    {
      key: 'answer',
      head: text.lastAnswer,
      cell: ({ attempts }) => {
        const last = attempts.at(-1)
        if (last === undefined) return '–'
        return `${last.status ?? last.error ?? text.noAnswer} · ${format.duration(last.duration_ms)}`
      },
    },
    {
      key: 'attempts',
      head: text.attempts,
      width: '90px',
      align: 'end',
      cell: ({ attempts }) => format.integer(attempts.length),
    },
    {
      key: 'made',
      head: text.made,
      width: '132px',
      align: 'end',
      cell: ({ created_at }) => <Time at={created_at} />,
    },
  ]
}
