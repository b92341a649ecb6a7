/** Gives a tenant another name. */
import type { Tenant } from '@postrider/client'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { ActionButton } from '../session/action-button.tsx'
import { clientOf } from '../session/client.ts'
import { TextInput } from '../ui/controls.ts'
import { Dialog, DialogEnd, DialogForm } from '../ui/dialog.tsx'
import { tellDone } from '../ui/toast.ts'
import { useWords } from '../words/define-words.ts'
import { refreshTenants } from './tenant-query.ts'
import { words } from './words.ts'

export function RenameTenant({ tenant }: { readonly tenant: Tenant }) {
  const text = useWords(words)
  const [name, setName] = useState<string>()
  const close = () => setName(undefined)
  const rename = useMutation({
    mutationFn: () => clientOf().updateTenant(tenant.tenant_id, { name: (name ?? '').trim() }),
    onSuccess() {
      close()
      tellDone(text.renamed)
    },
    onSettled: refreshTenants,
  })
  return (
    <>
      <ActionButton
        operation="updateTenant"
        size="xs"
        variant="default"
        onClick={() => setName(tenant.name)}
      >
        {text.rename}
      </ActionButton>
      <Dialog title={text.rename} isOpen={name !== undefined} close={close}>
        <DialogForm submit={() => rename.mutate()}>
          <TextInput
            label={text.name}
            value={name ?? ''}
            maxLength={200}
            required
            withAsterisk={false}
            data-autofocus
            autoComplete="off"
            onChange={(event) => setName(event.currentTarget.value)}
          />
          <DialogEnd
            confirm={text.save}
            isBusy={rename.isPending}
            error={rename.error}
            close={close}
          />
        </DialogForm>
      </Dialog>
    </>
  )
}
