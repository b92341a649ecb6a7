import { withClient } from '../developers/snippets-of.ts'

/** How a program sends test mail, such that opens and clicks can be tried. */
export function testSnippets(origin: string, from: string) {
  return {
    curl: `curl ${origin}/v1/email/send \\
  -H "Authorization: Bearer $POSTRIDER_TEST_KEY" -H 'Content-Type: application/json' \\
  -d '{"from":{"email":"${from}"},"to":[{"email":"ada@example.com"}],"subject":"Hello",
       "content":[{"type":"text/html","value":"<p>To <a href=\\"https://example.com/\\">nobody</a>.</p>"}],
       "settings":{"open_tracking":true,"click_tracking":true}}'`,
    typescript: withClient(
      `const { ref_id } = await postrider.sendEmail({
  from: { email: '${from}' },
  to: [{ email: 'ada@example.com' }],
  subject: 'Hello',
  content: [{ type: 'text/html', value: '<p>To <a href="https://example.com/">nobody</a>.</p>' }],
  settings: { open_tracking: true, click_tracking: true },
})`,
      'POSTRIDER_TEST_KEY',
    ),
  }
}
