import { withClient } from '../developers/snippets-of.ts'

/** How a program adds an SMTP server. */
export function smtpSnippets(origin: string) {
  return {
    curl: `curl ${origin}/v1/smtp \\
  -H "Authorization: Bearer $POSTRIDER_API_KEY" -H 'Content-Type: application/json' \\
  -d '{"name":"News","email":"news@example.com","config_type":"smtp","connection_type":"basic",
       "config":{"host":"smtp.example.com","port":587,"secure":"Auto","username":"news@example.com","password":"…"}}'`,
    typescript: withClient(`await postrider.configureSMTP({
  name: 'News',
  email: 'news@example.com',
  config_type: 'smtp',
  connection_type: 'basic',
  config: { host: 'smtp.example.com', port: 587, secure: 'Auto', username: 'news@example.com', password: '…' },
})`),
  }
}
