/** A button of an operation. Who may not call it, or not now, sees why. */
import type { OperationId } from '@postrider/client'
import type { ComponentProps } from 'react'
import { Button } from '../ui/controls.ts'
import { Hint } from '../ui/hint.tsx'
import { useWords } from '../words/define-words.ts'
import { useTenant } from './use-tenant.ts'
import { words } from './words.ts'

export function ActionButton({
  operation,
  reason,
  ...button
}: Omit<ComponentProps<typeof Button<'button'>>, 'component'> & {
  readonly operation: OperationId
  /** Why it cannot be done now, by whoever may. */
  readonly reason?: string | undefined
}) {
  const text = useWords(words)
  const { may, isLooking } = useTenant()
  if (may(operation) && reason === undefined)
    return <Button {...button} data-operation={operation} />
  return (
    <Hint label={may(operation) ? reason : isLooking ? text.actFirst : text.notForRole}>
      {/* Not `disabled`: keys must reach the reason. */}
      <Button
        {...button}
        data-operation={operation}
        data-disabled
        aria-disabled
        onClick={(event) => event.preventDefault()}
      />
    </Hint>
  )
}

/** The same, small and quiet: in a row, or above a part of a screen. */
export function SmallAction(button: ComponentProps<typeof ActionButton>) {
  return <ActionButton size="xs" variant="default" {...button} />
}
