/** A checklist until the first event was received. */
import { useQuery } from '@tanstack/react-query'
import { Link, type LinkProps } from '@tanstack/react-router'
import { useTenant } from '../session/use-tenant.ts'
import { Card } from '../ui/page.tsx'
import { StateMark } from '../ui/state-mark.tsx'
import { useWords } from '../words/define-words.ts'
import classes from './first-steps.module.css'
import { words } from './words.ts'

interface Step {
  readonly name: string
  readonly help: string
  readonly isDone: boolean
  readonly to?: NonNullable<LinkProps['to']>
}

export function FirstSteps({ hasMail }: { readonly hasMail: boolean }) {
  const text = useWords(words)
  const { tenantId, client } = useTenant()
  const { data: found } = useQuery({
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
  if (found === undefined || found.hasEvent) return null
  const steps: readonly Step[] = [
    {
      name: text.stepMailer,
      help: text.stepMailerHelp,
      isDone: found.hasMailer,
      to: '/t/$tenantId/mailers',
    },
    { name: text.stepSend, help: text.stepSendHelp, isDone: hasMail || found.hasMail },
    {
      name: text.stepWebhook,
      help: text.stepWebhookHelp,
      isDone: found.hasWebhook,
      to: '/t/$tenantId/webhooks',
    },
    {
      name: text.stepEvent,
      help: text.stepEventHelp,
      isDone: false,
      to: '/t/$tenantId/deliveries',
    },
  ]
  return (
    <Card title={text.start} note={text.startLead}>
      <ol className={classes.steps}>
        {steps.map(({ name, help, isDone, to }) => (
          <li key={name} data-done={isDone || undefined}>
            <div>
              <strong>
                {to === undefined ? name : <Link {...{ to, params: { tenantId } }}>{name}</Link>}
              </strong>
              <p>{help}</p>
            </div>
            <StateMark tone={isDone ? 'good' : 'muted'}>{isDone ? text.done : text.open}</StateMark>
          </li>
        ))}
      </ol>
    </Card>
  )
}
