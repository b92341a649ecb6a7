/** Renews the grant of a mailer: its owner logs in at the provider once more. */
import type { DomainMailer, Mailer } from '@postrider/client'
import { loginTypeOf } from '../mailers/mailer-kind.ts'
import { ActionButton } from '../session/action-button.tsx'
import { tellFailed } from '../ui/toast.ts'
import { useWords } from '../words/define-words.ts'
import { useLogIn } from './use-log-in.ts'
import { words } from './words.ts'

export function LogInAgain(o: {
  readonly mailer: Mailer | DomainMailer
  /** The remedy, beside the evidence. */
  readonly isMain?: boolean
}) {
  const text = useWords(words)
  const logIn = useLogIn()
  const { mailer } = o
  if (mailer.config_type === 'domain') return null
  const login = {
    app_id: mailer.config.app_id ?? '',
    type: loginTypeOf(mailer),
    mailer_id: mailer.mailer_id,
  }
  return (
    <ActionButton
      operation="oauthLogin"
      {...(o.isMain === true ? { size: 'xs' } : { variant: 'default' })}
      loading={logIn.isPending}
      onClick={() => logIn.mutate(login, { onError: tellFailed('logIn') })}
    >
      {text.logInAgain}
    </ActionButton>
  )
}
