/** What may be done with an email: tried now, sent again, cancelled, its events sent again. */
import { useMutation } from '@tanstack/react-query'
import { Ban, Ellipsis, RotateCw, Send } from 'lucide-react'
import { useState } from 'react'
import { queryClient } from '../api/query-client.ts'
import { bulkStatuses } from '../emails/emails-search.ts'
import { runBulk } from '../emails/run-bulk.ts'
import type { Mailers } from '../emails/use-mailers.ts'
import { ActionButton } from '../session/action-button.tsx'
import { useTenant } from '../session/use-tenant.ts'
import { words as sessionWords } from '../session/words.ts'
import { Banner } from '../ui/banner.tsx'
import { ActionIcon, Menu, Select } from '../ui/controls.ts'
import { Confirm } from '../ui/dialog.tsx'
import { tellDone, tellFailed } from '../ui/toast.ts'
import { useWords } from '../words/define-words.ts'
import type { Trace } from './build-timeline.ts'
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
  const mayText = useWords(sessionWords)
  const { client, tenantId, may, isLooking } = useTenant()
  const [asked, setAsked] = useState<Asked>()
  const [mailerId, setMailerId] = useState('')
  const { ref_id: refId, recipients } = email
  const countOf = (statuses: readonly string[]) =>
    recipients.filter(({ status }) => statuses.includes(status)).length
  const counts = {
    retry: countOf(bulkStatuses.retry),
    cancel: countOf(bulkStatuses.cancel),
    rescue: countOf(bulkStatuses.rescue),
  }
  const uncertain = recipients.filter(
    ({ status, attempts }) => status === 'failed' && attempts.at(-1)?.outcome === 'uncertain',
  ).length

  const refresh = () =>
    Promise.all([
      queryClient.invalidateQueries({ queryKey: [tenantId, 'email', refId] }),
      queryClient.invalidateQueries({ queryKey: [tenantId, 'emails'] }),
    ])
  const change = { onError: tellFailed('change'), onSettled: refresh }
  const sending = { onError: tellFailed('send'), onSettled: refresh }
  const body = (pageToken: string | undefined) => ({
    ref_ids: [refId],
    ...(pageToken !== undefined && { pageToken }),
  })
  const whole = { onProgress: () => undefined, isStopped: () => false }
  const retry = useMutation({
    ...change,
    mutationFn: () => runBulk({ ...whole, call: (token) => client.retryEmails(body(token)) }),
    onSuccess: ({ changed }) => tellDone(changed === 0 ? text.nothingWaited : text.triedNow),
  })
  const cancel = useMutation({
    ...change,
    mutationFn: () => runBulk({ ...whole, call: (token) => client.cancelEmails(body(token)) }),
    onSuccess: ({ changed }) => done(changed, text.cancelled),
  })
  const rescue = useMutation({
    ...sending,
    mutationFn: () =>
      runBulk({
        ...whole,
        async call(token) {
          const by = mailerId === '' ? {} : { mailer_id: mailerId }
          const answer = await client.rescueEmails({ ...body(token), ...by })
          return { ...answer, changed: answer.rescued }
        },
      }),
    onSuccess: ({ changed }) => done(changed, text.sentAgain),
  })
  const replay = useMutation({
    ...sending,
    mutationFn: () => client.replayWebhookEvents({ ref_id: refId }),
    onSuccess: ({ replayed }) => done(replayed, text.replayed),
  })
  function done(count: number, tell: (count: number) => string): void {
    setAsked(undefined)
    tellDone(count === 0 ? text.noneChanged : tell(count))
  }

  const curl = `curl ${location.origin}/v1/email/${refId} -H "Authorization: Bearer $KEY"`
  const close = () => setAsked(undefined)
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
              {...(!may('replayWebhookEvents') && {
                'aria-disabled': true,
                'data-disabled': true,
              })}
              onClick={() => may('replayWebhookEvents') && setAsked('replay')}
            >
              {text.replay}
              {!may('replayWebhookEvents') && (
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
      <Confirm
        title={text.cancelTitle}
        isOpen={asked === 'cancel'}
        close={close}
        confirm={text.cancelDo}
        isDangerous
        isBusy={cancel.isPending}
        onConfirm={() => cancel.mutate()}
      >
        <p>{text.cancelHelp(counts.cancel)}</p>
      </Confirm>
      <Confirm
        title={text.rescueTitle}
        isOpen={asked === 'rescue'}
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
      <Confirm
        title={text.replayTitle}
        isOpen={asked === 'replay'}
        close={close}
        confirm={text.replayDo}
        isBusy={replay.isPending}
        onConfirm={() => replay.mutate()}
      >
        <p>{text.replayHelp(email.events.length)}</p>
      </Confirm>
    </>
  )
}
