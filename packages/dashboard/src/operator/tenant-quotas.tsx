/** What a tenant uses of its quotas, and their change. */
import type { QuotaName, Tenant } from '@postrider/client'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { SmallAction } from '../session/action-button.tsx'
import { clientOf } from '../session/client.ts'
import { TextInput } from '../ui/controls.ts'
import { Dialog, DialogEnd, DialogForm } from '../ui/dialog.tsx'
import { Card } from '../ui/page.tsx'
import { tellDone } from '../ui/toast.ts'
import { usedQuotas } from '../usage/usage.ts'
import { UsageFields } from '../usage/usage-fields.tsx'
import { words as usageWords } from '../usage/words.ts'
import { useWords } from '../words/define-words.ts'
import { readQuota } from './states.ts'
import { refreshTenants } from './tenant-query.ts'
import { words } from './words.ts'

const quotaNames: readonly QuotaName[] = [...usedQuotas, 'emails_per_second']

export function TenantQuotas({ tenant }: { readonly tenant: Tenant }) {
  const text = useWords(words)
  const usageText = useWords(usageWords)
  const [isOpen, setOpen] = useState(false)
  return (
    <Card
      title={usageText.usage}
      note={usageText.usageNote}
      actions={
        tenant.state !== 'deleting' && (
          <SmallAction operation="updateTenant" onClick={() => setOpen(true)}>
            {text.changeQuotas}
          </SmallAction>
        )
      }
    >
      <UsageFields tenantId={tenant.tenant_id} of={tenant} />
      {isOpen && <QuotaForm tenant={tenant} close={() => setOpen(false)} />}
    </Card>
  )
}

function QuotaForm({ tenant, close }: { readonly tenant: Tenant; readonly close: () => void }) {
  const text = useWords(words)
  const { quotaNames: names } = useWords(usageWords)
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
            label={names[name]}
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
