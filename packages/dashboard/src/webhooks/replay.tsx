/** Sends events again: those of a time, of an email, or what was not delivered. */
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { queryClient } from '../api/query-client.ts'
import { useTenant } from '../session/use-tenant.ts'
import { Checkbox, TextInput } from '../ui/controls.ts'
import { Dialog, DialogEnd } from '../ui/dialog.tsx'
import { tellDone } from '../ui/toast.ts'
import { useWords } from '../words/define-words.ts'
import { useFormat } from '../words/format.ts'
import classes from './webhook-form.module.css'
import { words } from './words.ts'

export function Replay(o: { readonly isOpen: boolean; readonly close: () => void }) {
  const text = useWords(words)
  return (
    <Dialog title={text.replayTitle} isOpen={o.isOpen} close={o.close}>
      <Form close={o.close} />
    </Dialog>
  )
}

function Form({ close }: { readonly close: () => void }) {
  const text = useWords(words)
  const format = useFormat()
  const { tenantId, client } = useTenant()
  const [since, setSince] = useState('')
  const [refId, setRefId] = useState('')
  const [isUndelivered, setUndelivered] = useState(true)
  const replay = useMutation({
    mutationFn: async () =>
      (
        await client.replayWebhookEvents({
          undelivered: isUndelivered,
          ...(since !== '' && { start: new Date(since).toISOString() }),
          ...(refId !== '' && { ref_id: refId.trim() }),
        })
      ).replayed,
    async onSuccess(replayed) {
      tellDone(text.replayed(text.eventsCount(replayed, format.integer(replayed))))
      close()
      await queryClient.invalidateQueries({ queryKey: [tenantId] })
    },
  })
  return (
    <form
      className={classes.form}
      onSubmit={(event) => {
        event.preventDefault()
        replay.mutate()
      }}
    >
      <p>{text.replayHelp}</p>
      <TextInput
        type="datetime-local"
        label={text.replaySince}
        required={refId === ''}
        withAsterisk={false}
        value={since}
        onChange={(event) => setSince(event.currentTarget.value)}
      />
      <TextInput
        label={text.replayEmail}
        value={refId}
        onChange={(event) => setRefId(event.currentTarget.value)}
      />
      <Checkbox
        label={text.onlyUndelivered}
        checked={isUndelivered}
        onChange={(event) => setUndelivered(event.currentTarget.checked)}
      />
      <DialogEnd
        confirm={text.replay}
        isBusy={replay.isPending}
        error={replay.error}
        close={close}
      />
    </form>
  )
}
