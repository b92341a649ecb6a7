/** One tenant as the operator sees it: what it uses, its keys and people, and its end. */
import type { Tenant } from '@postrider/client'
import { useMutation, useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { actFor } from '../session/acting.ts'
import { ActionButton } from '../session/action-button.tsx'
import { clientOf } from '../session/client.ts'
import { Answer } from '../ui/answers.tsx'
import { Banner } from '../ui/banner.tsx'
import { Button } from '../ui/controls.ts'
import { Copyable } from '../ui/copy.tsx'
import { Confirm } from '../ui/dialog.tsx'
import { Card, Columns, Fields, Page, Row } from '../ui/page.tsx'
import { StateMark } from '../ui/state-mark.tsx'
import { Time } from '../ui/time.tsx'
import { tellDone, tellFailed } from '../ui/toast.ts'
import { useWords } from '../words/define-words.ts'
import { useFormat } from '../words/format.ts'
import { RenameTenant } from './rename-tenant.tsx'
import { tenantTones } from './states.ts'
import { TenantKeys } from './tenant-keys.tsx'
import { TenantMembers } from './tenant-members.tsx'
import { refreshTenants, tenantQuery } from './tenant-query.ts'
import { TenantQuotas } from './tenant-quotas.tsx'
import { words } from './words.ts'

export function TenantPage() {
  const text = useWords(words)
  const { id } = useParams({ from: '/shell/operator/tenants/$id' })
  const query = useQuery(tenantQuery(id))
  const tenant = query.data?.tenant
  return (
    <Page
      title={tenant?.name ?? text.tenants}
      trail={<Link to="/operator/tenants">{text.tenants}</Link>}
      {...(tenant !== undefined && {
        heading: (
          <Row>
            <span>{tenant.name}</span>
            <StateMark tone={tenantTones[tenant.state]}>
              {text.tenantStates[tenant.state]}
            </StateMark>
          </Row>
        ),
        actions: <Entrance tenant={tenant} />,
      })}
    >
      <Answer query={query}>{(answer) => <Details tenant={answer.tenant} />}</Answer>
    </Page>
  )
}

/** Into the tenant's own pages, reading or acting. */
function Entrance({ tenant }: { readonly tenant: Tenant }) {
  const text = useWords(words)
  const navigate = useNavigate()
  if (tenant.state === 'deleting') return null
  const enter = (isActing: boolean) => {
    actFor(isActing ? tenant.tenant_id : undefined)
    void navigate({ to: '/t/$tenantId', params: { tenantId: tenant.tenant_id } })
  }
  return (
    <>
      <Button variant="default" onClick={() => enter(false)}>
        {text.lookInto}
      </Button>
      <ActionButton operation="updateTenant" onClick={() => enter(true)}>
        {text.actFor}
      </ActionButton>
    </>
  )
}

function Details({ tenant }: { readonly tenant: Tenant }) {
  const text = useWords(words)
  return (
    <>
      {tenant.state === 'suspended' && (
        <Banner tone="warn" word={text.tenantStates.suspended} title={text.isSuspendedTitle}>
          {text.isSuspendedHelp}
        </Banner>
      )}
      {tenant.state === 'deleting' && (
        <Banner tone="bad" word={text.tenantStates.deleting} title={text.isDeletingTitle}>
          {text.isDeletingHelp}
        </Banner>
      )}
      <Columns>
        <TenantQuotas tenant={tenant} />
        <Card
          title={text.tenant}
          actions={tenant.state !== 'deleting' && <RenameTenant tenant={tenant} />}
        >
          <Fields
            entries={[
              [text.name, tenant.name],
              [text.id, <Copyable key="id" value={tenant.tenant_id} />],
              [text.created, <Time key="at" at={tenant.created_at} />],
            ]}
          />
        </Card>
      </Columns>
      {tenant.state !== 'deleting' && (
        <>
          <TenantKeys tenantId={tenant.tenant_id} />
          <TenantMembers tenantId={tenant.tenant_id} />
          <End tenant={tenant} />
        </>
      )}
    </>
  )
}

/** Suspends, activates and deletes. */
function End({ tenant }: { readonly tenant: Tenant }) {
  const text = useWords(words)
  const format = useFormat()
  const navigate = useNavigate()
  const [asked, setAsked] = useState<'suspend' | 'delete'>()
  const { tenant_id: tenantId, name, usage } = tenant
  const isSuspended = tenant.state === 'suspended'
  const close = () => setAsked(undefined)
  const change = useMutation({
    mutationFn: () =>
      clientOf().updateTenant(tenantId, { state: isSuspended ? 'active' : 'suspended' }),
    onSuccess() {
      close()
      tellDone(isSuspended ? text.activated : text.suspended)
    },
    onError: tellFailed('change'),
    onSettled: refreshTenants,
  })
  const remove = useMutation({
    mutationFn: () => clientOf().deleteTenant(tenantId, { confirm: name }),
    // Away first: its keys are asked for no more.
    async onSuccess() {
      tellDone(text.deleting)
      await navigate({ to: '/operator/tenants' })
    },
    onSettled: refreshTenants,
  })
  const queued = format.integer(usage.queued)
  return (
    <Card title={text.dangerZone} note={text.dangerHelp}>
      <Row>
        <ActionButton
          operation="updateTenant"
          variant="default"
          loading={change.isPending}
          onClick={() => (isSuspended ? change.mutate() : setAsked('suspend'))}
        >
          {isSuspended ? text.activate : text.suspend}
        </ActionButton>
        <ActionButton
          operation="deleteTenant"
          variant="default"
          c="var(--bad)"
          onClick={() => setAsked('delete')}
        >
          {text.deleteTenant}
        </ActionButton>
      </Row>
      <Confirm
        title={text.suspendTitle(name)}
        isOpen={asked === 'suspend'}
        close={close}
        confirm={text.suspend}
        isDangerous
        isBusy={change.isPending}
        onConfirm={() => change.mutate()}
      >
        <p>{text.suspendHelp(queued, usage.queued)}</p>
      </Confirm>
      <Confirm
        title={text.deleteTenantTitle(name)}
        isOpen={asked === 'delete'}
        close={close}
        confirm={text.deleteTenant}
        nameToType={name}
        isDangerous
        isBusy={remove.isPending}
        error={remove.error}
        onConfirm={() => remove.mutate()}
      >
        <p>{text.deleteTenantHelp(queued, format.bytes(usage.storage_bytes))}</p>
      </Confirm>
    </Card>
  )
}
