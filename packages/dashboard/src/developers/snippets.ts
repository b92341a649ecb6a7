import { withClient } from './snippets-of.ts'

/** How a program sends, with an address of the tenant's own. */
export function sendSnippets(origin: string, from: string) {
  return {
    curl: `curl ${origin}/v1/email/send \\
  -H "Authorization: Bearer $POSTRIDER_API_KEY" -H 'Content-Type: application/json' \\
  -d '{"from":{"email":"${from}"},"to":[{"email":"you@example.com"}],"subject":"Hello",
       "content":[{"type":"text/plain","value":"It works."}]}'`,
    typescript: withClient(`const { ref_id } = await postrider.sendEmail({
  from: { email: '${from}' },
  to: [{ email: 'you@example.com' }],
  subject: 'Hello',
  content: [{ type: 'text/plain', value: 'It works.' }],
})`),
  }
}
