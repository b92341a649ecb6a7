/** Sends events again: those of a time, of an email, or what was not delivered. They are counted first. */
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
  const selection = () => ({
    undelivered: isUndelivered,
    ...(since !== '' && { start: new Date(since).toISOString() }),
    ...(refId !== '' && { ref_id: refId.trim() }),
  })
  const shown = (count: number) => text.eventsCount(count, format.integer(count))
  const count = useMutation({
    mutationFn: async () =>
      (await client.replayWebhookEvents({ ...selection(), dry_run: true })).matched ?? 0,
  })
  const replay = useMutation({
    mutationFn: async () => (await client.replayWebhookEvents(selection())).replayed,
    async onSuccess(replayed) {
      tellDone(text.replayed(shown(replayed)))
      close()
      await queryClient.invalidateQueries({ queryKey: [tenantId] })
    },
  })
  /** What was counted is what is sent. */
  function choose(change: () => void): void {
    change()
    count.reset()
    replay.reset()
  }
  return (
    <form
      className={classes.form}
      onSubmit={(event) => {
        event.preventDefault()
        if (count.data === undefined) count.mutate()
        else replay.mutate()
      }}
    >
      <p>{text.replayHelp}</p>
      <TextInput
        type="datetime-local"
        label={text.replaySince}
        required={refId === ''}
        withAsterisk={false}
        value={since}
        onChange={({ currentTarget: { value } }) => choose(() => setSince(value))}
      />
      <TextInput
        label={text.replayEmail}
        value={refId}
        onChange={({ currentTarget: { value } }) => choose(() => setRefId(value))}
      />
      <Checkbox
        label={text.onlyUndelivered}
        checked={isUndelivered}
        onChange={({ currentTarget: { checked } }) => choose(() => setUndelivered(checked))}
      />
      <p role="status">
        {count.data === undefined
          ? null
          : count.data === 0
            ? text.replayNothing
            : text.replayMatched(shown(count.data))}
      </p>
      <DialogEnd
        confirm={
          count.data === undefined ? text.replayCount : text.replayConfirm(shown(count.data))
        }
        isBusy={count.isPending || replay.isPending}
        isDisabled={count.data === 0}
        error={count.error ?? replay.error}
        failed="send"
        close={close}
      />
    </form>
  )
}
