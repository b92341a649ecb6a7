/** A checklist until the first event was received; a reader who wants no webhook hides it before. */
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useState, useSyncExternalStore } from 'react'
import { readSetting, subscribeSettings, writeSetting } from '../app/settings.ts'
import { TestMail } from '../emails/test-mail.tsx'
import { useMailers } from '../emails/use-mailers.ts'
import { SmtpForm } from '../mailers/smtp-form.tsx'
import { ActionButton } from '../session/action-button.tsx'
import { useTenant } from '../session/use-tenant.ts'
import { Button } from '../ui/controls.ts'
import { Card } from '../ui/page.tsx'
import { StateMark } from '../ui/state-mark.tsx'
import { WebhookForm } from '../webhooks/webhook-form.tsx'
import { useWords } from '../words/define-words.ts'
import classes from './first-steps.module.css'
import { words } from './words.ts'

interface Step {
  readonly name: string
  readonly help: ReactNode
  readonly isDone: boolean
  readonly action: ReactNode
}

type Form = 'mailer' | 'mail' | 'webhook'

export function FirstSteps({ hasMail }: { readonly hasMail: boolean }) {
  const text = useWords(words)
  const { tenantId } = useTenant()
  const mailers = useMailers()
  const [open, setOpen] = useState<Form>()
  const close = () => setOpen(undefined)
  const found = useFound()
  const setting = `steps.hidden.${tenantId}` as const
  const isHidden = useSyncExternalStore(subscribeSettings, () => readSetting(setting)) !== undefined
  if (found === undefined || found.hasEvent || isHidden) return null
  const hasSent = hasMail || found.hasMail
  return (
    <Card
      title={text.start}
      note={text.startLead}
      actions={
        hasSent && (
          <Button size="xs" variant="default" onClick={() => writeSetting(setting, 'true')}>
            {text.hideSteps}
          </Button>
        )
      }
    >
      <Steps found={{ ...found, hasMail: hasSent }} open={setOpen} />
      <SmtpForm isOpen={open === 'mailer'} close={close} isStaying />
      <TestMail isOpen={open === 'mail'} close={close} mailers={mailers} />
      <WebhookForm isOpen={open === 'webhook'} close={close} kinds={['EMAIL_EVENT']} />
    </Card>
  )
}

interface Found {
  readonly hasMailer: boolean
  readonly hasWebhook: boolean
  readonly hasMail: boolean
  readonly hasEvent: boolean
}

/** What the tenant has. Undefined: not known yet. */
function useFound(): Found | undefined {
  const { tenantId, client } = useTenant()
  const { data } = useQuery({
    queryKey: [tenantId, 'first-steps'],
    queryFn: async ({ signal }) => {
      const [mailers, webhooks, emails, deliveries] = await Promise.all([
        client.listMailers({ pageSize: 1 }, { signal }),
        client.listWebhooks({ signal }),
        client.getEmailLogs({ pageSize: 1 }, { signal }),
        client.listWebhookDeliveries({ status: 'delivered', pageSize: 1 }, { signal }),
      ])
      return {
        hasMailer: mailers.mailers.length > 0,
        hasWebhook: webhooks.webhooks.length > 0,
        hasMail: emails.logs.length > 0,
        hasEvent: deliveries.deliveries.length > 0,
      }
    },
    // Once an event has come, there is nothing more to ask.
    refetchInterval: ({ state }) => (state.data?.hasEvent === true ? false : 10_000),
  })
  return data
}

function Steps(o: { readonly found: Found; readonly open: (form: Form) => void }) {
  const text = useWords(words)
  const steps = useSteps(o.found, o.open)
  const next = steps.findIndex(({ isDone }) => !isDone)
  return (
    <ol className={classes.steps}>
      {steps.map(({ name, help, isDone, action }, at) => (
        <li
          key={name}
          data-done={isDone || undefined}
          aria-current={at === next ? 'step' : undefined}
        >
          <div>
            <strong>{name}</strong>
            <p>{help}</p>
          </div>
          {at === next ? (
            action
          ) : (
            <StateMark tone={isDone ? 'good' : 'muted'}>{isDone ? text.done : text.open}</StateMark>
          )}
        </li>
      ))}
    </ol>
  )
}

function useSteps(found: Found, open: (form: Form) => void): readonly Step[] {
  const text = useWords(words)
  const { tenantId } = useTenant()
  return [
    {
      name: text.stepMailer,
      help: (
        <>
          {text.stepMailerHelp}{' '}
          <Link to="/t/$tenantId/domains" params={{ tenantId }} search={{ relay: 'simulator' }}>
            {text.stepSimulator}
          </Link>
        </>
      ),
      isDone: found.hasMailer,
      action: (
        <ActionButton size="xs" operation="configureSMTP" onClick={() => open('mailer')}>
          {text.stepMailer}
        </ActionButton>
      ),
    },
    {
      name: text.stepSend,
      help: text.stepSendHelp,
      isDone: found.hasMail,
      action: (
        <ActionButton size="xs" operation="sendEmail" onClick={() => open('mail')}>
          {text.stepSendDo}
        </ActionButton>
      ),
    },
    {
      name: text.stepWebhook,
      help: text.stepWebhookHelp,
      isDone: found.hasWebhook,
      action: (
        <ActionButton size="xs" operation="registerWebhook" onClick={() => open('webhook')}>
          {text.stepWebhook}
        </ActionButton>
      ),
    },
    {
      name: text.stepEvent,
      help: text.stepEventHelp,
      isDone: false,
      action: (
        <ActionButton size="xs" operation="sendEmail" onClick={() => open('mail')}>
          {text.stepEventDo}
        </ActionButton>
      ),
    },
  ]
}
