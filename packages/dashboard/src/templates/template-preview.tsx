/** What a recipient would get, of a stored version or of what the form holds. */
import type { TemplatePreview as Preview, Template } from '@postrider/client'
import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { useTenant } from '../session/use-tenant.ts'
import { Answer, Empty } from '../ui/answers.tsx'
import { SegmentedControl } from '../ui/controls.ts'
import { MailFrame, type MailWidth, PostedMailFrame, WidthChoice } from '../ui/mail-frame.tsx'
import { Card, Stack } from '../ui/page.tsx'
import { Verbatim } from '../ui/verbatim.tsx'
import { useWords } from '../words/define-words.ts'
import type { DraftBody } from './template-draft.ts'
import classes from './templates.module.css'
import { words } from './words.ts'

/** What the form held, and what the service made of it. */
export interface PreviewedDraft {
  readonly body: DraftBody
  readonly preview: Preview
}

export function TemplatePreview(o: {
  /** Undefined: the form holds something else. */
  readonly stored: Template | undefined
  readonly draft: PreviewedDraft | undefined
  /** The form was changed since it was stored. */
  readonly isStale: boolean
}) {
  const text = useWords(words)
  const { tenantId } = useTenant()
  const { stored, draft } = o
  if (stored !== undefined && draft === undefined) return <Stored template={stored} />
  if (draft !== undefined) {
    const query = new URLSearchParams({ tenant: tenantId })
    const action = `/ui/api/v1/templates/preview/page?${query}`
    return (
      <Shown
        preview={draft.preview}
        note={text.draftHelp}
        frame={(width) => (
          <PostedMailFrame title={text.preview} width={width} action={action} draft={draft.body} />
        )}
      />
    )
  }
  return (
    <Card title={text.preview}>
      <Empty title={o.isStale ? text.changedSince : text.nothingToShow}>{text.previewFirst}</Empty>
    </Card>
  )
}

function Stored({ template }: { readonly template: Template }) {
  const text = useWords(words)
  const { tenantId, client } = useTenant()
  const { template_id, version } = template
  const preview = useQuery({
    queryKey: [tenantId, 'template', template_id, 'preview', version],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async ({ signal }) =>
      (await client.previewTemplate({ template_id, version }, { signal })).preview,
  })
  const query = new URLSearchParams({ tenant: tenantId, version: String(version) })
  const src = `/ui/api/v1/templates/${encodeURIComponent(template_id)}/preview?${query}`
  return (
    <Answer query={preview}>
      {(shown) => (
        <Shown
          preview={shown}
          note={text.previewHelp}
          frame={(width) => <MailFrame title={text.preview} width={width} src={src} />}
        />
      )}
    </Answer>
  )
}

function Shown(o: {
  readonly preview: Preview
  readonly note: string
  readonly frame: (width: MailWidth) => ReactNode
}) {
  const text = useWords(words)
  const [tab, setTab] = useState('html')
  const [width, setWidth] = useState<MailWidth>('desktop')
  const { subject, html, text: plain } = o.preview
  return (
    <Card title={text.preview} note={o.note}>
      <Stack>
        <p className={classes.subject}>{subject}</p>
        <div className={classes.choices}>
          <SegmentedControl
            aria-label={text.part}
            value={tab}
            onChange={setTab}
            data={[
              { value: 'html', label: text.html },
              { value: 'text', label: text.text },
            ]}
          />
          {tab === 'html' && html !== null && <WidthChoice width={width} set={setWidth} />}
        </div>
        {tab === 'html' ? (
          html === null ? (
            <Empty title={text.noHtml} />
          ) : (
            o.frame(width)
          )
        ) : plain === null ? (
          <Empty title={text.noText} />
        ) : (
          <Verbatim label={text.text} text={plain} />
        )}
      </Stack>
    </Card>
  )
}
