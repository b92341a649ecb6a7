/** A mail from a mailer to oneself, which then is looked at. */
import type { SendEmailInput } from '@postrider/client'
import { useMutation } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useSession } from '../session/session.ts'
import { useTenant } from '../session/use-tenant.ts'
import { Checkbox, Select } from '../ui/controls.ts'
import { Dialog, DialogEnd } from '../ui/dialog.tsx'
import { RequiredInput } from '../ui/required-input.tsx'
import { useWords } from '../words/define-words.ts'
import classes from './emails.module.css'
import { type Mailers, senderOf } from './use-mailers.ts'
import { words } from './words.ts'

/** What a mail says: itself, or by a template. */
export type Wording<Input = SendEmailInput> = Input extends SendEmailInput
  ? Pick<Input, 'subject' | 'content' | 'template_id' | 'template_version' | 'template_data'>
  : never

export function TestMail({
  isOpen,
  close,
  mailers,
  mail,
}: {
  readonly isOpen: boolean
  readonly close: () => void
  readonly mailers: Mailers
  /** What it says; a sentence of its own, unless given. */
  readonly mail?: Wording
}) {
  const text = useWords(words)
  const { client, tenantId } = useTenant()
  const { user } = useSession()
  const navigate = useNavigate()
  const [chosen, setChosen] = useState('')
  const [to, setTo] = useState(user.email)
  const [isTracked, setTracked] = useState(false)
  const mailer = mailers.sending.find((one) => one.mailer_id === chosen) ?? mailers.sending[0]
  const send = useMutation({
    mutationFn: async () => {
      if (mailer === undefined) throw new Error(text.noMailers)
      return await client.sendEmail({
        mailer_id: mailer.mailer_id,
        from: { email: senderOf(mailer) },
        to: [{ email: to.trim() }],
        ...(mail ?? {
          subject: text.testSubject,
          content: [{ type: 'text/plain', value: text.testText(mailer.name) }],
        }),
        settings: { open_tracking: isTracked, click_tracking: isTracked },
      })
    },
    onSuccess: async ({ ref_id }) => {
      close()
      await navigate({ to: '/t/$tenantId/emails/$refId', params: { tenantId, refId: ref_id } })
    },
  })
  return (
    <Dialog title={text.testTitle} isOpen={isOpen} close={close}>
      <form
        className={classes.form}
        onSubmit={(event) => {
          event.preventDefault()
          send.mutate()
        }}
      >
        <p>{text.testHelp}</p>
        <Select
          label={text.testFrom}
          data={mailers.sending.map((one) => ({
            value: one.mailer_id,
            label: `${one.name} (${senderOf(one)})`,
          }))}
          value={mailer?.mailer_id ?? null}
          onChange={(value) => setChosen(value ?? '')}
        />
        <RequiredInput label={text.testTo} type="email" value={to} data-autofocus set={setTo} />
        <Checkbox
          label={text.testTrack}
          checked={isTracked}
          onChange={(event) => setTracked(event.currentTarget.checked)}
        />
        {mailers.all !== undefined && mailer === undefined && <p>{text.noMailers}</p>}
        <DialogEnd
          confirm={text.send}
          isBusy={send.isPending}
          isDisabled={mailer === undefined}
          error={send.error}
          failed="send"
          close={close}
        />
      </form>
    </Dialog>
  )
}
