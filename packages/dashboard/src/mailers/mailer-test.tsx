/** Tests a mailer step by step: each with what the server said. */
import type { DomainMailer, Mailer, TestStep } from '@postrider/client'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { useSession } from '../session/session.ts'
import { useTenant } from '../session/use-tenant.ts'
import { TextInput } from '../ui/controls.ts'
import { Dialog, DialogEnd } from '../ui/dialog.tsx'
import { fieldErrors } from '../ui/field-errors.ts'
import { StateMark } from '../ui/state-mark.tsx'
import { useWords } from '../words/define-words.ts'
import { useFormat } from '../words/format.ts'
import { isReadOnly } from './mailer-kind.ts'
import classes from './mailer-test.module.css'
import { words } from './words.ts'

export function MailerTest(o: {
  readonly mailer: Mailer | DomainMailer
  readonly isOpen: boolean
  readonly close: () => void
}) {
  const text = useWords(words)
  return (
    <Dialog title={text.testTitle} isOpen={o.isOpen} close={o.close} size="lg">
      <Form mailer={o.mailer} close={o.close} />
    </Dialog>
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
  const { client } = useTenant()
  const { user } = useSession()
  const isSending = !isReadOnly(mailer)
  const [to, setTo] = useState(isSending ? user.email : '')
  const test = useMutation({
    mutationFn: () => client.testMailer({ mailer_id: mailer.mailer_id, ...(to !== '' && { to }) }),
  })
  const errors = fieldErrors(test.error, isSending ? ['/to'] : [])
  return (
    <form
      className={classes.form}
      onSubmit={(event) => {
        event.preventDefault()
        test.mutate()
      }}
    >
      <p>{isSending ? text.testLead : text.reading.testLead}</p>
      {isSending && (
        <TextInput
          label={text.testTo}
          type="email"
          value={to}
          error={errors.of('/to')}
          onChange={(event) => setTo(event.currentTarget.value)}
        />
      )}
      {test.data !== undefined && <TestSteps steps={test.data.steps} />}
      <DialogEnd
        confirm={text.runTest}
        isBusy={test.isPending}
        error={errors.rest}
        failed="check"
        close={close}
      />
    </form>
  )
}

/** What each step said, and whether all of them went well. */
export function TestSteps({ steps }: { readonly steps: readonly TestStep[] }) {
  const text = useWords(words)
  const format = useFormat()
  const isPassed = steps.every(({ ok }) => ok)
  return (
    <div aria-live="polite">
      <ol className={classes.steps}>
        {steps.map(({ step, ok, duration_ms, reply }, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: EHLO may come twice, each in its place
          <li key={at}>
            <StateMark tone={ok ? 'good' : 'bad'} isQuiet>
              {text.steps[step]} <span className={classes.said}>{ok ? text.ok : text.notOk}</span>
            </StateMark>
            <span className={classes.time}>{format.duration(duration_ms)}</span>
            <code>{reply}</code>
          </li>
        ))}
      </ol>
      <p>
        <strong>{isPassed ? text.testPassed : text.testFailed}</strong>
      </p>
    </div>
  )
}
