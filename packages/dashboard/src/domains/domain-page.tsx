/** One sending domain: its records, found against expected, and its key. */
import type { Domain } from '@postrider/client'
import { useMutation, useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { queryClient } from '../api/query-client.ts'
import { ActionButton } from '../session/action-button.tsx'
import { useTenant } from '../session/use-tenant.ts'
import { Answer } from '../ui/answers.tsx'
import { Confirm } from '../ui/dialog.tsx'
import { Card, Fields, Page } from '../ui/page.tsx'
import { Time } from '../ui/time.tsx'
import { tellDone, tellFailed } from '../ui/toast.ts'
import { useWords } from '../words/define-words.ts'
import { DomainStateMark } from './domain-state.tsx'
import { Records } from './records.tsx'
import { words } from './words.ts'

export function DomainPage() {
  const { tenantId, client } = useTenant()
  const { domain: name } = useParams({ from: '/shell/t/$tenantId/domains/$domain' })
  const domain = useQuery({
    queryKey: [tenantId, 'domain', name],
    queryFn: async ({ signal }) => (await client.getDomain(name, { signal })).domain,
    refetchInterval: ({ state }) => (state.data?.verified === true ? 60_000 : 10_000),
  })
  return <Answer query={domain}>{(found) => <Found domain={found} />}</Answer>
}

function Found({ domain }: { readonly domain: Domain }) {
  const text = useWords(words)
  const { tenantId } = useTenant()
  const [open, setOpen] = useState<'rotate' | 'delete'>()
  const close = () => setOpen(undefined)
  const { check, rotate, remove } = useChanges(domain, close)
  return (
    <Page
      title={domain.domain}
      trail={
        <Link to="/t/$tenantId/domains" params={{ tenantId }}>
          {text.domains}
        </Link>
      }
      lead={
        <>
          <DomainStateMark state={domain.state} /> {text.stateHelp[domain.state]}
        </>
      }
      actions={
        <>
          <ActionButton
            operation="verifyDomain"
            loading={check.isPending}
            onClick={() => check.mutate()}
          >
            {text.checkNow}
          </ActionButton>
          <ActionButton
            variant="default"
            operation="rotateDomainKey"
            onClick={() => setOpen('rotate')}
          >
            {text.rotate}
          </ActionButton>
          <ActionButton
            variant="default"
            operation="deleteDomain"
            onClick={() => setOpen('delete')}
          >
            {text.delete}
          </ActionButton>
        </>
      }
    >
      {domain.relay === 'simulator' ? (
        <Card title={text.records}>
          <p>{text.noRecordsHelp}</p>
        </Card>
      ) : (
        <Records records={domain.records} />
      )}
      <Card>
        <Facts domain={domain} />
      </Card>
      <Confirm
        title={text.rotateTitle}
        confirm={text.rotate}
        isOpen={open === 'rotate'}
        close={close}
        isBusy={rotate.isPending}
        error={rotate.error}
        onConfirm={() => rotate.mutate()}
      >
        <p>{text.rotateSteps}</p>
      </Confirm>
      <Confirm
        title={text.deleteTitle}
        confirm={text.delete}
        nameToType={domain.domain}
        isDangerous
        isOpen={open === 'delete'}
        close={close}
        isBusy={remove.isPending}
        error={remove.error}
        onConfirm={() => remove.mutate()}
      >
        <p>{text.deleteHelp}</p>
      </Confirm>
    </Page>
  )
}

/** `close`: of the dialog, once the key was changed. */
function useChanges({ domain: name }: Domain, close: () => void) {
  const text = useWords(words)
  const { tenantId, client } = useTenant()
  const navigate = useNavigate()
  const refresh = () => queryClient.invalidateQueries({ queryKey: [tenantId] })
  const check = useMutation({
    mutationFn: () => client.verifyDomain(name),
    onSuccess: () => tellDone(text.checked),
    onError: tellFailed('check'),
    onSettled: refresh,
  })
  const rotate = useMutation({
    mutationFn: () => client.rotateDomainKey(name),
    onSuccess() {
      tellDone(text.rotated)
      close()
    },
    onSettled: refresh,
  })
  const remove = useMutation({
    mutationFn: () => client.deleteDomain(name),
    async onSuccess() {
      tellDone(text.deleted)
      await navigate({ to: '/t/$tenantId/domains', params: { tenantId } })
      await refresh()
    },
  })
  return { check, rotate, remove }
}

function Facts({ domain }: { readonly domain: Domain }) {
  const text = useWords(words)
  const { tenantId } = useTenant()
  return (
    <Fields
      entries={[
        [text.relay, domain.relay],
        [
          text.provider,
          domain.provider.agrees ? text.agrees : (domain.provider.detail ?? text.disagrees),
        ],
        [text.lastCheck, <Time at={domain.last_check_at} />],
        [text.nextCheck, <Time at={domain.next_check_at} />],
        [text.addedAt, <Time at={domain.created_at} />],
        [
          text.mailer,
          <Link
            to="/t/$tenantId/mailers/$mailerId"
            params={{ tenantId, mailerId: domain.mailer_id }}
          >
            {domain.mailer_id}
          </Link>,
        ],
      ]}
    />
  )
}
