/** Who a user is and what they may do: for an invitation, and for a change. */
import type { User, UserRole } from '@postrider/client'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { userRoles } from '../api/names.ts'
import { words as frameWords } from '../app/words.ts'
import { clientOf } from '../session/client.ts'
import { isOperator } from '../session/session.ts'
import { Checkbox, MultiSelect, Select } from '../ui/controls.ts'
import { Dialog, DialogEnd, DialogForm } from '../ui/dialog.tsx'
import { RequiredInput } from '../ui/required-input.tsx'
import { tellDone } from '../ui/toast.ts'
import { useWords } from '../words/define-words.ts'
import { useTenantNames } from './names.ts'
import { ShownOnce } from './shown-once.tsx'
import { words } from './words.ts'

interface Draft {
  readonly email: string
  readonly name: string
  readonly role: UserRole
  readonly tenants: readonly string[]
  /** Undefined: as the service gives it to the role. */
  readonly content: boolean | undefined
}

interface Closing {
  readonly close: () => void
  readonly onChanged: () => unknown
}

/** `tenantId`: of the tenant that somebody is invited to; empty for none. */
export function InviteUser({
  tenantId,
  close,
  onChanged,
}: Closing & { readonly tenantId: string }) {
  const text = useWords(words)
  const [draft, setDraft] = useState<Draft>({
    ...{ email: '', name: '', content: undefined },
    role: tenantId === '' ? 'operator' : 'owner',
    tenants: tenantId === '' ? [] : [tenantId],
  })
  const create = useMutation({
    mutationFn: () => clientOf().createUser({ email: draft.email.trim(), ...bodyOf(draft) }),
    onSettled: onChanged,
  })
  if (create.data !== undefined) {
    return (
      <ShownOnce
        title={text.invited(create.data.user.email)}
        help={text.linkHelp}
        label={text.invite}
        secret={create.data.invitation_url}
        close={close}
      />
    )
  }
  return (
    <UserDialog
      title={text.invite}
      confirm={text.sendInvitation}
      isNew
      draft={draft}
      setDraft={setDraft}
      save={create}
      close={close}
    />
  )
}

export function EditUser({ user, close, onChanged }: Closing & { readonly user: User }) {
  const text = useWords(words)
  const [draft, setDraft] = useState<Draft>({
    email: user.email,
    name: user.name,
    role: user.role ?? 'viewer',
    tenants: user.tenants,
    content: user.content,
  })
  const update = useMutation({
    mutationFn: () => clientOf().updateUser({ user_id: user.user_id, ...bodyOf(draft) }),
    onSuccess({ invitation_url: link }) {
      if (link !== undefined) return
      close()
      tellDone(text.userChanged)
    },
    onSettled: onChanged,
  })
  const link = update.data?.invitation_url
  if (link !== undefined) {
    return (
      <ShownOnce
        title={text.newLink(user.name)}
        help={text.newLinkHelp}
        label={text.invite}
        secret={link}
        close={close}
      />
    )
  }
  return (
    <UserDialog
      title={text.editUser(user.name)}
      confirm={text.save}
      isNew={false}
      draft={draft}
      setDraft={setDraft}
      save={update}
      close={close}
    />
  )
}

function bodyOf({ name, role, tenants, content }: Draft) {
  return {
    name: name.trim(),
    role,
    ...(!isOperator({ role }) && { tenants: [...tenants] }),
    ...(content !== undefined && { content }),
  }
}

function UserDialog(o: {
  readonly title: string
  readonly confirm: string
  readonly isNew: boolean
  readonly draft: Draft
  readonly setDraft: (draft: Draft) => void
  readonly save: { readonly isPending: boolean; readonly error: unknown; mutate(): void }
  readonly close: () => void
}) {
  const text = useWords(words)
  const { roles: roleNames } = useWords(frameWords)
  const { draft } = o
  const set = (change: Partial<Draft>) => o.setDraft({ ...draft, ...change })
  return (
    <Dialog title={o.title} isOpen close={o.close}>
      <DialogForm submit={() => o.save.mutate()}>
        {o.isNew && (
          <RequiredInput
            label={text.email}
            type="email"
            data-autofocus
            autoComplete="off"
            maxLength={254}
            value={draft.email}
            set={(email) => set({ email })}
          />
        )}
        <RequiredInput
          label={text.name}
          autoComplete="off"
          maxLength={200}
          value={draft.name}
          set={(name) => set({ name })}
        />
        <Select
          label={text.role}
          description={text.roleHelp[draft.role]}
          data={userRoles.map((value) => ({ value, label: roleNames[value] }))}
          value={draft.role}
          onChange={(value) => {
            const role = userRoles.find((one) => one === value)
            if (role !== undefined) set({ role, content: o.isNew ? undefined : draft.content })
          }}
        />
        {!isOperator(draft) && (
          <TenantChoice chosen={draft.tenants} choose={(tenants) => set({ tenants })} />
        )}
        <Checkbox
          label={text.contentLabel}
          checked={draft.content ?? readsByDefault(draft.role)}
          onChange={(event) => set({ content: event.currentTarget.checked })}
        />
        <DialogEnd
          confirm={o.confirm}
          isBusy={o.save.isPending}
          error={o.save.error}
          close={o.close}
        />
      </DialogForm>
    </Dialog>
  )
}

/** What the box shows until somebody decides: the service has the same. */
function readsByDefault(role: UserRole): boolean {
  return role === 'operator' || role === 'owner' || role === 'support'
}

function TenantChoice(o: {
  readonly chosen: readonly string[]
  readonly choose: (tenants: string[]) => void
}) {
  const text = useWords(words)
  const names = useTenantNames()
  const known = Array.from(names, ([value, name]) => ({ value, label: `${name} (${value})` }))
  const unknown = o.chosen.filter((id) => !names.has(id)).map((id) => ({ value: id, label: id }))
  return (
    <MultiSelect
      label={text.ofTenants}
      description={text.tenantsHelp}
      data={[...known, ...unknown]}
      value={[...o.chosen]}
      onChange={o.choose}
      searchable
      limit={100}
    />
  )
}
