/** Makes an API key of a tenant, and shows it once. */
import type { ApiKey, ApiKeyScope, CreateKeyInput } from '@postrider/client'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { apiKeyScopes } from '../api/names.ts'
import { Button, Checkbox, Radio, Textarea, TextInput } from '../ui/controls.ts'
import { CodeBlock } from '../ui/copy.tsx'
import { Dialog, DialogEnd, DialogForm } from '../ui/dialog.tsx'
import { Stack } from '../ui/page.tsx'
import { RequiredInput } from '../ui/required-input.tsx'
import { useWords } from '../words/define-words.ts'
import { words } from './words.ts'

interface CreateKeyOptions {
  readonly create: (key: CreateKeyInput) => Promise<{ readonly api_key: string }>
  /** The list of keys is asked for again. */
  readonly refresh: () => Promise<void>
  readonly close: () => void
  /** What the form begins with. */
  readonly mode?: ApiKey['mode']
  readonly scopes?: readonly ApiKeyScope[]
}

const usualScopes: readonly ApiKeyScope[] = ['send', 'read']

export function CreateKey(o: CreateKeyOptions & { readonly isOpen: boolean }) {
  const text = useWords(words)
  return (
    <Dialog title={text.create} isOpen={o.isOpen} close={o.close}>
      <Form {...o} />
    </Dialog>
  )
}

function Form({ create: createKey, refresh, close, ...first }: CreateKeyOptions) {
  const text = useWords(words)
  const [name, setName] = useState('')
  const [mode, setMode] = useState(first.mode ?? 'live')
  const [scopes, setScopes] = useState(first.scopes ?? usualScopes)
  const [networks, setNetworks] = useState('')
  const [expires, setExpires] = useState('')
  const create = useMutation({
    mutationFn: () => {
      const from = networks.split(/\s+/).filter((network) => network !== '')
      return createKey({
        ...{ name: name.trim(), mode },
        ...(scopes.length > 0 && { scopes: [...scopes] }),
        ...(from.length > 0 && { networks: from }),
        ...(expires !== '' && { expires_at: new Date(expires) }),
      })
    },
    onSettled: refresh,
  })
  if (create.data !== undefined) {
    return (
      <Stack>
        <p>
          <strong>{text.keyMade}</strong> {text.keyMadeHelp}
        </p>
        <CodeBlock code={create.data.api_key} label={text.keys} />
        <Button onClick={close}>{text.done}</Button>
      </Stack>
    )
  }
  return (
    <DialogForm submit={() => create.mutate()}>
      <RequiredInput
        label={text.name}
        description={text.nameHelp}
        maxLength={200}
        data-autofocus
        value={name}
        set={setName}
      />
      <Radio.Group
        label={text.mode}
        value={mode}
        onChange={(chosen) => setMode(chosen === 'test' ? 'test' : 'live')}
      >
        <Stack>
          {(['live', 'test'] as const).map((one) => (
            <Radio key={one} value={one} label={text.modes[one]} description={text.modeHelp[one]} />
          ))}
        </Stack>
      </Radio.Group>
      <Checkbox.Group
        label={text.scopes}
        description={text.scopesHelp}
        value={[...scopes]}
        onChange={(chosen) => setScopes(apiKeyScopes.filter((scope) => chosen.includes(scope)))}
      >
        <Stack>
          {apiKeyScopes.map((scope) => (
            <Checkbox key={scope} value={scope} label={text.scopeNames[scope]} />
          ))}
        </Stack>
      </Checkbox.Group>
      <Textarea
        label={text.networks}
        description={text.networksHelp}
        autosize
        minRows={1}
        value={networks}
        onChange={(event) => setNetworks(event.currentTarget.value)}
      />
      <TextInput
        type="datetime-local"
        label={text.expires}
        description={text.expiresHelp}
        value={expires}
        onChange={(event) => setExpires(event.currentTarget.value)}
      />
      <DialogEnd
        confirm={text.create}
        isBusy={create.isPending}
        error={create.error}
        close={close}
      />
    </DialogForm>
  )
}
