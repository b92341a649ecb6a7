/** States of webhooks and of deliveries, as icon and word. */
import type { WebhookDelivery, WebhookStatus } from '@postrider/client'
import { StateMark, stateIcons, type Tone } from '../ui/state-mark.tsx'
import { useWords } from '../words/define-words.ts'
import { words } from './words.ts'

const webhookTones: Readonly<Record<WebhookStatus['state'], Tone>> = {
  paused: 'muted',
  inactive: 'muted',
  dormant: 'bad',
  failing: 'bad',
  parked: 'warn',
  active: 'info',
  idle: 'good',
}

export function WebhookStateMark({ state }: { readonly state: WebhookStatus['state'] }) {
  const text = useWords(words)
  const icon = state === 'paused' ? stateIcons.pause : undefined
  return (
    <StateMark tone={webhookTones[state]} icon={icon}>
      {text.states[state]}
    </StateMark>
  )
}

const deliveryTones: Readonly<Record<WebhookDelivery['status'], Tone>> = {
  pending: 'info',
  retrying: 'warn',
  delivered: 'good',
  parked: 'warn',
  exhausted: 'bad',
  discarded: 'muted',
}

export function DeliveryStateMark({
  status,
  isQuiet = false,
}: {
  readonly status: WebhookDelivery['status']
  readonly isQuiet?: boolean
}) {
  const text = useWords(words)
  return (
    <StateMark tone={deliveryTones[status]} isQuiet={isQuiet}>
      {text.statuses[status]}
    </StateMark>
  )
}
