/** Suppresses an address by hand, with a note and an end. */
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { suppressionReasons } from '../api/names.ts'
import { queryClient } from '../api/query-client.ts'
import { useTenant } from '../session/use-tenant.ts'
import { Select, TextInput } from '../ui/controls.ts'
import { Dialog, DialogEnd, DialogForm } from '../ui/dialog.tsx'
import { RequiredInput } from '../ui/required-input.tsx'
import { tellDone } from '../ui/toast.ts'
import { useWords } from '../words/define-words.ts'
import { words } from './words.ts'

export function AddSuppression(o: { readonly isOpen: boolean; readonly close: () => void }) {
  const text = useWords(words)
  return (
    <Dialog title={text.add} isOpen={o.isOpen} close={o.close}>
      <Form close={o.close} />
    </Dialog>
  )
}

function Form({ close }: { readonly close: () => void }) {
  const text = useWords(words)
  const { tenantId, client } = useTenant()
  const [email, setEmail] = useState('')
  const [reason, setReason] = useState<(typeof suppressionReasons)[number]>('manual')
  const [note, setNote] = useState('')
  const [ends, setEnds] = useState('')
  const add = useMutation({
    mutationFn: () =>
      client.addSuppression({
        email: email.trim(),
        reason,
        ...(note !== '' && { note }),
        ...(ends !== '' && { expires_at: new Date(ends) }),
      }),
    async onSuccess({ changed }) {
      tellDone(changed ? text.added : text.unchanged)
      close()
      await queryClient.invalidateQueries({ queryKey: [tenantId, 'suppressions'] })
    },
  })
  return (
    <DialogForm submit={() => add.mutate()}>
      <RequiredInput
        label={text.address}
        type="email"
        data-autofocus
        value={email}
        set={setEmail}
      />
      <Select
        label={text.reason}
        data={suppressionReasons.map((value) => ({ value, label: text.reasons[value] }))}
        value={reason}
        onChange={(value) => setReason(suppressionReasons.find((one) => one === value) ?? 'manual')}
      />
      <TextInput
        label={text.note}
        description={text.noteHelp}
        maxLength={500}
        value={note}
        onChange={(event) => setNote(event.currentTarget.value)}
      />
      <TextInput
        type="datetime-local"
        label={text.ends}
        description={text.endsHelp}
        value={ends}
        onChange={(event) => setEnds(event.currentTarget.value)}
      />
      <DialogEnd confirm={text.add} isBusy={add.isPending} error={add.error} close={close} />
    </DialogForm>
  )
}
