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
import { type FieldErrors, fieldErrors } from '../ui/field-errors.ts'
import { Card, Columns, Stack } from '../ui/page.tsx'
import { RequiredInput } from '../ui/required-input.tsx'
import { tellDone } from '../ui/toast.ts'
import { useWords } from '../words/define-words.ts'
import {
  bodyOf,
  contentOf,
  mailOf,
  pathOf,
  readSample,
  type TemplateDraft,
} from './template-draft.ts'
import { TemplatePreview } from './template-preview.tsx'
import classes from './templates.module.css'
import { words } from './words.ts'

const PATHS = ['/name', '/subject', '/content', '/sample_data']

interface EditorProps {
  readonly start: TemplateDraft
  /** The version that the form began with. */
  readonly stored?: Template
}

export function TemplateEditor({ start, stored }: EditorProps) {
  const text = useWords(words)
  const { may } = useTenant()
  const [draft, setDraft] = useState(start)
  const [isSending, setSending] = useState(false)
  const mailers = useMailers()
  const preview = usePreview(draft)
  const save = useSave(stored, { name: draft.name, ...bodyOf(draft) })
  const errors = fieldErrors(save.error ?? preview.error, PATHS)
  const isJson = readSample(draft.sample) !== undefined
  const isChanged = Object.entries(draft).some(
    ([field, value]) => value !== start[field as keyof TemplateDraft],
  )
  const unchanged = isChanged ? undefined : stored
  return (
    <Columns>
      <Card title={text.editor} note={text.editorHelp}>
        <form
          onSubmit={(event) => {
            event.preventDefault()
            preview.reset()
            if (isJson && may(stored ? 'updateTemplate' : 'createTemplate')) save.mutate()
          }}
        >
          <Stack>
            <DraftFields
              draft={draft}
              set={(part) => setDraft((before) => ({ ...before, ...part }))}
              errors={errors}
              isJson={isJson}
            />
            {errors.rest ? (
              <Failure what={save.error ? 'save' : 'load'} error={errors.rest} />
            ) : null}
            <div className={classes.tools}>
              <ActionButton
                type="submit"
                operation={stored === undefined ? 'createTemplate' : 'updateTemplate'}
                loading={save.isPending}
                disabled={!isJson}
              >
                {stored === undefined ? text.create : text.save}
              </ActionButton>
              <ActionButton
                variant="default"
                operation="previewTemplateDraft"
                loading={preview.isPending}
                disabled={!isJson}
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
                disabled={!isJson || contentOf(draft).length === 0}
                onClick={() => setSending(true)}
              >
                {text.sendTest}
              </ActionButton>
            </div>
          </Stack>
        </form>
      </Card>
      <TemplatePreview
        stored={unchanged}
        draft={preview.data}
        isStale={stored !== undefined && isChanged}
      />
      <TestMail
        isOpen={isSending}
        close={() => setSending(false)}
        mailers={mailers}
        mail={mailOf(draft, unchanged)}
      />
    </Columns>
  )
}

function DraftFields({
  draft,
  set,
  errors,
  isJson,
}: {
  readonly draft: TemplateDraft
  readonly set: (part: Partial<TemplateDraft>) => void
  readonly errors: FieldErrors
  /** False: the sample data is no JSON object. */
  readonly isJson: boolean
}) {
  const text = useWords(words)
  const code = (part: 'html' | 'text' | 'sample', minRows: number, maxRows: number) => ({
    ...{ className: classes.fixed ?? '', spellCheck: false, autosize: true },
    ...{ minRows, maxRows, value: draft[part] },
    onChange: (event: { currentTarget: { value: string } }) =>
      set({ [part]: event.currentTarget.value }),
  })
  return (
    <>
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
        {...code('html', 8, 24)}
        error={errors.of(pathOf('html', draft))}
      />
      <Textarea
        label={text.text}
        description={text.textHelp}
        {...code('text', 3, 24)}
        error={draft.text === '' ? undefined : errors.of(pathOf('text', draft))}
      />
      <Textarea
        label={text.sample}
        description={text.sampleHelp}
        {...code('sample', 3, 16)}
        error={isJson ? errors.of('/sample_data') : text.notJson}
      />
    </>
  )
}

/** Keeps what was sent beside the answer to it. */
function usePreview(draft: TemplateDraft) {
  const { client } = useTenant()
  return useMutation({
    async mutationFn() {
      const shown = bodyOf(draft)
      return { body: shown, preview: (await client.previewTemplateDraft(shown)).preview }
    },
  })
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
