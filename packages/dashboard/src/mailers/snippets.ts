import { snippetsOf } from '../developers/snippets-of.ts'

/** How a program adds an SMTP server. */
export const smtpSnippets = () =>
  snippetsOf({
    operation: 'configureSMTP',
    path: '/v1/smtp',
    body: {
      ...{ name: 'News', email: 'news@example.com' },
      ...{ config_type: 'smtp', connection_type: 'basic' },
      config: {
        ...{ host: 'smtp.example.com', port: 587, secure: 'Auto' },
        ...{ username: 'news@example.com', password: '…' },
      },
    },
  })
