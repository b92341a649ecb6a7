/** What can be copied: an id, an address, a block of code. */
import { useClipboard } from '@mantine/hooks'
import { Check, Copy as CopyIcon } from 'lucide-react'
import type { ReactNode } from 'react'
import { useWords } from '../words/define-words.ts'
import classes from './copy.module.css'
import { words } from './words.ts'

export function CopyButton({ value, label }: { readonly value: string; readonly label?: string }) {
  const text = useWords(words)
  const clipboard = useClipboard({ timeout: 1_500 })
  const name = clipboard.copied ? text.copied : (label ?? text.copy)
  return (
    <button
      type="button"
      className={classes.button}
      aria-label={name}
      title={name}
      onClick={(event) => {
        event.stopPropagation()
        event.preventDefault()
        clipboard.copy(value)
      }}
    >
      {clipboard.copied ? <Check size={13} aria-hidden /> : <CopyIcon size={13} aria-hidden />}
      <span className={classes.said} role="status">
        {clipboard.copied ? text.copied : ''}
      </span>
    </button>
  )
}

/** Text in the fixed font with a button beside it. `children`: what is shown in place of the value. */
export function Copyable({
  value,
  children,
}: {
  readonly value: string
  readonly children?: ReactNode
}) {
  return (
    <span className={classes.copyable}>
      <code title={value}>{children ?? value}</code>
      <CopyButton value={value} />
    </span>
  )
}

export function CodeBlock({ code, label }: { readonly code: string; readonly label?: string }) {
  const text = useWords(words)
  return (
    <div className={classes.block}>
      <pre tabIndex={0} role="region" aria-label={label ?? text.code}>
        {code}
      </pre>
      <CopyButton value={code} />
    </div>
  )
}
