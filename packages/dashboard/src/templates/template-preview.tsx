/**
 * What a recipient would get. The HTML of a stored version is an answer of its own in a frame that runs and loads
 * nothing; that of a draft is shown as its source, since a frame with it would be a part of this page.
 */
import type { TemplatePreview as Preview, Template } from '@postrider/client'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useTenant } from '../session/use-tenant.ts'
import { Answer, Empty } from '../ui/answers.tsx'
import { SegmentedControl } from '../ui/controls.ts'
import { Card, Stack } from '../ui/page.tsx'
import { Verbatim } from '../ui/verbatim.tsx'
import { useWords } from '../words/define-words.ts'
import classes from './templates.module.css'
import { words } from './words.ts'

export function TemplatePreview(o: {
  /** Undefined: the form holds something else. */
  readonly stored: Template | undefined
  readonly draft: Preview | undefined
  /** The form was changed since it was stored. */
  readonly isStale: boolean
}) {
  const text = useWords(words)
  const { stored, draft } = o
  if (stored !== undefined && draft === undefined) return <Stored template={stored} />
  if (draft !== undefined) return <Shown preview={draft} note={text.draftHelp} />
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
  const path = `/ui/api/v1/templates/${encodeURIComponent(template_id)}/preview`
  return (
    <Answer query={preview}>
      {(shown) => <Shown preview={shown} note={text.previewHelp} src={`${path}?${query}`} />}
    </Answer>
  )
}

function Shown(o: { readonly preview: Preview; readonly note: string; readonly src?: string }) {
  const text = useWords(words)
  const [tab, setTab] = useState('html')
  const { subject, html, text: plain } = o.preview
  return (
    <Card title={text.preview} note={o.note}>
      <Stack>
        <p className={classes.subject}>{subject}</p>
        <SegmentedControl
          aria-label={text.part}
          value={tab}
          onChange={setTab}
          data={[
            { value: 'html', label: text.html },
            { value: 'text', label: text.text },
          ]}
        />
        {tab === 'html' ? (
          <Html html={html} src={o.src} />
        ) : plain === null ? (
          <Empty title={text.noText} />
        ) : (
          <Verbatim label={text.text} text={plain} />
        )}
      </Stack>
    </Card>
  )
}

function Html({ html, src }: { readonly html: string | null; readonly src: string | undefined }) {
  const text = useWords(words)
  if (html === null) return <Empty title={text.noHtml} />
  if (src === undefined) return <Verbatim label={text.html} text={html} />
  return <iframe className={classes.frame} title={text.preview} sandbox="" src={src} />
}
