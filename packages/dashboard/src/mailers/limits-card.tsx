/** What waits for a mailer, what its limits let through, and their change. */
import type { DomainMailer, Mailer, MailerActivity } from '@postrider/client'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { queryClient } from '../api/query-client.ts'
import { ActionButton } from '../session/action-button.tsx'
import { useTenant } from '../session/use-tenant.ts'
import { TextInput } from '../ui/controls.ts'
import { Dialog, DialogEnd, DialogForm } from '../ui/dialog.tsx'
import { fieldErrors } from '../ui/field-errors.ts'
import { Card, Fields } from '../ui/page.tsx'
import { Time } from '../ui/time.tsx'
import { tellDone } from '../ui/toast.ts'
import { useWords } from '../words/define-words.ts'
import { useFormat } from '../words/format.ts'
import { type LimitName, limitNames, readLimits, type TypedLimits } from './limits.ts'
import { useTellRate } from './use-tell-rate.ts'
import { words } from './words.ts'

export function LimitsCard(o: {
  readonly mailer: Mailer | DomainMailer
  readonly activity: MailerActivity
}) {
  const text = useWords(words)
  const format = useFormat()
  const tell = useTellRate()
  const [isOpen, setOpen] = useState(false)
  const { queue, limits } = o.activity
  const isDomain = o.mailer.config_type === 'domain'
  return (
    <Card
      title={text.queue}
      actions={
        <ActionButton
          size="xs"
          variant="default"
          operation={isDomain ? 'updateDomain' : 'updateSMTP'}
          onClick={() => setOpen(true)}
        >
          {text.changeLimits}
        </ActionButton>
      }
    >
      <Fields
        entries={[
          [text.waiting, format.integer(queue.waiting)],
          [text.due, format.integer(queue.due)],
          [
            text.oldestDue,
            queue.oldest_due_at === null ? text.none : <Time at={queue.oldest_due_at} />,
          ],
          ...limits.rates.map((rate) => [text.limits, tell(rate)] as const),
          [text.connections, format.integer(limits.connections)],
        ]}
      />
      <Dialog title={text.changeLimits} isOpen={isOpen} close={() => setOpen(false)}>
        <Form mailer={o.mailer} close={() => setOpen(false)} />
      </Dialog>
    </Card>
  )
}

function Form({
  mailer,
  close,
}: {
  readonly mailer: Mailer | DomainMailer
  readonly close: () => void
}) {
  const text = useWords(words)
  const format = useFormat()
  const { tenantId, client } = useTenant()
  const names = limitNames.filter(
    (name) => name !== 'messages_per_connection' || mailer.config_type !== 'domain',
  )
  const own: Partial<Record<LimitName, number>> = mailer.limits
  const effective: Partial<Record<LimitName, number>> = mailer.effective_limits
  const [typed, setTyped] = useState<TypedLimits>(
    Object.fromEntries(names.map((name) => [name, own[name]?.toString() ?? ''])),
  )
  const limits = readLimits(typed)
  const save = useMutation({
    async mutationFn() {
      if (mailer.config_type === 'domain')
        await client.updateDomain(mailer.config.domain, { limits: limits ?? {} })
      else await client.updateSMTP({ mailer_id: mailer.mailer_id, limits: limits ?? {} })
    },
    async onSuccess() {
      tellDone(text.saved)
      close()
      await queryClient.invalidateQueries({ queryKey: [tenantId] })
    },
  })
  const errors = fieldErrors(
    save.error,
    names.map((name) => `/limits/${name}`),
  )
  /** What holds where nothing is given: known of the provider, or the default of the service. */
  const placeholderOf = (name: LimitName) => {
    if (own[name] !== undefined) return text.asUsual
    const value = effective[name]
    return value === undefined ? text.noLimit : text.now(format.integer(value))
  }
  return (
    <DialogForm submit={() => save.mutate()}>
      <p>{text.limitsHelp}</p>
      {names.map((name, at) => (
        <TextInput
          key={name}
          label={text.limitLabels[name]}
          placeholder={placeholderOf(name)}
          inputMode="numeric"
          pattern="[0-9]*"
          autoComplete="off"
          data-autofocus={at === 0 || undefined}
          value={typed[name] ?? ''}
          error={errors.of(`/limits/${name}`)}
          onChange={({ currentTarget: { value } }) => setTyped({ ...typed, [name]: value })}
        />
      ))}
      <DialogEnd
        confirm={text.save}
        isBusy={save.isPending}
        isDisabled={limits === undefined}
        error={errors.rest}
        close={close}
      />
    </DialogForm>
  )
}
