/** A short note on focus and under the pointer. */
import { Tooltip } from '@mantine/core'
import type { ReactElement, ReactNode } from 'react'

export function Hint({
  label,
  children,
}: {
  readonly label: ReactNode
  readonly children: ReactElement
}) {
  return (
    <Tooltip label={label} events={{ hover: true, focus: true, touch: true }} maw={360}>
      {children}
    </Tooltip>
  )
}
