/** Registers a webhook, or changes it. */
import type { Webhook } from '@postrider/client'
import { useMutation } from '@tanstack/react-query'
import { Plus, X } from 'lucide-react'
import { useState } from 'react'
import { queryClient } from '../api/query-client.ts'
import { useTenant } from '../session/use-tenant.ts'
import { ActionIcon, Button, Checkbox, Select, TextInput } from '../ui/controls.ts'
import { Dialog, DialogEnd } from '../ui/dialog.tsx'
import { RequiredInput } from '../ui/required-input.tsx'
import { tellDone } from '../ui/toast.ts'
import { useWords } from '../words/define-words.ts'
import { firstSwitches, type Switches, subscriptionNames, subscriptions } from './subscriptions.ts'
import classes from './webhook-form.module.css'
import { words } from './words.ts'

interface FormProps {
  readonly close: () => void
  readonly kinds: readonly Webhook['event'][]
  /** What is changed; without it one is registered. */
  readonly webhook?: Webhook
}

export function WebhookForm(o: FormProps & { readonly isOpen: boolean }) {
  const text = useWords(words)
  return (
    <Dialog
      title={o.webhook === undefined ? text.add : text.edit}
      isOpen={o.isOpen}
      close={o.close}
      size="lg"
    >
      <Form {...o} />
    </Dialog>
  )
}

interface Header {
  readonly name: string
  readonly value: string
}

function Form({ close, kinds, webhook }: FormProps) {
  const text = useWords(words)
  const { tenantId, client } = useTenant()
  const [kind, setKind] = useState<Webhook['event']>(kinds[0] ?? 'EMAIL_EVENT')
  const [url, setUrl] = useState(webhook?.url ?? '')
  const [switches, setSwitches] = useState<Switches>(webhook?.options?.events ?? firstSwitches)
  const [headers, setHeaders] = useState<readonly Header[]>([])
  const save = useMutation({
    async mutationFn() {
      const body = {
        event: kind,
        webhook_url: url.trim(),
        ...(headers.length > 0 && {
          headers: Object.fromEntries(headers.map(({ name, value }) => [name.trim(), value])),
        }),
        ...(kind === 'EMAIL_EVENT' && { webhook_options: { events: switches } }),
      }
      if (webhook === undefined) await client.registerWebhook({ ...body, method: 'POST' })
      else await client.updateWebhook(body)
    },
    async onSuccess() {
      tellDone(text.saved)
      close()
      await queryClient.invalidateQueries({ queryKey: [tenantId] })
    },
  })
  const change = (at: number, part: Partial<Header>) =>
    setHeaders(headers.map((header, index) => (index === at ? { ...header, ...part } : header)))
  return (
    <form
      className={classes.form}
      onSubmit={(event) => {
        event.preventDefault()
        save.mutate()
      }}
    >
      {kinds.length > 1 && (
        <Select
          label={text.kind}
          data={kinds.map((value) => ({ value, label: text.kinds[value] }))}
          value={kind}
          onChange={(value) => setKind((value ?? 'EMAIL_EVENT') as Webhook['event'])}
        />
      )}
      <RequiredInput
        label={text.url}
        description={text.urlHelp}
        placeholder="https://hooks.example.com/postrider"
        data-autofocus
        value={url}
        set={setUrl}
      />
      {kind === 'EMAIL_EVENT' && (
        <fieldset className={classes.switches}>
          <legend>{text.events}</legend>
          {subscriptionNames.map((name) => (
            <Checkbox
              key={name}
              label={text.eventNames[name]}
              description={subscriptions[name]}
              checked={switches[name]}
              onChange={(event) =>
                setSwitches({ ...switches, [name]: event.currentTarget.checked })
              }
            />
          ))}
        </fieldset>
      )}
      <fieldset className={classes.headers}>
        <legend>{text.headers}</legend>
        {webhook !== undefined && webhook.headers_present.length > 0 && (
          <p>{text.keepHeaders(webhook.headers_present.join(', '))}</p>
        )}
        {headers.map(({ name, value }, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a line is its place
          <div key={at} className={classes.header}>
            <TextInput
              aria-label={text.headerName}
              placeholder="X-Webhook-Secret"
              required
              value={name}
              onChange={(event) => change(at, { name: event.currentTarget.value })}
            />
            <TextInput
              aria-label={text.headerValue}
              required
              value={value}
              onChange={(event) => change(at, { value: event.currentTarget.value })}
            />
            <ActionIcon
              variant="subtle"
              color="gray"
              aria-label={text.removeHeader}
              onClick={() => setHeaders(headers.filter((_, index) => index !== at))}
            >
              <X size={14} aria-hidden />
            </ActionIcon>
          </div>
        ))}
        <Button
          variant="default"
          size="xs"
          leftSection={<Plus size={14} aria-hidden />}
          onClick={() => setHeaders([...headers, { name: '', value: '' }])}
        >
          {text.addHeader}
        </Button>
      </fieldset>
      <DialogEnd
        confirm={webhook === undefined ? text.add : text.save}
        isBusy={save.isPending}
        error={save.error}
        close={close}
      />
    </form>
  )
}
