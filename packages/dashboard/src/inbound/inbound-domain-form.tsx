/** Lets a domain receive, or changes where its mail goes. */
import type { InboundDomain } from '@postrider/client'
import { useMutation } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { queryClient } from '../api/query-client.ts'
import { useTenant } from '../session/use-tenant.ts'
import { DialogEnd, DialogForm } from '../ui/dialog.tsx'
import { RequiredInput } from '../ui/required-input.tsx'
import { tellDone } from '../ui/toast.ts'
import { type Header, HeaderFields, readHeaders } from '../webhooks/header-fields.tsx'
import { SigningSecret, SigningSwitch } from '../webhooks/signing-secret.tsx'
import { useWords } from '../words/define-words.ts'
import { words } from './words.ts'

export function InboundDomainForm({
  stored,
  close,
}: {
  /** What is changed; without it one is added. */
  readonly stored?: InboundDomain
  readonly close: () => void
}) {
  const text = useWords(words)
  const { tenantId, client } = useTenant()
  const navigate = useNavigate()
  const [domain, setDomain] = useState(stored?.domain ?? '')
  const [url, setUrl] = useState(stored?.url ?? '')
  const [headers, setHeaders] = useState<readonly Header[]>([])
  const wasSigned = stored?.signing === true
  const [isSigned, setSigned] = useState(wasSigned)
  const save = useMutation({
    mutationFn: () => {
      const body = {
        url: url.trim(),
        ...(headers.length > 0 && { headers: readHeaders(headers) }),
        ...(isSigned !== wasSigned && { signing: isSigned }),
      }
      return stored === undefined
        ? client.configureInboundRouting({ ...body, domain: domain.trim() })
        : client.updateInboundDomain(stored.domain, body)
    },
    async onSuccess({ inbound_domain: saved, signing_secret: secret }) {
      tellDone(stored === undefined ? text.added : text.saved)
      // A secret is shown once: the dialog stays until it has been copied.
      if (secret === undefined) await end(saved.domain)
    },
  })
  async function end(name: string): Promise<void> {
    close()
    await queryClient.invalidateQueries({ queryKey: [tenantId] })
    if (stored === undefined)
      await navigate({
        to: '/t/$tenantId/inbound/domains/$domain',
        params: { tenantId, domain: name },
      })
  }
  if (save.data?.signing_secret !== undefined) {
    const { signing_secret: secret, inbound_domain: saved } = save.data
    return <SigningSecret secret={secret} close={() => void end(saved.domain)} />
  }
  return (
    <DialogForm submit={() => save.mutate()}>
      {stored === undefined && (
        <RequiredInput
          label={text.domain}
          description={text.domainHelp}
          data-autofocus
          value={domain}
          set={setDomain}
        />
      )}
      <RequiredInput
        label={text.url}
        description={text.urlHelp}
        placeholder="https://hooks.example.com/inbound"
        value={url}
        set={setUrl}
      />
      <HeaderFields
        headers={headers}
        onChange={setHeaders}
        present={stored?.headers_present ?? []}
      />
      <SigningSwitch isSigned={isSigned} set={setSigned} />
      <DialogEnd
        confirm={stored === undefined ? text.addDomain : text.saveChanges}
        isBusy={save.isPending}
        error={save.error}
        close={close}
      />
    </DialogForm>
  )
}
