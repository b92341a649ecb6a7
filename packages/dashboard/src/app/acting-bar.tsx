/** An operator looks into a tenant, or acts for it: said above each page of the tenant. */
import { useParams } from '@tanstack/react-router'
import { actFor } from '../session/acting.ts'
import { useTenant } from '../session/use-tenant.ts'
import { Button } from '../ui/controls.ts'
import { useWords } from '../words/define-words.ts'
import classes from './acting-bar.module.css'
import { words } from './words.ts'

export function ActingBar() {
  const text = useWords(words)
  const { tenantId } = useParams({ strict: false })
  const { name, role, isLooking } = useTenant()
  if (tenantId === undefined || role !== 'operator') return null
  return (
    <div className={classes.bar} data-acting={!isLooking || undefined} role="status">
      <span>
        <strong>{isLooking ? text.lookingIn(name) : text.actingFor(name)}</strong>
        {isLooking && <span className={classes.help}>{text.lookingHelp}</span>}
      </span>
      <Button size="xs" variant="default" onClick={() => actFor(isLooking ? tenantId : undefined)}>
        {isLooking ? text.actFor : text.stopActing}
      </Button>
    </div>
  )
}
