/** What a tenant uses of its quotas, and their change. */
import type { QuotaName, Tenant, TenantUsage } from '@postrider/client'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { SmallAction } from '../session/action-button.tsx'
import { clientOf } from '../session/client.ts'
import { TextInput } from '../ui/controls.ts'
import { Dialog, DialogEnd, DialogForm } from '../ui/dialog.tsx'
import { Meter } from '../ui/meter.tsx'
import { Card, Fields, Row } from '../ui/page.tsx'
import { StateMark } from '../ui/state-mark.tsx'
import { tellDone } from '../ui/toast.ts'
import { useWords } from '../words/define-words.ts'
import { useFormat } from '../words/format.ts'
import { readQuota, usageTone } from './states.ts'
import { refreshTenants } from './tenant-query.ts'
import { words } from './words.ts'

const usageOf: Readonly<Record<QuotaName, keyof TenantUsage | undefined>> = {
  emails_per_day: 'emails_today',
  queued_max: 'queued',
  storage_bytes_max: 'storage_bytes',
  emails_per_second: undefined,
}
const quotaNames = Object.keys(usageOf) as readonly QuotaName[]

export function TenantQuotas({ tenant }: { readonly tenant: Tenant }) {
  const text = useWords(words)
  const [isOpen, setOpen] = useState(false)
  return (
    <Card
      title={text.usage}
      note={text.usageNote}
      actions={
        tenant.state !== 'deleting' && (
          <SmallAction operation="updateTenant" onClick={() => setOpen(true)}>
            {text.changeQuotas}
          </SmallAction>
        )
      }
    >
      <Fields
        entries={quotaNames.map((name) => [
          text.quotaNames[name],
          <Used key={name} tenant={tenant} name={name} />,
        ])}
      />
      {isOpen && <QuotaForm tenant={tenant} close={() => setOpen(false)} />}
    </Card>
  )
}

function Used({ tenant, name }: { readonly tenant: Tenant; readonly name: QuotaName }) {
  const text = useWords(words)
  const format = useFormat()
  const show = name === 'storage_bytes_max' ? format.bytes : format.integer
  const field = usageOf[name]
  const quota = tenant.quotas[name]
  if (field === undefined) return quota === null ? text.noQuota : show(quota)
  const used = tenant.usage[field]
  if (quota === null) return `${show(used)} (${text.noQuota})`
  const tone = usageTone(used, quota)
  return (
    <>
      <Row>
        <span>{text.ofQuota(show(used), show(quota))}</span>
        {tone !== 'good' && (
          <StateMark tone={tone}>{tone === 'bad' ? text.atQuota : text.nearQuota}</StateMark>
        )}
      </Row>
      <Meter label={text.quotaNames[name]} share={quota === 0 ? 1 : used / quota} tone={tone} />
    </>
  )
}

function QuotaForm({ tenant, close }: { readonly tenant: Tenant; readonly close: () => void }) {
  const text = useWords(words)
  const [typed, setTyped] = useState(
    () =>
      Object.fromEntries(
        quotaNames.map((name) => [name, tenant.quotas[name]?.toString() ?? '']),
      ) as Record<QuotaName, string>,
  )
  const isSound = quotaNames.every((name) => readQuota(typed[name]) !== undefined)
  const save = useMutation({
    mutationFn: () => {
      const quotas = Object.fromEntries(quotaNames.map((name) => [name, readQuota(typed[name])]))
      return clientOf().updateTenant(tenant.tenant_id, { quotas })
    },
    onSuccess() {
      close()
      tellDone(text.quotasChanged)
    },
    onSettled: refreshTenants,
  })
  return (
    <Dialog title={text.changeQuotas} isOpen close={close}>
      <DialogForm submit={() => save.mutate()}>
        {quotaNames.map((name) => (
          <TextInput
            key={name}
            label={text.quotaNames[name]}
            description={text.quotaHelp[name]}
            inputMode="numeric"
            autoComplete="off"
            value={typed[name]}
            error={readQuota(typed[name]) === undefined ? text.wholeNumber : undefined}
            onChange={({ currentTarget: { value } }) =>
              setTyped((before) => ({ ...before, [name]: value }))
            }
          />
        ))}
        <DialogEnd
          confirm={text.save}
          isBusy={save.isPending}
          isDisabled={!isSound}
          error={save.error}
          close={close}
        />
      </DialogForm>
    </Dialog>
  )
}
