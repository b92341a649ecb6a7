/** Headers that go with each request of a webhook. Their values are secrets: they are typed, and never shown again. */
import { Plus, X } from 'lucide-react'
import { ActionIcon, Button, TextInput } from '../ui/controls.ts'
import { useWords } from '../words/define-words.ts'
import classes from './header-fields.module.css'
import { words } from './words.ts'

export interface Header {
  readonly name: string
  readonly value: string
}

export function readHeaders(headers: readonly Header[]): Record<string, string> {
  return Object.fromEntries(headers.map(({ name, value }) => [name.trim(), value]))
}

export function HeaderFields({
  headers,
  onChange,
  present,
}: {
  readonly headers: readonly Header[]
  readonly onChange: (headers: readonly Header[]) => void
  /** Names of those that are stored: new ones replace them. */
  readonly present: readonly string[]
}) {
  const text = useWords(words)
  const change = (at: number, part: Partial<Header>) =>
    onChange(headers.map((header, index) => (index === at ? { ...header, ...part } : header)))
  return (
    <fieldset className={classes.headers}>
      <legend>{text.headers}</legend>
      {present.length > 0 && <p>{text.keepHeaders(present.join(', '))}</p>}
      {headers.map(({ name, value }, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a line is its place
        <div key={at} className={classes.header}>
          <TextInput
            aria-label={text.headerName}
            placeholder="X-Webhook-Secret"
            required
            value={name}
            onChange={(event) => change(at, { name: event.currentTarget.value })}
          />
          <TextInput
            aria-label={text.headerValue}
            required
            value={value}
            onChange={(event) => change(at, { value: event.currentTarget.value })}
          />
          <ActionIcon
            variant="subtle"
            color="gray"
            aria-label={text.removeHeader}
            onClick={() => onChange(headers.filter((_, index) => index !== at))}
          >
            <X size={14} aria-hidden />
          </ActionIcon>
        </div>
      ))}
      <Button
        variant="default"
        size="xs"
        leftSection={<Plus size={14} aria-hidden />}
        onClick={() => onChange([...headers, { name: '', value: '' }])}
      >
        {text.addHeader}
      </Button>
    </fieldset>
  )
}
