/** What stands in place of an answer: nothing for a moment, then a skeleton; an error; nothing to show. */
import { Button, Skeleton, Tabs } from '@mantine/core'
import { PostriderError } from '@postrider/client'
import { OctagonAlert } from 'lucide-react'
import { type ReactNode, useEffect, useState } from 'react'
import { useWords } from '../words/define-words.ts'
import classes from './answers.module.css'
import { CodeBlock, Copyable } from './copy.tsx'
import { words } from './words.ts'

const skeletonAfterMs = 300

/** Lines of a skeleton, once it has taken long enough to be noticed. */
export function Waiting({ lines = 6 }: { readonly lines?: number }) {
  const text = useWords(words)
  const [isShown, setShown] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setShown(true), skeletonAfterMs)
    return () => clearTimeout(timer)
  }, [])
  return (
    <div className={classes.waiting} role="status" aria-label={text.loading}>
      {isShown &&
        Array.from({ length: lines }, (_, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: lines have nothing else
          <Skeleton key={at} height={14} width={`${92 - ((at * 17) % 40)}%`} radius="sm" />
        ))}
    </div>
  )
}

/** What was to be done. */
export type FailedWhat = keyof (typeof words)['en']['failed']

/** Why it failed, in the service's words, with the request's id. */
export function Failure({
  what = 'load',
  error,
  retry,
}: {
  readonly what?: FailedWhat
  readonly error: unknown
  readonly retry?: () => void
}) {
  const text = useWords(words)
  const failure = describeFailure(error, text.offline)
  return (
    <div className={classes.failure} role="alert">
      <OctagonAlert size={18} aria-hidden />
      <div>
        <strong>{text.failed[what]}</strong>
        <p>{failure.message}</p>
        {failure.fields.map(({ path, message }) => (
          <p key={`${path} ${message}`}>
            <code>{path}</code> {message}
          </p>
        ))}
        {failure.requestId !== undefined && (
          <p className={classes.request}>
            {text.requestId} <Copyable value={failure.requestId} />
          </p>
        )}
        {retry !== undefined && (
          <Button mt={8} size="xs" variant="default" onClick={retry}>
            {text.retry}
          </Button>
        )}
      </div>
    </div>
  )
}

export function describeFailure(error: unknown, offline: string) {
  if (!(error instanceof PostriderError))
    return { message: String(error), fields: [], requestId: undefined }
  const isOffline = error.status === 0 && error.code !== 'invalid_argument'
  return {
    message: isOffline ? offline : error.message,
    fields: error.errors ?? [],
    requestId: error.requestId,
  }
}

/** One of the three, or the answer. */
export function Answer<Data>(o: {
  readonly query: {
    readonly data: Data | undefined
    readonly error: unknown
    readonly refetch: () => unknown
  }
  readonly lines?: number
  readonly children: (data: Data) => ReactNode
}) {
  const { data, error, refetch } = o.query
  if (data !== undefined) return o.children(data)
  if (error) return <Failure error={error} retry={() => void refetch()} />
  return <Waiting {...(o.lines !== undefined && { lines: o.lines })} />
}

/** What this is for, one button, and the same by a program. */
export function Empty(o: {
  readonly title: string
  readonly children?: ReactNode
  readonly action?: ReactNode
  readonly curl?: string
  readonly typescript?: string
  /** What the lines need to work. */
  readonly note?: ReactNode
}) {
  const text = useWords(words)
  return (
    <div className={classes.empty}>
      <h2>{o.title}</h2>
      {o.children !== undefined && <div className={classes.about}>{o.children}</div>}
      {o.action !== undefined && <div className={classes.action}>{o.action}</div>}
      {o.note !== undefined && <div className={classes.about}>{o.note}</div>}
      {o.curl !== undefined && (
        <Tabs defaultValue="curl" className={classes.snippets}>
          <Tabs.List>
            <Tabs.Tab value="curl">{text.curl}</Tabs.Tab>
            {o.typescript !== undefined && (
              <Tabs.Tab value="typescript">{text.typescript}</Tabs.Tab>
            )}
          </Tabs.List>
          <Tabs.Panel value="curl" pt={8}>
            <CodeBlock code={o.curl} label={text.curl} />
          </Tabs.Panel>
          {o.typescript !== undefined && (
            <Tabs.Panel value="typescript" pt={8}>
              <CodeBlock code={o.typescript} label={text.typescript} />
            </Tabs.Panel>
          )}
        </Tabs>
      )}
    </div>
  )
}
