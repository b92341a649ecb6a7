import { snippetsOf } from '../developers/snippets-of.ts'

/** How a program sends test mail, such that opens and clicks can be tried. */
export const testSnippets = (from: string) =>
  snippetsOf({
    operation: 'sendEmail',
    path: '/v1/email/send',
    key: 'POSTRIDER_TEST_KEY',
    result: 'ref_id',
    body: {
      from: { email: from },
      to: [{ email: 'ada@example.com' }],
      subject: 'Hello',
      content: [
        { type: 'text/html', value: '<p>To <a href="https://example.com/">nobody</a>.</p>' },
      ],
      settings: { open_tracking: true, click_tracking: true },
    },
  })
