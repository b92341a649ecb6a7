/** How a program sends, with the address of this service and a mailer of the tenant. */
import { type Mailer, senderOf } from './use-mailers.ts'

export function sendSnippets(origin: string, mailer: Mailer | undefined) {
  const from = mailer === undefined ? 'news@example.com' : senderOf(mailer)
  return {
    curl: `curl ${origin}/v1/email/send \\
  -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' -d '{
  "from": {"email": "${from}"},
  "to": [{"email": "ada@example.com"}],
  "subject": "Hello",
  "content": [{"type": "text/plain", "value": "It works."}]
}'`,
    typescript: `import { Postrider } from '@postrider/client'

const postrider = new Postrider({ apiKey: process.env.KEY, basePath: '${origin}' })

const { ref_id } = await postrider.sendEmail({
  from: { email: '${from}' },
  to: [{ email: 'ada@example.com' }],
  subject: 'Hello',
  content: [{ type: 'text/plain', value: 'It works.' }],
})`,
  }
}
