import { exampleHost, snippetsOf } from '../developers/snippets-of.ts'

/** How a program registers a webhook. */
export const webhookSnippets = () =>
  snippetsOf({
    operation: 'registerWebhook',
    path: '/v1/webhook/register',
    body: {
      webhook_url: `https://${exampleHost}/postrider`,
      ...{ event: 'EMAIL_EVENT', method: 'POST' },
      webhook_options: { events: { delivery: true, smtp_error: true, bounce: true } },
    },
  })
