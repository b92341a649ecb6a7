/** What may be done with an email: tried now, sent again, cancelled, its events sent again. */
import { useMutation } from '@tanstack/react-query'
import { Ban, Ellipsis, RotateCw, Send } from 'lucide-react'
import { useState } from 'react'
import { queryClient } from '../api/query-client.ts'
import { bulkStatuses } from '../emails/emails-search.ts'
import { type BulkPage, runBulk } from '../emails/run-bulk.ts'
import type { Mailers } from '../emails/use-mailers.ts'
import { ActionButton } from '../session/action-button.tsx'
import { useTenant } from '../session/use-tenant.ts'
import { words as sessionWords } from '../session/words.ts'
import { Banner } from '../ui/banner.tsx'
import { ActionIcon, Menu, Select } from '../ui/controls.ts'
import { Confirm } from '../ui/dialog.tsx'
import { tellDone, tellFailed } from '../ui/toast.ts'
import { useWords } from '../words/define-words.ts'
import type { Trace, TracedRecipient } from './build-timeline.ts'
import classes from './email.module.css'
import { words } from './words.ts'

type Asked = 'cancel' | 'rescue' | 'replay'

export function EmailActions({
  email,
  mailers,
}: {
  readonly email: Trace
  readonly mailers: Mailers
}) {
  const text = useWords(words)
  const { client } = useTenant()
  const [asked, setAsked] = useState<Asked>()
  const counts = countsOf(email.recipients)
  const refresh = useRefresh(email)
  const retry = useMutation({
    mutationFn: () => runWhole(email, (body) => client.retryEmails(body)),
    onError: tellFailed('change'),
    onSettled: refresh,
    onSuccess: ({ changed }) => tellDone(changed === 0 ? text.nothingWaited : text.triedNow),
  })
  const dialog = (name: Asked): DialogProps => ({
    ...{ email, counts },
    isOpen: asked === name,
    close: () => setAsked(undefined),
  })
  return (
    <>
      {counts.retry > 0 && (
        <ActionButton
          operation="retryEmails"
          leftSection={<RotateCw size={14} aria-hidden />}
          loading={retry.isPending}
          onClick={() => retry.mutate()}
        >
          {text.tryNow}
        </ActionButton>
      )}
      {counts.rescue > 0 && (
        <ActionButton
          operation="rescueEmails"
          {...(counts.retry > 0 && { variant: 'default' })}
          leftSection={<Send size={14} aria-hidden />}
          onClick={() => setAsked('rescue')}
        >
          {text.sendAgain}
        </ActionButton>
      )}
      {counts.cancel > 0 && (
        <ActionButton
          operation="cancelEmails"
          variant="default"
          leftSection={<Ban size={14} aria-hidden />}
          onClick={() => setAsked('cancel')}
        >
          {text.cancel}
        </ActionButton>
      )}
      <MoreMenu email={email} replay={() => setAsked('replay')} />
      <CancelDialog {...dialog('cancel')} />
      <RescueDialog {...dialog('rescue')} mailers={mailers} />
      <ReplayDialog {...dialog('replay')} />
    </>
  )
}

/** How many recipients each action would change. */
function countsOf(recipients: readonly TracedRecipient[]) {
  const countOf = (statuses: readonly string[]) =>
    recipients.filter(({ status }) => statuses.includes(status)).length
  return {
    retry: countOf(bulkStatuses.retry),
    cancel: countOf(bulkStatuses.cancel),
    rescue: countOf(bulkStatuses.rescue),
  }
}

/** On all recipients of the email: nobody watches how far it is, and nobody stops it. */
function runWhole(
  { ref_id: refId }: Trace,
  call: (body: { ref_ids: string[]; pageToken?: string }) => Promise<BulkPage>,
) {
  return runBulk({
    call: (token) => call({ ref_ids: [refId], ...(token !== undefined && { pageToken: token }) }),
    onProgress: () => undefined,
    isStopped: () => false,
  })
}

function useRefresh({ ref_id: refId }: Trace) {
  const { tenantId } = useTenant()
  return () =>
    Promise.all([
      queryClient.invalidateQueries({ queryKey: [tenantId, 'email', refId] }),
      queryClient.invalidateQueries({ queryKey: [tenantId, 'emails'] }),
    ])
}

function MoreMenu({ email, replay }: { readonly email: Trace; readonly replay: () => void }) {
  const text = useWords(words)
  const mayText = useWords(sessionWords)
  const { may, isLooking } = useTenant()
  const mayReplay = may('replayWebhookEvents')
  const curl = `curl ${location.origin}/v1/email/${email.ref_id} -H "Authorization: Bearer $KEY"`
  return (
    <Menu width={260}>
      <Menu.Target>
        <ActionIcon variant="default" size={36} aria-label={text.more}>
          <Ellipsis size={16} aria-hidden />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {email.events.length > 0 && (
          <Menu.Item
            data-operation="replayWebhookEvents"
            {...(!mayReplay && { 'aria-disabled': true, 'data-disabled': true })}
            onClick={() => mayReplay && replay()}
          >
            {text.replay}
            {!mayReplay && (
              <span className={classes.quiet}>
                {' '}
                {isLooking ? mayText.actFirst : mayText.notForRole}
              </span>
            )}
          </Menu.Item>
        )}
        <Menu.Item
          onClick={() =>
            void navigator.clipboard
              .writeText(curl)
              .then(() => tellDone(text.copied), tellFailed('copy'))
          }
        >
          {text.copyCurl}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}

interface DialogProps {
  readonly email: Trace
  readonly counts: ReturnType<typeof countsOf>
  readonly isOpen: boolean
  readonly close: () => void
}

function CancelDialog({ email, counts, isOpen, close }: DialogProps) {
  const text = useWords(words)
  const { client } = useTenant()
  const cancel = useMutation({
    mutationFn: () => runWhole(email, (body) => client.cancelEmails(body)),
    onError: tellFailed('change'),
    onSettled: useRefresh(email),
    onSuccess({ changed }) {
      close()
      tellDone(changed === 0 ? text.noneChanged : text.cancelled(changed))
    },
  })
  return (
    <Confirm
      title={text.cancelTitle}
      isOpen={isOpen}
      close={close}
      confirm={text.cancelDo}
      isDangerous
      isBusy={cancel.isPending}
      onConfirm={() => cancel.mutate()}
    >
      <p>{text.cancelHelp(counts.cancel)}</p>
    </Confirm>
  )
}

function RescueDialog({
  email,
  counts,
  isOpen,
  close,
  mailers,
}: DialogProps & { readonly mailers: Mailers }) {
  const text = useWords(words)
  const { client } = useTenant()
  const [mailerId, setMailerId] = useState('')
  const rescue = useMutation({
    mutationFn: () =>
      runWhole(email, async (body) => {
        const by = mailerId === '' ? {} : { mailer_id: mailerId }
        const answer = await client.rescueEmails({ ...body, ...by })
        return { ...answer, changed: answer.rescued }
      }),
    onError: tellFailed('send'),
    onSettled: useRefresh(email),
    onSuccess({ changed }) {
      close()
      tellDone(changed === 0 ? text.noneChanged : text.sentAgain(changed))
    },
  })
  const uncertain = email.recipients.filter(
    ({ status, attempts }) => status === 'failed' && attempts.at(-1)?.outcome === 'uncertain',
  ).length
  return (
    <Confirm
      title={text.rescueTitle}
      isOpen={isOpen}
      close={close}
      confirm={text.sendAgain}
      isBusy={rescue.isPending}
      onConfirm={() => rescue.mutate()}
    >
      <p>{text.rescueHelp(counts.rescue)}</p>
      {uncertain > 0 && (
        <Banner tone="warn" word={text.mayBeTwice} title="">
          {text.uncertainHelp(uncertain)}
        </Banner>
      )}
      <Select
        label={text.sendBy}
        data={[
          { value: '', label: text.sameMailer },
          ...mailers.sending.map(({ mailer_id, name }) => ({ value: mailer_id, label: name })),
        ]}
        value={mailerId}
        onChange={(value) => setMailerId(value ?? '')}
      />
    </Confirm>
  )
}

function ReplayDialog({ email, isOpen, close }: DialogProps) {
  const text = useWords(words)
  const { client } = useTenant()
  const replay = useMutation({
    mutationFn: () => client.replayWebhookEvents({ ref_id: email.ref_id }),
    onError: tellFailed('send'),
    onSettled: useRefresh(email),
    onSuccess({ replayed }) {
      close()
      tellDone(replayed === 0 ? text.noneChanged : text.replayed(replayed))
    },
  })
  return (
    <Confirm
      title={text.replayTitle}
      isOpen={isOpen}
      close={close}
      confirm={text.replayDo}
      isBusy={replay.isPending}
      onConfirm={() => replay.mutate()}
    >
      <p>{text.replayHelp(email.events.length)}</p>
    </Confirm>
  )
}
