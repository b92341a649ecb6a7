/** Gives a tenant another name. */
import type { Tenant } from '@postrider/client'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { SmallAction } from '../session/action-button.tsx'
import { clientOf } from '../session/client.ts'
import { Dialog, DialogEnd, DialogForm } from '../ui/dialog.tsx'
import { RequiredInput } from '../ui/required-input.tsx'
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
      <SmallAction operation="updateTenant" onClick={() => setName(tenant.name)}>
        {text.rename}
      </SmallAction>
      <Dialog title={text.rename} isOpen={name !== undefined} close={close}>
        <DialogForm submit={() => rename.mutate()}>
          <RequiredInput
            label={text.name}
            value={name ?? ''}
            maxLength={200}
            data-autofocus
            autoComplete="off"
            set={setName}
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
