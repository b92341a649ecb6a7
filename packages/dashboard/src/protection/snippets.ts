import { snippetsOf } from '../developers/snippets-of.ts'

/** How a program sets the protection. */
export const protectionSnippets = () =>
  snippetsOf({
    operation: 'updatePhishingSettings',
    path: '/v1/phishing',
    method: 'PUT',
    body: { enabled: true, threshold: 80, blocked_domains: ['phish.example.com'] },
  })
