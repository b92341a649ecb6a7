/** The form of a template, and beside it what a recipient would get. Every word of Liquid stands at its part. */
import type { CreateTemplateBody, Template } from '@postrider/client'
import { useMutation } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { queryClient } from '../api/query-client.ts'
import { TestMail } from '../emails/test-mail.tsx'
import { useMailers } from '../emails/use-mailers.ts'
import { ActionButton } from '../session/action-button.tsx'
import { useTenant } from '../session/use-tenant.ts'
import { Failure } from '../ui/answers.tsx'
import { Textarea } from '../ui/controls.ts'
import { fieldErrors } from '../ui/field-errors.ts'
import { Card, Columns, Stack } from '../ui/page.tsx'
import { RequiredInput } from '../ui/required-input.tsx'
import { tellDone } from '../ui/toast.ts'
import { useWords } from '../words/define-words.ts'
import { bodyOf, mailOf, pathOf, readSample, type TemplateDraft } from './template-draft.ts'
import { TemplatePreview } from './template-preview.tsx'
import classes from './templates.module.css'
import { words } from './words.ts'

const PATHS = ['/name', '/subject', '/content', '/sample_data']

export function TemplateEditor({
  start,
  stored,
}: {
  readonly start: TemplateDraft
  /** The version that the form began with. */
  readonly stored?: Template
}) {
  const text = useWords(words)
  const { client, may } = useTenant()
  const [draft, setDraft] = useState(start)
  const sample = readSample(draft.sample)
  const set = (part: Partial<TemplateDraft>) => setDraft((before) => ({ ...before, ...part }))
  const [isSending, setSending] = useState(false)
  const mailers = useMailers()
  const body = { name: draft.name, ...bodyOf(draft) }
  const preview = useMutation({
    async mutationFn() {
      const shown = bodyOf(draft)
      return { body: shown, preview: (await client.previewTemplateDraft(shown)).preview }
    },
  })
  const save = useSave(stored, body)
  const failed = save.error ?? preview.error
  const errors = fieldErrors(failed, PATHS)
  const isChanged = Object.entries(draft).some(
    ([field, value]) => value !== start[field as keyof TemplateDraft],
  )
  const code = (part: 'html' | 'text', minRows: number) => ({
    ...{ className: classes.fixed ?? '', spellCheck: false, autosize: true },
    ...{ minRows, maxRows: 24, value: draft[part] },
    error: draft[part] === '' && part === 'text' ? undefined : errors.of(pathOf(part, draft)),
  })
  return (
    <Columns>
      <Card title={text.editor} note={text.editorHelp}>
        <form
          onSubmit={(event) => {
            event.preventDefault()
            preview.reset()
            if (sample !== undefined && may(stored ? 'updateTemplate' : 'createTemplate'))
              save.mutate()
          }}
        >
          <Stack>
            <RequiredInput
              label={text.name}
              maxLength={200}
              value={draft.name}
              set={(name) => set({ name })}
              error={errors.of('/name')}
            />
            <RequiredInput
              label={text.subject}
              maxLength={998}
              value={draft.subject}
              set={(subject) => set({ subject })}
              error={errors.of('/subject')}
            />
            <Textarea
              label={text.html}
              {...code('html', 8)}
              onChange={(event) => set({ html: event.currentTarget.value })}
            />
            <Textarea
              label={text.text}
              description={text.textHelp}
              {...code('text', 3)}
              onChange={(event) => set({ text: event.currentTarget.value })}
            />
            <Textarea
              label={text.sample}
              description={text.sampleHelp}
              className={classes.fixed ?? ''}
              spellCheck={false}
              autosize
              minRows={3}
              maxRows={16}
              value={draft.sample}
              error={sample === undefined ? text.notJson : errors.of('/sample_data')}
              onChange={(event) => set({ sample: event.currentTarget.value })}
            />
            {errors.rest ? (
              <Failure what={save.error ? 'save' : 'load'} error={errors.rest} />
            ) : null}
            <div className={classes.tools}>
              <ActionButton
                type="submit"
                operation={stored === undefined ? 'createTemplate' : 'updateTemplate'}
                loading={save.isPending}
                disabled={sample === undefined}
              >
                {stored === undefined ? text.create : text.save}
              </ActionButton>
              <ActionButton
                variant="default"
                operation="previewTemplateDraft"
                loading={preview.isPending}
                disabled={sample === undefined}
                onClick={() => {
                  save.reset()
                  preview.mutate()
                }}
              >
                {text.showDraft}
              </ActionButton>
              <ActionButton
                variant="default"
                operation="sendEmail"
                disabled={sample === undefined || body.content.length === 0}
                onClick={() => setSending(true)}
              >
                {text.sendTest}
              </ActionButton>
            </div>
          </Stack>
        </form>
      </Card>
      <TemplatePreview
        stored={isChanged ? undefined : stored}
        draft={preview.data}
        isStale={stored !== undefined && isChanged}
      />
      <TestMail
        isOpen={isSending}
        close={() => setSending(false)}
        mailers={mailers}
        mail={mailOf(draft, isChanged ? undefined : stored)}
      />
    </Columns>
  )
}

function useSave(stored: Template | undefined, body: CreateTemplateBody) {
  const text = useWords(words)
  const { tenantId, client } = useTenant()
  const navigate = useNavigate()
  return useMutation({
    mutationFn: () =>
      stored === undefined
        ? client.createTemplate(body)
        : client.updateTemplate({
            ...{ template_id: stored.template_id, sample_data: null },
            ...body,
          }),
    async onSuccess({ template: { template_id: templateId, version } }) {
      tellDone(text.saved(String(version)))
      await Promise.all([
        queryClient.invalidateQueries({ queryKey: [tenantId, 'templates'] }),
        queryClient.invalidateQueries({ queryKey: [tenantId, 'template', templateId] }),
      ])
      await navigate({
        to: '/t/$tenantId/templates/$templateId',
        params: { tenantId, templateId },
        search: {},
      })
    },
  })
}
