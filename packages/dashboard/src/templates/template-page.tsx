/** One template: its editor, what a recipient would get, and its versions. */
import type { GetTemplateAnswer } from '@postrider/client'
import { useMutation, useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { queryClient } from '../api/query-client.ts'
import { ActionButton, SmallAction } from '../session/action-button.tsx'
import { useTenant } from '../session/use-tenant.ts'
import { Answer } from '../ui/answers.tsx'
import { Banner } from '../ui/banner.tsx'
import { Copyable } from '../ui/copy.tsx'
import { DataTable } from '../ui/data-table.tsx'
import { Confirm } from '../ui/dialog.tsx'
import { Card, Page } from '../ui/page.tsx'
import { Time } from '../ui/time.tsx'
import { tellDone, tellFailed } from '../ui/toast.ts'
import { useWords } from '../words/define-words.ts'
import { draftOf, emptyDraft } from './template-draft.ts'
import { TemplateEditor } from './template-editor.tsx'
import { words } from './words.ts'

export function NewTemplatePage() {
  const text = useWords(words)
  return (
    <Page title={text.add} lead={text.newLead} trail={<Trail />}>
      <TemplateEditor start={emptyDraft} />
    </Page>
  )
}

export function TemplatePage() {
  const { tenantId, client } = useTenant()
  const { templateId } = useParams({ from: '/shell/t/$tenantId/templates/$templateId' })
  const { version } = useSearch({ from: '/shell/t/$tenantId/templates/$templateId' })
  const template = useQuery({
    queryKey: [tenantId, 'template', templateId, version],
    queryFn: ({ signal }) =>
      client.getTemplate(templateId, version === undefined ? {} : { version }, { signal }),
  })
  return <Answer query={template}>{(found) => <Found found={found} />}</Answer>
}

function Trail() {
  const text = useWords(words)
  const { tenantId } = useTenant()
  return (
    <Link to="/t/$tenantId/templates" params={{ tenantId }}>
      {text.templates}
    </Link>
  )
}

type FoundTemplate = Pick<GetTemplateAnswer, 'template' | 'versions'>

function Found({ found: { template, versions } }: { readonly found: FoundTemplate }) {
  const text = useWords(words)
  const { tenantId } = useTenant()
  const [isDeleting, setDeleting] = useState(false)
  const { template_id: templateId, version } = template
  const newest = versions[0]?.version ?? version
  return (
    <Page
      title={template.name}
      trail={<Trail />}
      lead={<Copyable value={templateId} />}
      actions={
        <ActionButton
          variant="default"
          operation="deleteTemplate"
          onClick={() => setDeleting(true)}
        >
          {text.delete}
        </ActionButton>
      }
    >
      {version !== newest && (
        <Banner
          tone="info"
          word={text.olderVersion}
          title={text.lookAt(String(version), String(newest))}
          action={
            <Link to="/t/$tenantId/templates/$templateId" params={{ tenantId, templateId }}>
              {text.showNewest}
            </Link>
          }
        >
          {text.lookAtHelp}
        </Banner>
      )}
      <TemplateEditor
        key={`${templateId} ${version} ${template.name}`}
        start={draftOf(template)}
        stored={template}
      />
      <Versions found={{ template, versions }} newest={newest} />
      <Delete
        template={template}
        count={versions.length}
        isOpen={isDeleting}
        close={() => setDeleting(false)}
      />
    </Page>
  )
}

function Versions({
  found: { template, versions },
  newest,
}: {
  readonly found: FoundTemplate
  readonly newest: number
}) {
  const text = useWords(words)
  const { tenantId, client } = useTenant()
  const { template_id: templateId } = template
  const [dropped, setDropped] = useState<number>()
  const drop = useMutation({
    mutationFn: (version: number) => client.deleteTemplate(templateId, { version }),
    onSuccess() {
      tellDone(text.versionDeleted)
      setDropped(undefined)
    },
    onSettled: () =>
      queryClient.invalidateQueries({ queryKey: [tenantId, 'template', templateId] }),
  })
  return (
    <Card title={text.versions} note={text.versionsHelp} isFlush>
      <DataTable
        label={text.versions}
        rows={versions}
        rowKey={({ version }) => String(version)}
        columns={[
          {
            key: 'version',
            head: text.version,
            width: '110px',
            isTitle: true,
            cell: ({ version }) => (
              <Link
                to="/t/$tenantId/templates/$templateId"
                params={{ tenantId, templateId }}
                search={version === newest ? {} : { version }}
                aria-label={text.versionName(String(version))}
              >
                {version}
              </Link>
            ),
          },
          { key: 'subject', head: text.subject, cell: ({ subject }) => subject },
          {
            key: 'at',
            head: text.made,
            width: '130px',
            cell: ({ created_at }) => <Time at={created_at} />,
          },
          {
            key: 'drop',
            head: '',
            width: '110px',
            align: 'end',
            cell: ({ version }) =>
              version === newest || version === template.version ? null : (
                <SmallAction
                  operation="deleteTemplate"
                  aria-label={text.deleteVersion(String(version))}
                  onClick={() => setDropped(version)}
                >
                  {text.delete}
                </SmallAction>
              ),
          },
        ]}
      />
      <Confirm
        title={text.deleteVersion(String(dropped ?? ''))}
        confirm={text.delete}
        isOpen={dropped !== undefined}
        close={() => setDropped(undefined)}
        isBusy={drop.isPending}
        error={drop.error}
        onConfirm={() => dropped !== undefined && drop.mutate(dropped)}
      >
        <p>{text.deleteVersionHelp}</p>
      </Confirm>
    </Card>
  )
}

function Delete(o: {
  readonly template: FoundTemplate['template']
  readonly count: number
  readonly isOpen: boolean
  readonly close: () => void
}) {
  const text = useWords(words)
  const { tenantId, client } = useTenant()
  const navigate = useNavigate()
  const remove = useMutation({
    mutationFn: () => client.deleteTemplate(o.template.template_id),
    async onSuccess() {
      tellDone(text.deleted)
      await navigate({ to: '/t/$tenantId/templates', params: { tenantId } })
      await queryClient.invalidateQueries({ queryKey: [tenantId, 'templates'] })
    },
    onError: tellFailed('delete'),
  })
  return (
    <Confirm
      title={text.deleteTitle(o.template.name)}
      confirm={text.delete}
      nameToType={o.template.name}
      isDangerous
      isOpen={o.isOpen}
      close={o.close}
      isBusy={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate()}
    >
      <p>{text.deleteHelp(o.count)}</p>
    </Confirm>
  )
}
