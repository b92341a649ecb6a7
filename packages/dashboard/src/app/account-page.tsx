/** The reader's own page: who they are, and where they are logged in. */
import type { ListedSession } from '@postrider/client'
import { useMutation, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { queryClient } from '../api/query-client.ts'
import { describeAgent } from '../email/describe-agent.ts'
import { clientOf } from '../session/client.ts'
import { useSession } from '../session/session.ts'
import { Answer } from '../ui/answers.tsx'
import { Button } from '../ui/controls.ts'
import { type Column, DataTable } from '../ui/data-table.tsx'
import { Card, Fields, Page } from '../ui/page.tsx'
import { StateMark } from '../ui/state-mark.tsx'
import { Time } from '../ui/time.tsx'
import { tellDone, tellFailed } from '../ui/toast.ts'
import { useWords } from '../words/define-words.ts'
import { words } from './words.ts'

const key = ['sessions']

export function AccountPage() {
  const text = useWords(words)
  const { user, role, tenants } = useSession()
  return (
    <Page title={text.yourAccount} lead={user.email}>
      <Card>
        <Fields
          entries={[
            [text.name, user.name],
            [text.role, role === null ? '' : text.roles[role]],
            tenants.length === 0
              ? undefined
              : [
                  text.yourTenants,
                  tenants.map((tenant) => (
                    <div key={tenant.tenant_id}>
                      <Link to="/t/$tenantId" params={{ tenantId: tenant.tenant_id }}>
                        {tenant.name}
                      </Link>{' '}
                      ({text.roles[tenant.role]})
                    </div>
                  )),
                ],
          ]}
        />
      </Card>
      <Sessions />
    </Page>
  )
}

function Sessions() {
  const text = useWords(words)
  const sessions = useQuery({
    queryKey: key,
    queryFn: ({ signal }) => clientOf().listSessions({ signal }),
  })
  const end = useMutation({
    mutationFn: (sessionId: string) => clientOf().revokeSession(sessionId),
    onSuccess: () => tellDone(text.sessionEnded),
    onError: tellFailed('do'),
    onSettled: () => queryClient.invalidateQueries({ queryKey: key }),
  })
  const columns: readonly Column<ListedSession>[] = [
    {
      key: 'browser',
      head: text.browser,
      width: 'minmax(0, 2fr)',
      isTitle: true,
      cell: ({ user_agent }) => (
        <span title={user_agent}>{describeAgent(user_agent) || user_agent}</span>
      ),
    },
    { key: 'ip', head: text.address, cell: ({ ip }) => <code>{ip}</code> },
    {
      key: 'created',
      head: text.loggedInAt,
      width: '132px',
      cell: ({ created_at }) => <Time at={created_at} />,
    },
    {
      key: 'used',
      head: text.lastUsed,
      width: '132px',
      cell: ({ last_used_at }) => <Time at={last_used_at} />,
    },
    {
      key: 'end',
      head: '',
      width: '110px',
      align: 'end',
      cell: ({ session_id, current }) =>
        current ? (
          <StateMark tone="good">{text.thisSession}</StateMark>
        ) : (
          <Button variant="default" size="xs" onClick={() => end.mutate(session_id)}>
            {text.endSession}
          </Button>
        ),
    },
  ]
  return (
    <Card title={text.sessions} note={text.sessionsLead} isFlush>
      <Answer query={sessions}>
        {(answer) => (
          <DataTable
            label={text.sessions}
            columns={columns}
            rows={answer.sessions}
            rowKey={({ session_id }) => session_id}
          />
        )}
      </Answer>
    </Card>
  )
}
