/** The mailbox of a mailer: whether it can be read, which folders, and where its mail is reported. */
import type { Mailer } from '@postrider/client'
import { useState } from 'react'
import { isReadOnly } from '../mailers/mailer-kind.ts'
import { SmallAction } from '../session/action-button.tsx'
import { Banner } from '../ui/banner.tsx'
import { Card, Fields } from '../ui/page.tsx'
import { Time } from '../ui/time.tsx'
import { RotateSecret, useSignedFact } from '../webhooks/signing-secret.tsx'
import { words as webhookWords } from '../webhooks/words.ts'
import { useWords } from '../words/define-words.ts'
import { ImapForm } from './imap-form.tsx'
import { MailboxStateMark } from './mailbox-state.tsx'
import { words } from './words.ts'

/** What the server says of a mailbox that cannot be read. */
export function MailboxBanner({ mailbox }: { readonly mailbox: Mailer['mailbox'] | undefined }) {
  const text = useWords(words)
  if (mailbox?.state !== 'failing') return null
  return (
    <Banner tone="bad" word={text.states.failing} title={text.failingTitle}>
      <LastError mailbox={mailbox} />
      <div>
        {text.failingSince}: <Time at={mailbox.failing_since} />. {text.failingHelp}
      </div>
    </Banner>
  )
}

function LastError({ mailbox: { last_error: last } }: Required<Pick<Mailer, 'mailbox'>>) {
  const text = useWords(words)
  if (last === null) return text.none
  return (
    <>
      {last.failed_reason} <Time at={last.at} />
      {last.provider_error !== '' && (
        <div>
          <code>{last.provider_error}</code>
        </div>
      )}
    </>
  )
}

export function MailboxCard({ mailer }: { readonly mailer: Mailer }) {
  const text = useWords(words)
  const { rotate } = useWords(webhookWords)
  const [isOpen, setOpen] = useState(false)
  const [isRotating, setRotating] = useState(false)
  const { mailbox, webhook, folders = [], since } = mailer
  const signed = useSignedFact(webhook?.signing)
  if (mailbox === undefined) return null
  const server = mailer.config.imap
  return (
    <Card
      title={text.mailbox}
      actions={
        <>
          {webhook?.signing === true && (
            <SmallAction operation="rotateSigningSecret" onClick={() => setRotating(true)}>
              {rotate}
            </SmallAction>
          )}
          {/* One that only reads has its form at the top of the page. */}
          {!isReadOnly(mailer) && (
            <SmallAction operation="updateIMAP" onClick={() => setOpen(true)}>
              {text.foldersAndWebhook}
            </SmallAction>
          )}
        </>
      }
    >
      <Fields
        entries={[
          [text.state, <MailboxStateMark state={mailbox.state} />],
          [text.lastRead, <Time at={mailbox.last_read_at} />],
          mailbox.state === 'failing'
            ? undefined
            : [text.lastError, <LastError mailbox={mailbox} />],
          server === undefined
            ? undefined
            : [text.server, <code>{`${server.host}:${server.port}`}</code>],
          [text.folders, folders.join(', ')],
          [text.since, <Time at={since} />],
          [
            text.webhook,
            webhook === null || webhook === undefined ? (
              text.noWebhook
            ) : (
              <code>{`${webhook.method} ${webhook.webhook_url}`}</code>
            ),
          ],
          webhook?.headers_present.length
            ? [text.headers, webhook.headers_present.join(', ')]
            : undefined,
          webhook ? signed : undefined,
        ]}
      />
      <ImapForm mailer={mailer} isOpen={isOpen} close={() => setOpen(false)} />
      {webhook && (
        <RotateSecret
          webhookId={webhook.webhook_id}
          isOpen={isRotating}
          close={() => setRotating(false)}
        />
      )}
    </Card>
  )
}
