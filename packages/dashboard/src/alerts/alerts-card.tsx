/** Where alerts go, of a tenant or of the whole service: shown, set and removed. */
import type { AlertKind, Alerts, OperationId, SetAlertsBody } from '@postrider/client'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { queryClient } from '../api/query-client.ts'
import { ActionButton } from '../session/action-button.tsx'
import { Answer, Failure } from '../ui/answers.tsx'
import { Checkbox } from '../ui/controls.ts'
import { Confirm } from '../ui/dialog.tsx'
import { Card, Fields, Row, Stack } from '../ui/page.tsx'
import { RequiredInput } from '../ui/required-input.tsx'
import { Time } from '../ui/time.tsx'
import { tellDone } from '../ui/toast.ts'
import { useWords } from '../words/define-words.ts'
import { useFormat } from '../words/format.ts'
import { words } from './words.ts'

export interface AlertsSource {
  readonly queryKey: readonly string[]
  readonly note: string
  readonly get: (signal: AbortSignal) => Promise<{ readonly alerts: Alerts | null }>
  readonly set: (body: SetAlertsBody) => Promise<unknown>
  readonly remove: () => Promise<unknown>
  readonly operations: { readonly set: OperationId; readonly remove: OperationId }
}

const refreshMs = 15_000

export function AlertsCard({ source }: { readonly source: AlertsSource }) {
  const text = useWords(words)
  const alerts = useQuery({
    queryKey: source.queryKey,
    queryFn: async ({ signal }) => (await source.get(signal)).alerts,
    refetchInterval: refreshMs,
  })
  return (
    <Card title={text.alerts} note={source.note}>
      <Answer query={alerts}>
        {(found) => (
          <Stack>
            {found !== null && <Facts alerts={found} />}
            <Form key={found?.updated_at ?? ''} source={source} alerts={found} />
          </Stack>
        )}
      </Answer>
    </Card>
  )
}

function Facts({ alerts }: { readonly alerts: Alerts }) {
  const text = useWords(words)
  const format = useFormat()
  return (
    <Fields
      entries={[
        [text.url, <code>{alerts.url}</code>],
        [text.form, text.forms[alerts.form]],
        [text.waiting, format.integer(alerts.waiting)],
        [text.lastOk, <Time at={alerts.last_ok_at} />],
        alerts.last_error === null ? undefined : [text.lastError, alerts.last_error],
      ]}
    />
  )
}

function Form({
  source,
  alerts,
}: {
  readonly source: AlertsSource
  readonly alerts: Alerts | null
}) {
  const text = useWords(words)
  const allKinds = Object.keys(text.kinds) as AlertKind[]
  // The address of Slack is a secret, which is not shown again.
  const [url, setUrl] = useState(alerts?.form === 'json' ? alerts.url : '')
  const [kinds, setKinds] = useState<readonly AlertKind[]>(alerts?.kinds ?? allKinds)
  const [isRemoving, setRemoving] = useState(false)
  const refresh = () => queryClient.invalidateQueries({ queryKey: source.queryKey })
  const save = useMutation({
    mutationFn: () => source.set({ url: url.trim(), kinds: [...kinds] }),
    onSuccess: () => tellDone(text.saved),
    onSettled: refresh,
  })
  const remove = useMutation({
    mutationFn: source.remove,
    onSuccess() {
      tellDone(text.removed)
      setRemoving(false)
    },
    onSettled: refresh,
  })
  return (
    <>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          save.mutate()
        }}
      >
        <Stack>
          <RequiredInput
            label={text.url}
            description={text.urlHelp}
            placeholder={alerts?.url ?? 'https://hooks.example.com/alerts'}
            value={url}
            set={setUrl}
          />
          <Checkbox.Group
            label={text.kindsLabel}
            value={[...kinds]}
            onChange={(chosen) => setKinds(allKinds.filter((kind) => chosen.includes(kind)))}
          >
            <Stack>
              {allKinds.map((kind) => (
                <Checkbox key={kind} value={kind} label={text.kinds[kind]} />
              ))}
            </Stack>
          </Checkbox.Group>
          {save.error && <Failure what="save" error={save.error} />}
          <Row>
            <ActionButton
              type="submit"
              operation={source.operations.set}
              loading={save.isPending}
              disabled={kinds.length === 0}
            >
              {text.save}
            </ActionButton>
            {alerts !== null && (
              <ActionButton
                variant="default"
                operation={source.operations.remove}
                onClick={() => setRemoving(true)}
              >
                {text.remove}
              </ActionButton>
            )}
          </Row>
        </Stack>
      </form>
      {/* Beside the form: the confirmation is a form of its own, and would submit this one, too. */}
      <Confirm
        title={text.removeTitle}
        confirm={text.remove}
        isDangerous
        isOpen={isRemoving}
        close={() => setRemoving(false)}
        isBusy={remove.isPending}
        error={remove.error}
        onConfirm={() => remove.mutate()}
      >
        <p>{text.removeHelp}</p>
      </Confirm>
    </>
  )
}
