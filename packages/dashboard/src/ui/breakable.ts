/** Where a long word goes on in the next line. */
import { createElement, Fragment, type ReactNode } from 'react'

const wordBreak = createElement('wbr')

/** An address goes on in the next line at its `@`, a name such as `MAIL_DELIVERED` between its words. */
export function breakable(content: ReactNode): ReactNode {
  if (typeof content !== 'string') return content
  const parts = content.split(/(?=@)|(?<=[_/])/)
  return createElement(
    Fragment,
    null,
    ...parts.flatMap((one, at) => (at === 0 ? [one] : [wordBreak, one])),
  )
}
