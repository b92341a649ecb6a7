/** How a program sends, with an address of the tenant's own; and how it makes keys. */
import { snippetsOf } from './snippets-of.ts'

export const sendSnippets = (from: string) =>
  snippetsOf({
    operation: 'sendEmail',
    path: '/v1/email/send',
    result: 'ref_id',
    body: {
      from: { email: from },
      to: [{ email: 'you@example.com' }],
      subject: 'Hello',
      content: [{ type: 'text/plain', value: 'It works.' }],
    },
  })

/** A key makes keys of its own scopes at most. */
export const keySnippets = () =>
  snippetsOf({
    operation: 'createKey',
    path: '/v1/keys',
    result: 'api_key',
    needs: 'all',
    body: { name: 'Shop', scopes: ['send', 'read'] },
  })
