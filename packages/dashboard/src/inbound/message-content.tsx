/** What a received message says. It is somebody else's: text as text, HTML in a frame that runs nothing. */
import { type InboundMessage, PostriderError } from '@postrider/client'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { SmallAction } from '../session/action-button.tsx'
import { useTenant } from '../session/use-tenant.ts'
import { Empty, Failure, Waiting } from '../ui/answers.tsx'
import { CodeBlock } from '../ui/copy.tsx'
import { DataTable } from '../ui/data-table.tsx'
import { MailFrame, type MailWidth, WidthChoice } from '../ui/mail-frame.tsx'
import { Card } from '../ui/page.tsx'
import { saveFile } from '../ui/save-file.ts'
import { saveStream } from '../ui/save-stream.ts'
import { StateMark } from '../ui/state-mark.tsx'
import { tellFailed } from '../ui/toast.ts'
import { useWords } from '../words/define-words.ts'
import { useFormat } from '../words/format.ts'
import { authenticationOf, type ReceivedMail } from './authentication.ts'
import { words } from './words.ts'

/** Of a raw message, that are shown. */
const shownBytesMax = 200_000
const saveMs = 600_000

export function Authentication({ mail }: { readonly mail: ReceivedMail }) {
  const text = useWords(words)
  return (
    <Card title={text.authentication} note={text.authenticationNote} isFlush>
      <DataTable
        label={text.authentication}
        rows={authenticationOf(mail).map((row, at) => ({ ...row, at }))}
        rowKey={({ at }) => String(at)}
        columns={[
          { key: 'method', head: text.method, width: '90px', isTitle: true, cell: (o) => o.method },
          {
            key: 'result',
            head: text.result,
            width: '150px',
            cell: ({ tone, result }) => <StateMark tone={tone}>{result}</StateMark>,
          },
          {
            key: 'domain',
            head: text.domain,
            cell: ({ domain, selector }) =>
              domain === undefined ? (
                '–'
              ) : (
                <code>{selector === undefined ? domain : `${selector}._domainkey.${domain}`}</code>
              ),
          },
          {
            key: 'said',
            head: text.said,
            width: 'minmax(0, 1.6fr)',
            isWrapped: true,
            cell: ({ explanation, policy, isPartial }) =>
              [
                isPartial ? text.partial : undefined,
                policy === undefined ? undefined : text.policy(policy),
                explanation,
              ]
                .filter((one) => one !== undefined)
                .join(' · ') || '–',
          },
        ]}
      />
    </Card>
  )
}

export function Attachments(o: {
  readonly inboundId: string
  readonly attachments: ReceivedMail['attachments']
}) {
  const text = useWords(words)
  const format = useFormat()
  const { client } = useTenant()
  const save = useMutation({
    mutationFn: ({ at, filename }: { readonly at: number; readonly filename: string }) =>
      saveStream({
        name: filename === '' ? `attachment-${at}` : filename,
        open: () => client.getInboundAttachment(o.inboundId, at),
        onBytes: () => undefined,
        signal: AbortSignal.timeout(saveMs),
      }),
    onError: tellFailed('save'),
  })
  if (o.attachments.length === 0) return null
  return (
    <Card title={text.attachments} note={text.attachmentsNote} isFlush>
      <DataTable
        label={text.attachments}
        rows={o.attachments.map(({ filename, type, size }, at) => ({ filename, type, size, at }))}
        rowKey={({ at }) => String(at)}
        columns={[
          {
            key: 'name',
            head: text.fileName,
            width: 'minmax(0, 2fr)',
            isTitle: true,
            cell: ({ filename }) => (filename === '' ? text.noFileName : filename),
          },
          { key: 'type', head: text.fileType, cell: ({ type }) => <code>{type}</code> },
          {
            key: 'size',
            head: text.size,
            width: '100px',
            align: 'end',
            cell: ({ size }) => format.bytes(size),
          },
          {
            key: 'save',
            head: '',
            width: '150px',
            align: 'end',
            cell: ({ at, filename }) => (
              <SmallAction
                operation="getInboundAttachment"
                loading={save.isPending && save.variables.at === at}
                onClick={() => save.mutate({ at, filename })}
              >
                {text.save}
              </SmallAction>
            ),
          },
        ]}
      />
    </Card>
  )
}

export function Preview({ inboundId }: { readonly inboundId: string }) {
  const text = useWords(words)
  const { tenantId } = useTenant()
  const [width, setWidth] = useState<MailWidth>('desktop')
  const kept = useKept(inboundId)
  const query = new URLSearchParams({ tenant: tenantId })
  return (
    <Card
      title={text.preview}
      note={text.previewNote}
      actions={<WidthChoice width={width} set={setWidth} />}
      isFlush
    >
      {kept.error ? (
        <NotLoaded error={kept.error} />
      ) : kept.data === undefined ? (
        <Waiting />
      ) : (
        <MailFrame
          title={text.preview}
          width={width}
          src={`/ui/api/v1/inbound/messages/${encodeURIComponent(inboundId)}/preview?${query}`}
        />
      )}
    </Card>
  )
}

/** Whether its bytes are still there: no page is told what a frame was answered. Nothing of them is read. */
function useKept(inboundId: string) {
  const { tenantId, client } = useTenant()
  return useQuery({
    queryKey: [tenantId, 'inbound-message', inboundId, 'kept'],
    staleTime: Number.POSITIVE_INFINITY,
    async queryFn({ signal }) {
      for await (const _ of await client.getRawInboundMessage(inboundId, { signal })) break
      return true
    },
  })
}

/** The record of a message stays for longer than its bytes. */
function NotLoaded({ error }: { readonly error: Error }) {
  const text = useWords(words)
  if (error instanceof PostriderError && error.code === 'content_removed')
    return <Empty title={text.contentGone}>{text.contentGoneHelp}</Empty>
  return <Failure error={error} />
}

export function Raw({ message }: { readonly message: InboundMessage }) {
  const text = useWords(words)
  const format = useFormat()
  const { client } = useTenant()
  const raw = useMutation({
    async mutationFn() {
      const parts: Uint8Array<ArrayBuffer>[] = []
      for await (const part of await client.getRawInboundMessage(message.inbound_id))
        parts.push(new Uint8Array(part))
      return parts
    },
  })
  return (
    <Card
      title={text.raw}
      actions={
        <>
          <SmallAction
            operation="getRawInboundMessage"
            loading={raw.isPending}
            onClick={() => raw.mutate()}
          >
            {text.loadRaw}
          </SmallAction>
          {raw.data !== undefined && (
            <SmallAction
              operation="getRawInboundMessage"
              onClick={() => saveFile(`${message.inbound_id}.eml`, raw.data, 'message/rfc822')}
            >
              {text.save}
            </SmallAction>
          )}
        </>
      }
    >
      {raw.data === undefined && <p>{text.rawHelp}</p>}
      {raw.error ? <NotLoaded error={raw.error} /> : null}
      {raw.data !== undefined && (
        <>
          {message.bytes > shownBytesMax && <p>{text.tooLarge(format.bytes(message.bytes))}</p>}
          <CodeBlock code={beginningOf(raw.data)} label={text.raw} />
        </>
      )}
    </Card>
  )
}

/** As text: other bytes than those of UTF-8 show as a mark. */
function beginningOf(parts: readonly Uint8Array<ArrayBuffer>[]): string {
  const decoder = new TextDecoder()
  let shown = ''
  for (const part of parts) {
    shown += decoder.decode(part, { stream: true })
    if (shown.length >= shownBytesMax) break
  }
  return shown.slice(0, shownBytesMax)
}
