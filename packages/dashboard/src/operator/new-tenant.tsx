/** Makes a tenant, and shows its first key, once. */
import { useMutation } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { actFor } from '../session/acting.ts'
import { clientOf } from '../session/client.ts'
import { Button } from '../ui/controls.ts'
import { Dialog, DialogEnd, DialogForm } from '../ui/dialog.tsx'
import { RequiredInput } from '../ui/required-input.tsx'
import { useWords } from '../words/define-words.ts'
import { ShownOnce } from './shown-once.tsx'
import { refreshTenants } from './tenant-query.ts'
import { words } from './words.ts'

export function NewTenant({
  isOpen,
  close,
}: {
  readonly isOpen: boolean
  readonly close: () => void
}) {
  const text = useWords(words)
  const navigate = useNavigate()
  const [name, setName] = useState('')
  const create = useMutation({
    mutationFn: () => clientOf().createTenant({ name: name.trim() }),
    onSettled: refreshTenants,
  })
  const end = () => {
    close()
    create.reset()
    setName('')
  }
  if (create.data !== undefined) {
    const { tenant_id, api_key } = create.data
    const goOn = () => {
      end()
      actFor(tenant_id)
      void navigate({ to: '/t/$tenantId', params: { tenantId: tenant_id } })
    }
    return (
      <ShownOnce
        title={text.tenantCreated(name.trim())}
        help={text.firstKey}
        label={text.keys}
        secret={api_key}
        close={end}
        action={<Button onClick={goOn}>{text.goOnAsTenant}</Button>}
      />
    )
  }
  return (
    <Dialog title={text.newTenant} isOpen={isOpen} close={end}>
      <DialogForm submit={() => create.mutate()}>
        <RequiredInput
          label={text.name}
          description={text.tenantNameHelp}
          value={name}
          maxLength={200}
          data-autofocus
          autoComplete="off"
          set={setName}
        />
        <DialogEnd
          confirm={text.createTenant}
          isBusy={create.isPending}
          isDisabled={name.trim() === ''}
          error={create.error}
          close={end}
        />
      </DialogForm>
    </Dialog>
  )
}
