/** A button of an operation. Who may not call it sees why. */
import type { OperationId } from '@postrider/client'
import type { ComponentProps } from 'react'
import { Button } from '../ui/controls.ts'
import { Hint } from '../ui/hint.tsx'
import { useWords } from '../words/define-words.ts'
import { useTenant } from './use-tenant.ts'
import { words } from './words.ts'

export function ActionButton({
  operation,
  ...button
}: Omit<ComponentProps<typeof Button<'button'>>, 'component'> & {
  readonly operation: OperationId
}) {
  const text = useWords(words)
  const { may, isLooking } = useTenant()
  if (may(operation)) return <Button {...button} data-operation={operation} />
  return (
    <Hint label={isLooking ? text.actFirst : text.notForRole}>
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
