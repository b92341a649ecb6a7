import { snippetsOf } from '../developers/snippets-of.ts'

/** How a program suppresses an address. */
export const suppressionSnippets = () =>
  snippetsOf({
    operation: 'addSuppression',
    path: '/v1/suppressions',
    body: { email: 'ada@example.com', note: 'Asked by telephone' },
  })
