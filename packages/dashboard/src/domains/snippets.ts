import { snippetsOf } from '../developers/snippets-of.ts'

/** How a program adds a sending domain. */
export const domainSnippets = () =>
  snippetsOf({
    operation: 'addDomain',
    path: '/v1/domain',
    body: { domain: 'mail.example.com', relay: 'sparkpost' },
  })
