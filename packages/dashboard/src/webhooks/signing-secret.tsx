/** Whether a webhook is signed, its secret, shown once, and the secret's replacement. */
import { useMutation } from '@tanstack/react-query'
import { useTenant } from '../session/use-tenant.ts'
import { Button, Switch } from '../ui/controls.ts'
import { CodeBlock } from '../ui/copy.tsx'
import { Confirm, Dialog } from '../ui/dialog.tsx'
import { Stack } from '../ui/page.tsx'
import { StateMark } from '../ui/state-mark.tsx'
import { Time } from '../ui/time.tsx'
import { useWords } from '../words/define-words.ts'
import { words } from './words.ts'

export function SigningSwitch({
  isSigned,
  set,
}: {
  readonly isSigned: boolean
  readonly set: (isSigned: boolean) => void
}) {
  const text = useWords(words)
  return (
    <Switch
      label={text.signing}
      description={text.signingHelp}
      checked={isSigned}
      onChange={(event) => set(event.currentTarget.checked)}
    />
  )
}

/** Of the facts of a webhook. */
export function useSignedFact(signing: boolean | undefined): readonly [string, string] {
  const text = useWords(words)
  return [text.signed, signing === true ? text.signedYes : text.signedNo]
}

export function SigningSecret({
  secret,
  formerUntil,
  close,
}: {
  readonly secret: string
  readonly formerUntil?: string
  readonly close: () => void
}) {
  const text = useWords(words)
  return (
    <Stack>
      <p>{text.secretHelp}</p>
      <CodeBlock code={secret} label={text.secret} />
      <StateMark tone="warn">{text.secretOnce}</StateMark>
      {formerUntil !== undefined && (
        <p>
          {text.formerUntil} <Time at={formerUntil} />
        </p>
      )}
      <Button onClick={close}>{text.secretDone}</Button>
    </Stack>
  )
}

export function RotateSecret(o: {
  readonly webhookId: string
  readonly isOpen: boolean
  readonly close: () => void
}) {
  const text = useWords(words)
  const { client } = useTenant()
  const rotate = useMutation({
    mutationFn: () => client.rotateSigningSecret(o.webhookId),
  })
  const close = () => {
    o.close()
    rotate.reset()
  }
  if (rotate.data !== undefined) {
    const { signing_secret, former_until } = rotate.data
    return (
      <Dialog title={text.secret} isOpen={o.isOpen} close={close} size="lg">
        <SigningSecret secret={signing_secret} formerUntil={former_until} close={close} />
      </Dialog>
    )
  }
  return (
    <Confirm
      title={text.rotateTitle}
      confirm={text.rotate}
      isOpen={o.isOpen}
      close={close}
      isBusy={rotate.isPending}
      error={rotate.error}
      onConfirm={() => rotate.mutate()}
    >
      <p>{text.rotateHelp}</p>
    </Confirm>
  )
}
