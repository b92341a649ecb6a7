import { snippetsOf } from '../developers/snippets-of.ts'

/** How a program registers an OAuth app. */
export const appSnippets = () =>
  snippetsOf({
    operation: 'createOAuthApp',
    path: '/v1/oauth/apps',
    body: {
      ...{ app_id: 'google', provider: 'google' },
      ...{ client_id: 'your-client-id', client_secret: 'your-client-secret' },
    },
  })
