/** Phishing protection: its threshold, blocked domains, and what it stopped. */
import type { PhishingSettings } from '@postrider/client'
import { useMutation, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { queryClient } from '../api/query-client.ts'
import { usePages } from '../api/use-pages.ts'
import { logLinks, useLogColumns } from '../emails/log-columns.tsx'
import { ActionButton } from '../session/action-button.tsx'
import { EmptyList } from '../session/empty-list.tsx'
import { useTenant } from '../session/use-tenant.ts'
import { Answer, Failure } from '../ui/answers.tsx'
import { Button, Switch, Textarea } from '../ui/controls.ts'
import { PagedTable } from '../ui/data-table.tsx'
import { Card, Page, Stack } from '../ui/page.tsx'
import { RequiredInput } from '../ui/required-input.tsx'
import { Time } from '../ui/time.tsx'
import { tellDone } from '../ui/toast.ts'
import { useWords } from '../words/define-words.ts'
import { protectionSnippets } from './snippets.ts'
import { words } from './words.ts'

export function ProtectionPage() {
  const text = useWords(words)
  const { tenantId, client } = useTenant()
  const settings = useQuery({
    queryKey: [tenantId, 'phishing'],
    queryFn: async ({ signal }) => (await client.getPhishingSettings({ signal })).settings,
  })
  return (
    <Page title={text.protection} lead={text.lead}>
      <Answer query={settings}>
        {(found) => (
          <Stack>
            <Settings key={found.updated_at} settings={found} />
            <Stopped />
          </Stack>
        )}
      </Answer>
    </Page>
  )
}

/** The newest; all of them are a view of the emails. */
function Stopped() {
  const text = useWords(words)
  const { tenantId, client } = useTenant()
  const { recipient, subject, accepted } = useLogColumns()
  const pages = usePages({
    key: [tenantId, 'emails', 'stopped'],
    name: 'logs',
    list: (page, options) => client.getEmailLogs({ status: 'blocked', ...page }, options),
    refreshMs: 15_000,
  })
  const all = (
    <Link to="/t/$tenantId/emails" params={{ tenantId }} search={{ status: 'blocked' }}>
      {text.showStopped}
    </Link>
  )
  return (
    <Card
      title={text.stopped}
      note={text.stoppedHelp}
      actions={pages.entries?.length !== 0 && all}
      isFlush
    >
      <PagedTable
        pages={pages}
        label={text.stopped}
        rowKey={({ ref_id, email }) => `${ref_id} ${email}`}
        {...logLinks(tenantId)}
        columns={[
          recipient,
          subject,
          {
            key: 'signs',
            head: text.signs,
            width: 'minmax(0, 2fr)',
            isWrapped: true,
            cell: ({ failed_reason }) => failed_reason,
          },
          accepted,
        ]}
        empty={
          <EmptyList
            title={text.noStopped}
            action={
              <Button component={Link} to={`/t/${tenantId}/emails`}>
                {text.showEmails}
              </Button>
            }
            snippets={protectionSnippets()}
          >
            {text.noStoppedHelp}
          </EmptyList>
        }
      />
    </Card>
  )
}

function Settings({ settings }: { readonly settings: PhishingSettings }) {
  const text = useWords(words)
  const { tenantId, client } = useTenant()
  const [enabled, setEnabled] = useState(settings.enabled)
  const [threshold, setThreshold] = useState(String(settings.threshold))
  const [blocked, setBlocked] = useState(settings.blocked_domains.join('\n'))
  const save = useMutation({
    mutationFn: () =>
      client.updatePhishingSettings({
        enabled,
        threshold: Number(threshold),
        blocked_domains: blocked.split(/\s+/).filter((domain) => domain !== ''),
      }),
    async onSuccess() {
      tellDone(text.saved)
      await queryClient.invalidateQueries({ queryKey: [tenantId, 'phishing'] })
    },
  })
  return (
    <Card title={text.protection}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          save.mutate()
        }}
      >
        <Stack>
          <Switch
            label={text.enabled}
            checked={enabled}
            onChange={(event) => setEnabled(event.currentTarget.checked)}
          />
          <RequiredInput
            label={text.threshold}
            description={text.thresholdHelp}
            inputMode="numeric"
            pattern="[1-9][0-9]?|100"
            w={160}
            value={threshold}
            set={setThreshold}
          />
          <Textarea
            label={text.blocked}
            description={text.blockedHelp}
            autosize
            maw={560}
            minRows={4}
            maxRows={16}
            value={blocked}
            onChange={(event) => setBlocked(event.currentTarget.value)}
          />
          {save.error && <Failure what="save" error={save.error} />}
          <div>
            <ActionButton type="submit" operation="updatePhishingSettings" loading={save.isPending}>
              {text.save}
            </ActionButton>
          </div>
          {settings.updated_at !== null && (
            <p>
              {text.updated} <Time at={settings.updated_at} />
            </p>
          )}
        </Stack>
      </form>
    </Card>
  )
}
