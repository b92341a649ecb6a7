/** Words of a server or of a mail, as they came: only ever text, untranslated, in the fixed font. */
import classes from './verbatim.module.css'

export function Verbatim(o: {
  readonly label: string
  readonly text: string
  /** Without a ground: it fills its part of the page. */
  readonly isPlain?: boolean
  /** One of several of the same label, and so no landmark of the page. */
  readonly isRepeated?: boolean
}) {
  const name = { role: o.isRepeated === true ? 'group' : 'region', 'aria-label': o.label } as const
  return (
    <pre className={classes.text} data-plain={o.isPlain || undefined} {...name} tabIndex={0}>
      {o.text}
    </pre>
  )
}
