/** What the mail says: preview, text, source, headers, links. Closed to who may not read content. */
import { type GetEmailContentAnswer, PostriderError } from '@postrider/client'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Download } from 'lucide-react'
import { type ReactNode, useMemo } from 'react'
import { useTenant } from '../session/use-tenant.ts'
import { Answer, Empty } from '../ui/answers.tsx'
import { Banner } from '../ui/banner.tsx'
import { Button } from '../ui/controls.ts'
import { CodeBlock, Copyable } from '../ui/copy.tsx'
import { DataTable } from '../ui/data-table.tsx'
import { MailFrame, WidthChoice } from '../ui/mail-frame.tsx'
import { saveStream } from '../ui/save-stream.ts'
import { StateMark } from '../ui/state-mark.tsx'
import { tellFailed } from '../ui/toast.ts'
import { Verbatim } from '../ui/verbatim.tsx'
import { useWords } from '../words/define-words.ts'
import { useFormat } from '../words/format.ts'
import type { TracedRecipient } from './build-timeline.ts'
import classes from './email.module.css'
import type { EmailSearch } from './email-search.ts'
import { findLinks } from './links.ts'
import { readHeaders } from './read-headers.ts'
import { words } from './words.ts'

type Content = GetEmailContentAnswer['content']

/** Of a source, what is shown. */
const shownBytesMax = 512 * 1024

/** Why the content is closed, or what reads it. */
function Readable({ children }: { readonly children: ReactNode }) {
  const text = useWords(words)
  const { may } = useTenant()
  if (may('getEmailContent')) return children
  return <Empty title={text.contentClosed}>{text.contentClosedHelp}</Empty>
}

/** The record of an email stays for longer than what it says. */
function isGone(error: unknown): error is PostriderError {
  return error instanceof PostriderError && (error.status === 404 || error.status === 410)
}

function ContentGone({ error }: { readonly error: PostriderError }) {
  const text = useWords(words)
  const help = error.code === 'content_removed' ? text.contentGoneHelp : error.message
  return <Empty title={text.contentGone}>{help}</Empty>
}

/** Whose content is asked for: nobody's, where it is the same for all. */
function ownerOf({ email, subject }: TracedRecipient): { readonly email?: string } {
  return subject === undefined ? {} : { email }
}

function WithContent({
  refId,
  recipient,
  children,
}: {
  readonly refId: string
  readonly recipient: TracedRecipient
  readonly children: (content: Content) => ReactNode
}) {
  const text = useWords(words)
  const { client, tenantId, may } = useTenant()
  const owner = ownerOf(recipient)
  const query = useQuery({
    queryKey: [tenantId, 'email', refId, 'content', owner.email],
    staleTime: Number.POSITIVE_INFINITY,
    enabled: may('getEmailContent'),
    queryFn: ({ signal }) => client.getEmailContent(refId, owner, { signal }),
  })
  if (isGone(query.error)) return <ContentGone error={query.error} />
  return (
    <Readable>
      <Answer query={query}>
        {({ content }) => (
          <>
            {content.template_problem !== null && (
              <div className={classes.inset}>
                <Banner tone="warn" word={text.templateProblem} title={content.template_problem} />
              </div>
            )}
            {children(content)}
          </>
        )}
      </Answer>
    </Readable>
  )
}

export function PreviewTab({
  refId,
  recipient,
  search,
}: {
  readonly refId: string
  readonly recipient: TracedRecipient
  readonly search: EmailSearch
}) {
  const text = useWords(words)
  const format = useFormat()
  const { tenantId } = useTenant()
  const navigate = useNavigate({ from: '/t/$tenantId/emails/$refId' })
  const width = search.width ?? 'desktop'
  return (
    <WithContent refId={refId} recipient={recipient}>
      {({ attachments }) => (
        <>
          <div className={classes.tools}>
            <span className={classes.quiet}>{text.previewHelp}</span>
            <WidthChoice
              width={width}
              set={(chosen) =>
                void navigate({
                  replace: true,
                  search: ({ width: _, ...rest }) =>
                    chosen === 'phone' ? { ...rest, width: chosen } : rest,
                })
              }
            />
          </div>
          <MailFrame
            title={text.preview}
            width={width}
            src={`/ui/api/v1/email/${encodeURIComponent(refId)}/preview?${new URLSearchParams({ tenant: tenantId, ...ownerOf(recipient) })}`}
          />
          {attachments.length > 0 && (
            <ul className={classes.attachments}>
              {attachments.map(({ filename, type, size }, at) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: two may have the same name
                <li key={at}>
                  <strong>{filename}</strong> {type}, {format.bytes(size)}
                </li>
              ))}
            </ul>
          )}
        </>
      )}
    </WithContent>
  )
}

export function TextTab({
  refId,
  recipient,
}: {
  readonly refId: string
  readonly recipient: TracedRecipient
}) {
  const text = useWords(words)
  return (
    <WithContent refId={refId} recipient={recipient}>
      {({ parts }) => {
        const part = parts.find(({ type }) => type === 'text/plain')
        if (part === undefined || part.value === '') return <Empty title={text.noText} />
        return <Verbatim label={text.textPart} text={part.value} isPlain />
      }}
    </WithContent>
  )
}

interface Raw {
  readonly text: string
  readonly isCut: boolean
}

function useRaw(refId: string, email: string) {
  const { client, tenantId, may } = useTenant()
  return useQuery({
    queryKey: [tenantId, 'email', refId, 'raw', email],
    staleTime: Number.POSITIVE_INFINITY,
    enabled: may('getRawEmail'),
    queryFn: async ({ signal }): Promise<Raw> =>
      await readStart(await client.getRawEmail(refId, { email }, { signal })),
  })
}

async function readStart(stream: ReadableStream<Uint8Array>): Promise<Raw> {
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  for (const reader = stream.getReader(); ; ) {
    const { done, value } = await reader.read()
    if (done) return { text: text + decoder.decode(), isCut: false }
    const part = value.subarray(0, shownBytesMax - bytes)
    bytes += part.length
    text += decoder.decode(part, { stream: true })
    if (part.length < value.length) {
      await reader.cancel()
      return { text, isCut: true }
    }
  }
}

export function SourceTab({
  refId,
  recipient,
}: {
  readonly refId: string
  readonly recipient: TracedRecipient
}) {
  const text = useWords(words)
  const format = useFormat()
  const { client } = useTenant()
  const raw = useRaw(refId, recipient.email)
  const save = useMutation({
    mutationFn: () =>
      saveStream({
        name: `${refId}.eml`,
        open: () => client.getRawEmail(refId, { email: recipient.email }),
        onBytes: () => undefined,
        signal: AbortSignal.timeout(600_000),
      }),
    onError: tellFailed('save'),
  })
  if (isGone(raw.error)) return <ContentGone error={raw.error} />
  return (
    <Readable>
      <Answer query={raw}>
        {({ text: source, isCut }) => (
          <>
            <div className={classes.tools}>
              <span className={classes.quiet}>
                {text.sourceHelp} {isCut && text.sourceCut(format.bytes(shownBytesMax))}
              </span>
              <Button
                variant="default"
                size="xs"
                leftSection={<Download size={14} aria-hidden />}
                loading={save.isPending}
                onClick={() => save.mutate()}
              >
                {text.download}
              </Button>
            </div>
            <div className={classes.code}>
              <CodeBlock code={source} label={text.tabs.source} />
            </div>
          </>
        )}
      </Answer>
    </Readable>
  )
}

export function HeadersTab({
  refId,
  recipient,
}: {
  readonly refId: string
  readonly recipient: TracedRecipient
}) {
  const text = useWords(words)
  const raw = useRaw(refId, recipient.email)
  if (isGone(raw.error)) return <ContentGone error={raw.error} />
  return (
    <Readable>
      <Answer query={raw}>
        {({ text: source }) => (
          <DataTable
            label={text.tabs.headers}
            rows={readHeaders(source).map((field, at) => ({ ...field, at }))}
            rowKey={({ at }) => String(at)}
            columns={[
              {
                key: 'name',
                head: text.headerName,
                width: 'minmax(120px, 220px)',
                cell: ({ name }) => <code className={classes.wrap}>{name}</code>,
              },
              {
                key: 'value',
                head: text.value,
                cell: ({ value }) => <code className={classes.wrap}>{value}</code>,
              },
            ]}
          />
        )}
      </Answer>
    </Readable>
  )
}

export function LinksTab({
  refId,
  recipient,
}: {
  readonly refId: string
  readonly recipient: TracedRecipient
}) {
  const text = useWords(words)
  return (
    <WithContent refId={refId} recipient={recipient}>
      {({ parts }) => (
        <LinkTable
          html={parts.find(({ type }) => type === 'text/html')?.value ?? ''}
          recipient={recipient}
          label={text.tabs.links}
        />
      )}
    </WithContent>
  )
}

function LinkTable(o: {
  readonly html: string
  readonly recipient: TracedRecipient
  readonly label: string
}) {
  const text = useWords(words)
  const format = useFormat()
  const links = useMemo(() => findLinks(o.html), [o.html])
  const clicks = o.recipient.hits.filter(({ kind, bot }) => kind === 'click' && !bot)
  if (links.length === 0) return <Empty title={text.noLinks}>{text.noLinksHelp}</Empty>
  return (
    <DataTable
      label={o.label}
      rows={links.map((link, at) => ({ ...link, at }))}
      rowKey={({ at }) => String(at)}
      columns={[
        {
          key: 'text',
          head: text.shownAs,
          width: 'minmax(0, 1fr)',
          isTitle: true,
          cell: ({ text: shown, lies }) => (
            <span className={classes.wrap}>
              {shown === '' ? '–' : shown} {lies && <StateMark tone="warn">{text.lies}</StateMark>}
            </span>
          ),
        },
        {
          key: 'href',
          head: text.link,
          width: 'minmax(0, 2fr)',
          cell: ({ href }) => <Copyable value={href} />,
        },
        {
          key: 'clicks',
          head: text.clicks,
          width: '72px',
          align: 'end',
          cell: ({ href }) => format.integer(clicks.filter(({ url }) => url === href).length),
        },
      ]}
    />
  )
}
