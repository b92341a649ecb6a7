/** Mail as a page in a frame that runs and loads nothing, as wide as on a desk or on a phone. */
import { SegmentedControl } from '@mantine/core'
import { Monitor, Smartphone } from 'lucide-react'
import { type ReactNode, useEffect, useId, useRef } from 'react'
import { useWords } from '../words/define-words.ts'
import classes from './mail-frame.module.css'
import { words } from './words.ts'

export type MailWidth = 'desktop' | 'phone'

const icons = { desktop: Monitor, phone: Smartphone }

/** What is said of the mail, and beside it the choice. */
export function WidthChoice(o: {
  readonly width: MailWidth
  readonly set: (width: MailWidth) => void
}) {
  const text = useWords(words)
  return (
    <SegmentedControl
      aria-label={text.width}
      value={o.width}
      onChange={(width) => o.set(width === 'phone' ? 'phone' : 'desktop')}
      data={(['desktop', 'phone'] as const).map((value) => {
        const Icon = icons[value]
        return {
          value,
          label: (
            <span className={classes.choice}>
              <Icon size={14} aria-hidden /> {text.widths[value]}
            </span>
          ),
        }
      })}
    />
  )
}

interface FrameOptions {
  readonly title: string
  readonly width: MailWidth
}

function Stage({ children }: { readonly children: ReactNode }) {
  return <div className={classes.stage}>{children}</div>
}

export function MailFrame({ title, width, src }: FrameOptions & { readonly src: string }) {
  return (
    <Stage>
      <iframe
        className={classes.frame}
        data-phone={width === 'phone' || undefined}
        title={title}
        sandbox=""
        src={src}
      />
    </Stage>
  )
}

/**
 * The frame shows what the service answers to a form. It is no frame with the HTML in it, as that would have the
 * policy of this page, and not one of its own.
 */
export function PostedMailFrame(
  o: FrameOptions & {
    readonly action: string
    /** As JSON, in the field `draft`. */
    readonly draft: unknown
  },
) {
  const name = useId()
  const form = useRef<HTMLFormElement>(null)
  const json = JSON.stringify(o.draft)
  // biome-ignore lint/correctness/useExhaustiveDependencies: each draft is posted once
  useEffect(() => form.current?.submit(), [json, o.action])
  return (
    <Stage>
      <form ref={form} hidden method="post" encType="text/plain" action={o.action} target={name}>
        <input type="hidden" name="draft" value={json} readOnly />
      </form>
      <iframe
        className={classes.frame}
        data-phone={o.width === 'phone' || undefined}
        title={o.title}
        name={name}
        sandbox=""
      />
    </Stage>
  )
}
