import { snippetsOf } from '../developers/snippets-of.ts'

/** How a program invites a member. */
export const memberSnippets = () =>
  snippetsOf({
    operation: 'createMember',
    path: '/v1/members',
    result: 'invitation_url',
    needs: 'all',
    body: { email: 'ada@example.com', name: 'Ada', role: 'developer' },
  })

/** How a program reads who changed what. */
export const auditSnippets = () => snippetsOf({ operation: 'listAudit', path: '/v1/audit' })
