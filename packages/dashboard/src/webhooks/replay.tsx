/**
 * Sends events again: those of a time, of an email, or what was not delivered. They are counted first, and seen on
 * their way until all of them were taken.
 */
import { useMutation, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { queryClient } from '../api/query-client.ts'
import { useTenant } from '../session/use-tenant.ts'
import { Failure } from '../ui/answers.tsx'
import { Button, Checkbox, TextInput } from '../ui/controls.ts'
import { Dialog, DialogEnd } from '../ui/dialog.tsx'
import { Row } from '../ui/page.tsx'
import { Progress } from '../ui/progress.tsx'
import { tellDone } from '../ui/toast.ts'
import { useWords } from '../words/define-words.ts'
import { useFormat } from '../words/format.ts'
import { watchReplay } from './replay-progress.ts'
import { WebhookStateMark } from './states.tsx'
import classes from './webhook-form.module.css'
import { words } from './words.ts'

/** Webhooks whose status is asked for again and again. A replay seldom goes to more. */
const watchedMax = 20
const afterFailureMs = 1_000

interface Begun {
  readonly replayed: number
  readonly webhook_ids: readonly string[]
}

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
    mutationFn: () => client.replayWebhookEvents(selection()),
    async onSuccess({ replayed, webhook_ids: webhookIds }) {
      if (!isWatched({ replayed, webhook_ids: webhookIds })) {
        tellDone(text.replayed(shown(replayed)))
        close()
      }
      await queryClient.invalidateQueries({ queryKey: [tenantId] })
    },
  })
  if (replay.data !== undefined) return <OnItsWay begun={replay.data} close={close} />
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

function isWatched({ replayed, webhook_ids: webhookIds }: Begun): boolean {
  return replayed > 0 && webhookIds.length <= watchedMax
}

function OnItsWay({ begun, close }: { readonly begun: Begun; readonly close: () => void }) {
  const text = useWords(words)
  const format = useFormat()
  const { tenantId, client } = useTenant()
  const { replayed, webhook_ids: webhookIds } = begun
  const [look] = useState(() =>
    watchReplay(replayed, webhookIds, async (webhookId, options: { signal: AbortSignal }) => {
      const { data, response } = await client.getWebhookStatus(webhookId, options).withResponse()
      return { status: data.status, atMs: Date.parse(response.headers.get('date') ?? '') }
    }),
  )
  const progress = useQuery({
    queryKey: [tenantId, 'replaying', begun],
    gcTime: 0,
    enabled: isWatched(begun),
    queryFn: ({ signal }) => look({ signal }),
    refetchInterval: ({ state: { data } }) =>
      data?.isOver === true ? false : (data?.afterMs ?? afterFailureMs),
    refetchOnWindowFocus: false,
  })
  const { gone = 0, isOver = false, heldUpBy } = progress.data ?? {}
  const all = text.eventsCount(replayed, format.integer(replayed))
  return (
    <div className={classes.form}>
      <Progress label={text.replayTitle} value={gone} max={replayed}>
        {isOver ? text.replayOver(all) : text.replayProgress(format.integer(gone), all)}
      </Progress>
      {progress.error !== null && <Failure error={progress.error} />}
      {heldUpBy !== undefined && (
        <p role="status">
          <WebhookStateMark state={heldUpBy} /> {text.stateHelp[heldUpBy]}{' '}
          <Link to="/t/$tenantId/webhooks" params={{ tenantId }}>
            {text.webhooks}
          </Link>
        </p>
      )}
      {!isOver && <p>{text.replayGoesOn}</p>}
      <Row>
        <Button variant="default" onClick={close}>
          {text.close}
        </Button>
      </Row>
    </div>
  )
}
