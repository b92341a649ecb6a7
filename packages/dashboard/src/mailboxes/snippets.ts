import { withClient } from '../developers/snippets-of.ts'

/** How a program has a mailbox read. */
export function imapSnippets(origin: string) {
  return {
    curl: `curl ${origin}/v1/imap \\
  -H "Authorization: Bearer $POSTRIDER_API_KEY" -H 'Content-Type: application/json' \\
  -d '{"name":"Support","email":"support@example.com","config_type":"imap","connection_type":"basic",
       "config":{"host":"imap.example.com","port":993,"secure":"SSL","username":"support@example.com","password":"…"},
       "webhook":{"webhook_url":"https://hooks.example.com/support","method":"POST"}}'`,
    typescript: withClient(`await postrider.configureIMAP({
  name: 'Support',
  email: 'support@example.com',
  config_type: 'imap',
  connection_type: 'basic',
  config: { host: 'imap.example.com', port: 993, secure: 'SSL', username: 'support@example.com', password: '…' },
  webhook: { webhook_url: 'https://hooks.example.com/support', method: 'POST' },
})`),
  }
}
