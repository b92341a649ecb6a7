/** The members of the tenant: invite, change, remove. */
import type { Member, MemberRole } from '@postrider/client'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { memberRoles } from '../api/names.ts'
import { queryClient } from '../api/query-client.ts'
import { usePages } from '../api/use-pages.ts'
import { ActionButton, SmallAction } from '../session/action-button.tsx'
import { EmptyList } from '../session/empty-list.tsx'
import { useTenant } from '../session/use-tenant.ts'
import { Button, Checkbox, Select } from '../ui/controls.ts'
import { CodeBlock } from '../ui/copy.tsx'
import { type Column, PagedTable } from '../ui/data-table.tsx'
import { Confirm, Dialog, DialogEnd, DialogForm } from '../ui/dialog.tsx'
import { Card, Row, Stack } from '../ui/page.tsx'
import { RequiredInput } from '../ui/required-input.tsx'
import { StateMark } from '../ui/state-mark.tsx'
import { tellDone } from '../ui/toast.ts'
import { useWords } from '../words/define-words.ts'
import { memberSnippets } from './snippets.ts'
import { words } from './words.ts'

export function Members() {
  const text = useWords(words)
  const { tenantId, client } = useTenant()
  const [isInviting, setInviting] = useState(false)
  const [changing, setChanging] = useState<Member>()
  const [removing, setRemoving] = useState<Member>()
  const pages = usePages({
    key: [tenantId, 'members'],
    name: 'members',
    list: (page, options) => client.listMembers(page, options),
  })
  const invite = (
    <ActionButton size="xs" operation="createMember" onClick={() => setInviting(true)}>
      {text.invite}
    </ActionButton>
  )
  const columns: readonly Column<Member>[] = [
    {
      key: 'name',
      head: text.name,
      width: 'minmax(0, 1.2fr)',
      isTitle: true,
      cell: ({ name }) => name,
    },
    { key: 'email', head: text.email, width: 'minmax(0, 1.6fr)', cell: ({ email }) => email },
    { key: 'role', head: text.role, cell: ({ role }) => text.roles[role] },
    {
      key: 'content',
      head: text.content,
      width: '130px',
      cell: ({ content }) => (content ? text.yes : text.no),
    },
    {
      key: 'state',
      head: text.state,
      width: '120px',
      cell: ({ state }) => (
        <StateMark tone={state === 'active' ? 'good' : 'muted'}>{text.states[state]}</StateMark>
      ),
    },
    {
      key: 'act',
      head: '',
      width: '190px',
      align: 'end',
      cell: (member) => (
        <Row>
          <SmallAction operation="updateMember" onClick={() => setChanging(member)}>
            {text.change}
          </SmallAction>
          <SmallAction operation="deleteMember" onClick={() => setRemoving(member)}>
            {text.remove}
          </SmallAction>
        </Row>
      ),
    },
  ]
  return (
    <Card title={text.members} note={text.membersNote} actions={invite} isFlush>
      <PagedTable
        pages={pages}
        label={text.members}
        columns={columns}
        rowKey={({ user_id }) => user_id}
        empty={
          <EmptyList title={text.noMembers} action={invite} snippets={memberSnippets()}>
            {text.noMembersHelp}
          </EmptyList>
        }
      />
      <Dialog title={text.invite} isOpen={isInviting} close={() => setInviting(false)}>
        <Invite close={() => setInviting(false)} />
      </Dialog>
      <Dialog
        title={text.change}
        isOpen={changing !== undefined}
        close={() => setChanging(undefined)}
      >
        {changing !== undefined && (
          <Change member={changing} close={() => setChanging(undefined)} />
        )}
      </Dialog>
      <Remove member={removing} close={() => setRemoving(undefined)} />
    </Card>
  )
}

function useRefresh() {
  const { tenantId } = useTenant()
  return () => queryClient.invalidateQueries({ queryKey: [tenantId, 'members'] })
}

function RoleFields(o: {
  readonly role: MemberRole
  readonly content: boolean
  readonly change: (part: { readonly role?: MemberRole; readonly content?: boolean }) => void
}) {
  const text = useWords(words)
  return (
    <>
      <Select
        label={text.role}
        description={text.roleHelp[o.role]}
        data={memberRoles.map((value) => ({ value, label: text.roles[value] }))}
        value={o.role}
        onChange={(value) =>
          o.change({ role: memberRoles.find((one) => one === value) ?? 'viewer' })
        }
      />
      <Checkbox
        label={text.contentLabel}
        checked={o.content}
        onChange={(event) => o.change({ content: event.currentTarget.checked })}
      />
    </>
  )
}

function Invite({ close }: { readonly close: () => void }) {
  const text = useWords(words)
  const { client } = useTenant()
  const [name, setName] = useState('')
  const [email, setEmail] = useState('')
  const [standing, setStanding] = useState<{ role: MemberRole; content: boolean }>({
    role: 'developer',
    content: false,
  })
  const invite = useMutation({
    mutationFn: () => client.createMember({ name: name.trim(), email: email.trim(), ...standing }),
    onSettled: useRefresh(),
  })
  if (invite.data !== undefined) {
    return <Link url={invite.data.invitation_url} close={close} />
  }
  return (
    <DialogForm submit={() => invite.mutate()}>
      <RequiredInput label={text.name} data-autofocus value={name} set={setName} />
      <RequiredInput label={text.email} type="email" value={email} set={setEmail} />
      <RoleFields {...standing} change={(part) => setStanding({ ...standing, ...part })} />
      <DialogEnd
        confirm={text.invite}
        isBusy={invite.isPending}
        error={invite.error}
        close={close}
      />
    </DialogForm>
  )
}

function Link(o: { readonly url: string; readonly why?: string; readonly close: () => void }) {
  const text = useWords(words)
  return (
    <Stack>
      {o.why !== undefined && <p>{o.why}</p>}
      <p>{text.linkHelp}</p>
      <CodeBlock code={o.url} label={text.link} />
      <Button onClick={o.close}>{text.done}</Button>
    </Stack>
  )
}

function Change({ member, close }: { readonly member: Member; readonly close: () => void }) {
  const text = useWords(words)
  const { client } = useTenant()
  const [standing, setStanding] = useState<{ role: MemberRole; content: boolean }>({
    role: member.role,
    content: member.content,
  })
  const save = useMutation({
    mutationFn: () => client.updateMember({ user_id: member.user_id, ...standing }),
    onSuccess({ invitation_url: link }) {
      if (link !== undefined) return
      tellDone(text.saved)
      close()
    },
    onSettled: useRefresh(),
  })
  const link = save.data?.invitation_url
  if (link !== undefined) return <Link url={link} why={text.linkWhy(member.name)} close={close} />
  return (
    <DialogForm submit={() => save.mutate()}>
      <p>
        {member.name} ({member.email})
      </p>
      <RoleFields {...standing} change={(part) => setStanding({ ...standing, ...part })} />
      <DialogEnd confirm={text.save} isBusy={save.isPending} error={save.error} close={close} />
    </DialogForm>
  )
}

function Remove({
  member,
  close,
}: {
  readonly member: Member | undefined
  readonly close: () => void
}) {
  const text = useWords(words)
  const { client } = useTenant()
  const remove = useMutation({
    mutationFn: (userId: string) => client.deleteMember(userId),
    onSuccess() {
      tellDone(text.removed)
      close()
    },
    onSettled: useRefresh(),
  })
  return (
    <Confirm
      title={text.removeTitle}
      confirm={text.remove}
      isDangerous
      isOpen={member !== undefined}
      close={close}
      isBusy={remove.isPending}
      error={remove.error}
      onConfirm={() => member !== undefined && remove.mutate(member.user_id)}
    >
      <p>{text.removeHelp(member?.name ?? '')}</p>
    </Confirm>
  )
}
