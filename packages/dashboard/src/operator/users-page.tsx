/** People who log in: invited, given roles, deleted. */
import type { User } from '@postrider/client'
import { useMutation } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { Pencil, Plus, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { queryClient } from '../api/query-client.ts'
import { usePages } from '../api/use-pages.ts'
import { words as frameWords } from '../app/words.ts'
import { ActionButton } from '../session/action-button.tsx'
import { clientOf } from '../session/client.ts'
import { EmptyList } from '../session/empty-list.tsx'
import { isOperator, useSession } from '../session/session.ts'
import { useTenant } from '../session/use-tenant.ts'
import { ActionIcon } from '../ui/controls.ts'
import { type Column, PagedTable } from '../ui/data-table.tsx'
import { Confirm } from '../ui/dialog.tsx'
import { Card, Page, Row } from '../ui/page.tsx'
import { StateMark } from '../ui/state-mark.tsx'
import { Time } from '../ui/time.tsx'
import { tellDone } from '../ui/toast.ts'
import { useWords } from '../words/define-words.ts'
import { useTenantNames } from './names.ts'
import { userSnippets } from './snippets.ts'
import { EditUser, InviteUser } from './user-form.tsx'
import { words } from './words.ts'

const key = ['operator', 'users']
const refresh = () => queryClient.invalidateQueries({ queryKey: ['operator'] })

export function UsersPage() {
  const text = useWords(words)
  const { may } = useTenant()
  const { invite } = useSearch({ from: '/shell/operator/users' })
  const navigate = useNavigate({ from: '/operator/users' })
  const [toEdit, setToEdit] = useState<User>()
  const [toDelete, setToDelete] = useState<User>()
  const pages = usePages({
    key,
    name: 'users',
    list: (page, options) => clientOf().listUsers(page, options),
  })
  const columns = useColumns(setToEdit, setToDelete)
  const open = () => void navigate({ search: { invite: '' } })
  const close = () => void navigate({ search: {} })
  const add = (
    <ActionButton
      operation="createUser"
      leftSection={<Plus size={15} aria-hidden />}
      onClick={open}
    >
      {text.invite}
    </ActionButton>
  )
  return (
    <Page title={text.users} lead={text.usersLead} actions={pages.entries?.length !== 0 && add}>
      <Card isFlush>
        <PagedTable
          pages={pages}
          label={text.users}
          empty={<EmptyList title={text.noUsers} action={add} snippets={userSnippets()} />}
          columns={columns}
          rowKey={({ user_id }) => user_id}
        />
      </Card>
      {invite !== undefined && may('createUser') && (
        <InviteUser tenantId={invite} close={close} onChanged={refresh} />
      )}
      {toEdit !== undefined && (
        <EditUser user={toEdit} close={() => setToEdit(undefined)} onChanged={refresh} />
      )}
      {toDelete !== undefined && (
        <DeleteUser user={toDelete} close={() => setToDelete(undefined)} />
      )}
    </Page>
  )
}

function useColumns(
  edit: (user: User) => void,
  remove: (user: User) => void,
): readonly Column<User>[] {
  const text = useWords(words)
  const { roles } = useWords(frameWords)
  const { user: me } = useSession()
  const { may } = useTenant()
  const tenantNames = useTenantNames()
  return [
    {
      key: 'name',
      head: text.name,
      isTitle: true,
      cell: ({ name, user_id }) => (user_id === me.user_id ? `${name} (${text.you})` : name),
    },
    {
      key: 'email',
      head: text.email,
      width: 'minmax(0, 1.3fr)',
      cell: ({ email }) => <span title={email}>{email}</span>,
    },
    {
      key: 'role',
      head: text.role,
      width: '150px',
      cell: ({ role }) => (role === null ? '–' : roles[role]),
    },
    {
      key: 'tenants',
      head: text.ofTenants,
      cell: ({ role, tenants }) => {
        const names = tenants.map((id) => tenantNames.get(id) ?? id).join(', ')
        return (
          <span title={names}>
            {isOperator({ role }) ? text.allTenants : names || text.noneLeft}
          </span>
        )
      },
    },
    {
      key: 'content',
      head: text.content,
      width: '92px',
      cell: ({ content }) => (content ? text.yes : text.no),
    },
    {
      key: 'state',
      head: text.state,
      width: '120px',
      cell: ({ state }) => (
        <StateMark tone={state === 'active' ? 'good' : 'info'}>{text.userStates[state]}</StateMark>
      ),
    },
    {
      key: 'created',
      head: text.created,
      width: '120px',
      isMinor: true,
      cell: ({ created_at }) => <Time at={created_at} />,
    },
    {
      key: 'actions',
      head: text.actions,
      width: '76px',
      align: 'end',
      cell: (user) =>
        may('updateUser') ? (
          <Tools user={user} edit={() => edit(user)} remove={() => remove(user)} />
        ) : null,
    },
  ]
}

function Tools({
  user,
  edit,
  remove,
}: {
  readonly user: User
  readonly edit: () => void
  readonly remove: () => void
}) {
  const text = useWords(words)
  return (
    <Row>
      <ActionIcon variant="default" aria-label={text.editUser(user.name)} onClick={edit}>
        <Pencil size={14} aria-hidden />
      </ActionIcon>
      <ActionIcon variant="default" aria-label={text.deleteUserTitle(user.name)} onClick={remove}>
        <Trash2 size={14} aria-hidden />
      </ActionIcon>
    </Row>
  )
}

function DeleteUser({ user, close }: { readonly user: User; readonly close: () => void }) {
  const text = useWords(words)
  const remove = useMutation({
    mutationFn: () => clientOf().deleteUser(user.user_id),
    onSuccess() {
      close()
      tellDone(text.userDeleted)
    },
    onSettled: refresh,
  })
  return (
    <Confirm
      title={text.deleteUserTitle(user.name)}
      isOpen
      close={close}
      confirm={text.remove}
      nameToType={user.name}
      isDangerous
      isBusy={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate()}
    >
      <p>{text.deleteUserHelp}</p>
    </Confirm>
  )
}
