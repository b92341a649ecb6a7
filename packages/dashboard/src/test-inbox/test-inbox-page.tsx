/** Mail of keys in test mode, newest first, and what its recipients would do. */
import type { EmailLog } from '@postrider/client'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { queryClient } from '../api/query-client.ts'
import { usePages } from '../api/use-pages.ts'
import { CreateKey } from '../developers/create-key.tsx'
import { useSender } from '../developers/use-sender.ts'
import { EmailStatus, toneOf } from '../emails/email-status.tsx'
import { logLinks, useLogColumns } from '../emails/log-columns.tsx'
import { tellFacts } from '../emails/tell-facts.ts'
import { words as emailWords } from '../emails/words.ts'
import { ActionButton } from '../session/action-button.tsx'
import { EmptyList } from '../session/empty-list.tsx'
import { useTenant } from '../session/use-tenant.ts'
import { type Column, PagedTable } from '../ui/data-table.tsx'
import { Card, Page } from '../ui/page.tsx'
import { useWords } from '../words/define-words.ts'
import { useFormat } from '../words/format.ts'
import { keyOf, Outcome, Simulate, usePresses } from './simulate.tsx'
import { testSnippets } from './snippets.ts'
import classes from './test-inbox.module.css'
import { words } from './words.ts'

/** Somebody looks at what just came. */
const refreshMs = 4_000

export function TestInboxPage() {
  const text = useWords(words)
  const { tenantId, client } = useTenant()
  const from = useSender()
  const [isCreating, setCreating] = useState(false)
  const presses = usePresses()
  const pages = usePages({
    key: [tenantId, 'test-inbox'],
    name: 'logs',
    list: (page, options) => client.getEmailLogs({ test: true, ...page }, options),
    refreshMs,
  })
  const create = (
    <ActionButton operation="createKey" onClick={() => setCreating(true)}>
      {text.createKey}
    </ActionButton>
  )
  return (
    <Page
      title={text.testInbox}
      lead={text.lead}
      actions={
        <Link to="/t/$tenantId/emails" params={{ tenantId }} search={{ test: 'only' }}>
          {text.all}
        </Link>
      }
    >
      <Card isFlush>
        <PagedTable
          pages={pages}
          label={text.testInbox}
          columns={useColumns(presses)}
          rowKey={keyOf}
          {...logLinks(tenantId)}
          empty={
            <EmptyList title={text.noMail} action={create} snippets={testSnippets(from)}>
              {text.noMailHelp}
            </EmptyList>
          }
        />
      </Card>
      <CreateKey
        isOpen={isCreating}
        close={() => setCreating(false)}
        mode="test"
        create={(key) => client.createKey(key)}
        refresh={() => queryClient.invalidateQueries({ queryKey: [tenantId, 'keys'] })}
      />
    </Page>
  )
}

function useColumns(presses: ReturnType<typeof usePresses>): readonly Column<EmailLog>[] {
  const text = useWords(words)
  const email = useWords(emailWords)
  const format = useFormat()
  const { recipient, subject, accepted } = useLogColumns()
  return [
    { ...recipient, width: 'minmax(0, 1.2fr)' },
    { ...subject, width: 'minmax(0, 1.1fr)' },
    {
      key: 'outcome',
      head: text.outcome,
      width: 'minmax(0, 1.5fr)',
      cell(mail) {
        const pressedAtMs = presses.ofMail(mail)
        return (
          <div className={classes.outcome}>
            <EmailStatus status={mail.status} isQuiet={toneOf(mail.status) === 'good'} />
            <span className={classes.facts}>{tellFacts(mail, email, format)}</span>
            {pressedAtMs !== undefined && <Outcome mail={mail} pressedAtMs={pressedAtMs} />}
          </div>
        )
      },
    },
    {
      key: 'simulate',
      head: text.simulate,
      width: 'minmax(300px, 348px)',
      cell: (mail) => <Simulate mail={mail} onPressed={() => presses.note(mail)} />,
    },
    { ...accepted, isMinor: true },
  ]
}
