/** A received message: where it came, what became of it, and its bytes as text. */
import type { InboundMessage } from '@postrider/client'
import { useMutation, useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { SmallAction } from '../session/action-button.tsx'
import { useTenant } from '../session/use-tenant.ts'
import { Answer, Failure } from '../ui/answers.tsx'
import { CodeBlock, Copyable } from '../ui/copy.tsx'
import { Card, Fields, Page } from '../ui/page.tsx'
import { saveFile } from '../ui/save-file.ts'
import { Time } from '../ui/time.tsx'
import { useWords } from '../words/define-words.ts'
import { useFormat } from '../words/format.ts'
import { words } from './words.ts'

/** Of a raw message, that are shown. */
const shownBytesMax = 200_000

export function MessagePage() {
  const { tenantId, client } = useTenant()
  const { inboundId } = useParams({ from: '/shell/t/$tenantId/inbound/messages/$inboundId' })
  const message = useQuery({
    queryKey: [tenantId, 'inbound-message', inboundId],
    queryFn: async ({ signal }) =>
      (await client.getInboundMessage(inboundId, { signal })).inbound_message,
  })
  return <Answer query={message}>{(found) => <Found message={found} />}</Answer>
}

function Found({ message }: { readonly message: InboundMessage }) {
  const text = useWords(words)
  const format = useFormat()
  const { tenantId } = useTenant()
  return (
    <Page
      title={text.message}
      trail={
        <Link to="/t/$tenantId/inbound" params={{ tenantId }}>
          {text.inbound}
        </Link>
      }
    >
      <Card>
        <Fields
          entries={[
            [text.id, <Copyable value={message.inbound_id} />],
            [text.to, message.domain ?? text.mailbox],
            message.domain === null
              ? [text.folder, message.folder ?? '']
              : [text.username, message.username ?? text.wholeDomain],
            [text.size, format.bytes(message.bytes)],
            [text.received, <Time at={message.received_at} isExact />],
            [text.reported, <Time at={message.reported_at} isExact />],
            message.problem === null ? undefined : [text.problem, message.problem],
          ]}
        />
      </Card>
      <Raw message={message} />
    </Page>
  )
}

function Raw({ message }: { readonly message: InboundMessage }) {
  const text = useWords(words)
  const format = useFormat()
  const { client, may } = useTenant()
  const raw = useMutation({
    async mutationFn() {
      const parts: Uint8Array<ArrayBuffer>[] = []
      for await (const part of await client.getRawInboundMessage(message.inbound_id))
        parts.push(new Uint8Array(part))
      return parts
    },
  })
  if (!may('getRawInboundMessage')) {
    return (
      <Card title={text.raw}>
        <p>{text.contentClosed}</p>
      </Card>
    )
  }
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
      {raw.error ? <Failure error={raw.error} /> : null}
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
