/** Who may log in to a tenant, and the ways to change that. */
import { Link } from '@tanstack/react-router'
import { usePages } from '../api/use-pages.ts'
import { words as frameWords } from '../app/words.ts'
import { clientOf } from '../session/client.ts'
import { EmptyList } from '../session/empty-list.tsx'
import { useTenant } from '../session/use-tenant.ts'
import { PagedTable } from '../ui/data-table.tsx'
import { Card } from '../ui/page.tsx'
import { StateMark } from '../ui/state-mark.tsx'
import { useWords } from '../words/define-words.ts'
import { userSnippets } from './snippets.ts'
import { words } from './words.ts'

export function TenantMembers({ tenantId }: { readonly tenantId: string }) {
  const text = useWords(words)
  const { roles } = useWords(frameWords)
  const { may } = useTenant()
  const pages = usePages({
    key: [tenantId, 'members'],
    name: 'members',
    list: (page, options) => clientOf(tenantId).listMembers(page, options),
  })
  const inviteLink = may('createUser') && (
    <Link to="/operator/users" search={{ invite: tenantId }}>
      {text.inviteMember}
    </Link>
  )
  return (
    <Card
      title={text.members}
      note={text.membersNote}
      isFlush
      actions={
        <>
          <Link to="/t/$tenantId/settings" params={{ tenantId }}>
            {text.changeMembers}
          </Link>
          {inviteLink}
        </>
      }
    >
      <PagedTable
        pages={pages}
        label={text.members}
        empty={
          <EmptyList title={text.noMembers} action={inviteLink} snippets={userSnippets(tenantId)} />
        }
        rowKey={({ user_id }) => user_id}
        columns={[
          { key: 'name', head: text.name, isTitle: true, cell: ({ name }) => name },
          {
            key: 'email',
            head: text.email,
            cell: ({ email }) => <span title={email}>{email}</span>,
          },
          { key: 'role', head: text.role, width: '150px', cell: ({ role }) => roles[role] },
          {
            key: 'state',
            head: text.state,
            width: '120px',
            cell: ({ state }) => (
              <StateMark tone={state === 'active' ? 'good' : 'info'}>
                {text.userStates[state]}
              </StateMark>
            ),
          },
        ]}
      />
    </Card>
  )
}
