/** Sends a test event, and shows what was sent and what the receiver answered. */
import type { EventName, TestDelivery, Webhook } from '@postrider/client'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { useTenant } from '../session/use-tenant.ts'
import { Select } from '../ui/controls.ts'
import { CodeBlock } from '../ui/copy.tsx'
import { Dialog, DialogEnd } from '../ui/dialog.tsx'
import { StateMark } from '../ui/state-mark.tsx'
import { useWords } from '../words/define-words.ts'
import { useFormat } from '../words/format.ts'
import { prettyJson } from './pretty-json.ts'
import { subscriptionNames, subscriptions } from './subscriptions.ts'
import classes from './webhook-form.module.css'
import { words } from './words.ts'

interface TestProps {
  readonly webhook: Webhook
  readonly close: () => void
}

export function WebhookTest(o: TestProps & { readonly isOpen: boolean }) {
  const text = useWords(words)
  return (
    <Dialog title={text.testTitle} isOpen={o.isOpen} close={o.close} size="lg">
      <Form {...o} />
    </Dialog>
  )
}

function Form({ webhook, close }: TestProps) {
  const text = useWords(words)
  const { client } = useTenant()
  const names: readonly EventName[] =
    webhook.event === 'DOMAIN_VERIFICATION'
      ? ['DOMAIN_VERIFICATION']
      : subscriptionNames
          .filter((name) => webhook.options?.events[name] === true && name !== 'imap_error')
          .map((name) => subscriptions[name])
  const [event, setEvent] = useState<EventName>(names[0] ?? 'MAIL_DELIVERED')
  const test = useMutation({
    mutationFn: async () =>
      (await client.sendTestEvent({ webhook_id: webhook.webhook_id, event })).test,
  })
  return (
    <form
      className={classes.form}
      onSubmit={(submitted) => {
        submitted.preventDefault()
        test.mutate()
      }}
    >
      <p>{text.testHelp}</p>
      <Select
        label={text.testEvent}
        data={[...names]}
        value={event}
        onChange={(value) => setEvent((value ?? event) as EventName)}
      />
      {test.data !== undefined && <Result test={test.data} />}
      <DialogEnd
        confirm={text.send}
        isBusy={test.isPending}
        error={test.error}
        failed="send"
        close={close}
      />
    </form>
  )
}

function Result({ test }: { readonly test: TestDelivery }) {
  const text = useWords(words)
  const format = useFormat()
  return (
    <div className={classes.form} aria-live="polite">
      <p>
        <StateMark tone={test.accepted ? 'good' : 'bad'}>
          {test.accepted ? text.accepted : text.notAccepted}
        </StateMark>{' '}
        {test.status ?? text.noAnswer} · {format.duration(test.duration_ms)}
      </p>
      {test.error !== null && <CodeBlock code={test.error} label={text.answer} />}
      {test.response !== null && test.response !== '' && (
        <CodeBlock code={test.response} label={text.answer} />
      )}
      <h3>{text.request}</h3>
      <CodeBlock code={prettyJson(test.request.body)} label={text.request} />
    </div>
  )
}
