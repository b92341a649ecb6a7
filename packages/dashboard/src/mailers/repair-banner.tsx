/** Why a mailer is off, in the words of its server or provider, with the remedy beside it. */
import type { DomainMailer, Mailer } from '@postrider/client'
import type { ReactNode } from 'react'
import { Banner } from '../ui/banner.tsx'
import { Time } from '../ui/time.tsx'
import { useWords } from '../words/define-words.ts'
import { isReadOnly } from './mailer-kind.ts'
import { words } from './words.ts'

export function RepairBanner(o: {
  readonly mailer: Mailer | DomainMailer
  readonly remedy: ReactNode
}) {
  const text = useWords(words)
  const { mailer } = o
  if (mailer.state === 'active') return null
  const what = isReadOnly(mailer) ? text.reading : text.sending
  if (mailer.state === 'disabled')
    return (
      <Banner tone="muted" word={text.states.disabled} title={text.pausedTitle}>
        {what.pausedHelp}
      </Banner>
    )
  const isOAuth = mailer.connection_type === 'oauth'
  const title = mailer.state_reason === 'oauth_revoked' ? text.revokedTitle : text.offTitle
  return (
    <Banner tone="bad" word={text.off} title={`${title} ${what.offNow}`} action={o.remedy}>
      {mailer.state_evidence !== null && <code>{mailer.state_evidence}</code>}
      <div>
        {isOAuth ? text.loginHelp : text.passwordHelp} {what.offThen}{' '}
        <Time at={mailer.state_changed_at} />
      </div>
    </Banner>
  )
}
