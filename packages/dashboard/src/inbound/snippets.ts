import { exampleHost, snippetsOf } from '../developers/snippets-of.ts'

/** How a program has the mail of a domain received. */
export const inboundSnippets = () =>
  snippetsOf({
    operation: 'configureInboundRouting',
    path: '/v1/inbound/domain',
    body: { domain: 'in.example.com', url: `https://${exampleHost}/inbound` },
  })

/** How it gives a local part of the domain a route of its own. */
export const usernameSnippets = (domain: string) =>
  snippetsOf({
    operation: 'createInboundUsername',
    path: `/v1/inbound/domain/${domain}/username`,
    body: { username: 'support' },
    typescript: `await postrider.createInboundUsername({ domain: '${domain}', username: 'support' })`,
  })
