/** Registers a webhook, or changes it. */
import type { Webhook } from '@postrider/client'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { queryClient } from '../api/query-client.ts'
import { useTenant } from '../session/use-tenant.ts'
import { Checkbox, Select } from '../ui/controls.ts'
import { Dialog, DialogEnd } from '../ui/dialog.tsx'
import { RequiredInput } from '../ui/required-input.tsx'
import { tellDone } from '../ui/toast.ts'
import { useWords } from '../words/define-words.ts'
import { ExampleBody } from './example-body.tsx'
import { type Header, HeaderFields, readHeaders } from './header-fields.tsx'
import { SigningSecret, SigningSwitch } from './signing-secret.tsx'
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

function Form({ close, kinds, webhook }: FormProps) {
  const text = useWords(words)
  const { tenantId, client } = useTenant()
  const [kind, setKind] = useState<Webhook['event']>(kinds[0] ?? 'EMAIL_EVENT')
  const [url, setUrl] = useState(webhook?.url ?? '')
  const [switches, setSwitches] = useState<Switches>(webhook?.options?.events ?? firstSwitches)
  const [headers, setHeaders] = useState<readonly Header[]>([])
  const wasSigned = webhook?.signing === true
  const [isSigned, setSigned] = useState(wasSigned)
  const save = useMutation({
    async mutationFn() {
      const body = {
        event: kind,
        webhook_url: url.trim(),
        ...(headers.length > 0 && {
          headers: readHeaders(headers),
        }),
        ...(kind === 'EMAIL_EVENT' && { webhook_options: { events: switches } }),
        ...(isSigned !== wasSigned && { signing: isSigned }),
      }
      return webhook === undefined
        ? await client.registerWebhook({ ...body, method: 'POST' })
        : await client.updateWebhook(body)
    },
    async onSuccess({ signing_secret: secret }) {
      tellDone(text.saved)
      // A secret is shown once: the dialog stays until it has been copied.
      if (secret === undefined) close()
      await queryClient.invalidateQueries({ queryKey: [tenantId] })
    },
  })
  if (save.data?.signing_secret !== undefined)
    return <SigningSecret secret={save.data.signing_secret} close={close} />
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
            <div key={name} className={classes.switch}>
              <Checkbox
                label={text.eventNames[name]}
                description={subscriptions[name]}
                checked={switches[name]}
                onChange={(event) =>
                  setSwitches({ ...switches, [name]: event.currentTarget.checked })
                }
              />
              <ExampleBody event={subscriptions[name]} />
            </div>
          ))}
        </fieldset>
      )}
      <HeaderFields
        headers={headers}
        onChange={setHeaders}
        present={webhook?.headers_present ?? []}
      />
      <SigningSwitch isSigned={isSigned} set={setSigned} />
      <DialogEnd
        confirm={webhook === undefined ? text.add : text.save}
        isBusy={save.isPending}
        error={save.error}
        close={close}
      />
    </form>
  )
}
