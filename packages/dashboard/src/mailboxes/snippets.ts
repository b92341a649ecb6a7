import { exampleHost, snippetsOf } from '../developers/snippets-of.ts'

/** How a program has a mailbox read. */
export const imapSnippets = () =>
  snippetsOf({
    operation: 'configureIMAP',
    path: '/v1/imap',
    body: {
      ...{ name: 'Support', email: 'support@example.com' },
      ...{ config_type: 'imap', connection_type: 'basic' },
      config: {
        ...{ host: 'imap.example.com', port: 993, secure: 'SSL' },
        ...{ username: 'support@example.com', password: '…' },
      },
      webhook: { webhook_url: `https://${exampleHost}/support`, method: 'POST' },
    },
  })
