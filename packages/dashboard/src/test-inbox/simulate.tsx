/** What the recipient of a test mail does, at the press of a button, and the events that come of it. */
import type { EmailLog } from '@postrider/client'
import { useMutation, useQuery } from '@tanstack/react-query'
import { Flag, type LucideIcon, MailOpen, MousePointerClick, Undo2 } from 'lucide-react'
import { useState } from 'react'
import { queryClient } from '../api/query-client.ts'
import { textOf } from '../events/event-list.ts'
import { EventMark } from '../events/event-mark.tsx'
import { SmallAction } from '../session/action-button.tsx'
import { useTenant } from '../session/use-tenant.ts'
import { Time } from '../ui/time.tsx'
import { tellDone, tellFailed } from '../ui/toast.ts'
import { useWords } from '../words/define-words.ts'
import { askAgainIn, isDelivered, type SimulatedEvent, simulatedEvents } from './simulated.ts'
import classes from './test-inbox.module.css'
import { words } from './words.ts'

type Mail = Pick<EmailLog, 'ref_id' | 'email' | 'status'>

const icons: Readonly<Record<SimulatedEvent, LucideIcon>> = {
  open: MailOpen,
  click: MousePointerClick,
  bounce: Undo2,
  complaint: Flag,
}

/** Of an event, that are shown. */
const shownMax = 4

/** `onPressed`: the service has done it. */
export function Simulate({
  mail: { ref_id: refId, email, status },
  onPressed,
}: {
  readonly mail: Mail
  readonly onPressed?: () => void
}) {
  const text = useWords(words)
  const { tenantId, client } = useTenant()
  const simulate = useMutation({
    mutationFn: (event: SimulatedEvent) => client.simulateEvent(refId, { event, recipient: email }),
    onSuccess(_, event) {
      tellDone(text.done[event])
      onPressed?.()
    },
    onError: tellFailed('change'),
    onSettled: () =>
      Promise.all(
        [
          [tenantId, 'test-inbox'],
          [tenantId, 'email', refId],
        ].map((queryKey) => queryClient.invalidateQueries({ queryKey })),
      ),
  })
  return (
    <div className={classes.acts}>
      {simulatedEvents.map((event) => {
        const Icon = icons[event]
        return (
          <SmallAction
            key={event}
            operation="simulateEvent"
            size="compact-xs"
            h={26}
            aria-label={text.eventOf(text.events[event], email)}
            reason={isDelivered(status) ? undefined : text.notDelivered}
            leftSection={<Icon size={13} aria-hidden />}
            loading={simulate.isPending && simulate.variables === event}
            onClick={() => simulate.mutate(event)}
          >
            {text.events[event]}
          </SmallAction>
        )
      })}
    </div>
  )
}

/** Newest first. They are asked for while something may still come of what was pressed. */
export function Outcome({
  mail: { ref_id: refId, email },
  pressedAtMs,
}: {
  readonly mail: Mail
  readonly pressedAtMs: number
}) {
  const { tenantId, client } = useTenant()
  const { data } = useQuery({
    queryKey: [tenantId, 'email', refId, 'events', email],
    queryFn: async ({ signal }) =>
      (await client.listEvents({ ref_id: refId, email, pageSize: shownMax }, { signal })).events,
    refetchInterval: () => askAgainIn(pressedAtMs, Date.now()),
  })
  return (
    <div className={classes.events} role="status">
      <ul>
        {data?.map((event) => (
          <li key={event.event_id}>
            <EventMark event={event} />
            <Time at={textOf(event, 'event_at') || null} />
          </li>
        ))}
      </ul>
    </div>
  )
}

/** Of each mail of a list, when a button was pressed last. */
export function usePresses() {
  const [presses, setPresses] = useState<ReadonlyMap<string, number>>(new Map())
  return {
    ofMail: (mail: Mail) => presses.get(keyOf(mail)),
    note: (mail: Mail) => setPresses((before) => new Map(before).set(keyOf(mail), Date.now())),
  }
}

export function keyOf({ ref_id: refId, email }: Mail): string {
  return `${refId} ${email}`
}
