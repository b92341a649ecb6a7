/** Gives a tenant another name. */
import type { Tenant } from '@postrider/client'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { clientOf } from '../session/client.ts'
import { Button, TextInput } from '../ui/controls.ts'
import { Dialog, DialogEnd } from '../ui/dialog.tsx'
import { Stack } from '../ui/page.tsx'
import { tellDone } from '../ui/toast.ts'
import { useWords } from '../words/define-words.ts'
import { IfMay } from './read-only.tsx'
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
    <IfMay operation="updateTenant">
      <Button size="xs" variant="default" onClick={() => setName(tenant.name)}>
        {text.rename}
      </Button>
      <Dialog title={text.rename} isOpen={name !== undefined} close={close}>
        <form
          onSubmit={(event) => {
            event.preventDefault()
            rename.mutate()
          }}
        >
          <Stack>
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
          </Stack>
        </form>
      </Dialog>
    </IfMay>
  )
}
