import { withClient } from '../developers/snippets-of.ts'

/** How a program registers a webhook. */
export function webhookSnippets(origin: string) {
  return {
    curl: `curl ${origin}/v1/webhook/register \\
  -H "Authorization: Bearer $POSTRIDER_API_KEY" -H 'Content-Type: application/json' \\
  -d '{"webhook_url":"https://hooks.example.com/postrider","event":"EMAIL_EVENT","method":"POST",
       "webhook_options":{"events":{"delivery":true,"smtp_error":true,"bounce":true}}}'`,
    typescript: withClient(`await postrider.registerWebhook({
  webhook_url: 'https://hooks.example.com/postrider',
  event: 'EMAIL_EVENT',
  method: 'POST',
  webhook_options: { events: { delivery: true, smtp_error: true, bounce: true } },
})`),
  }
}
