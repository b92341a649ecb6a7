/** Which tenant is looked at, and the way to another. */
import { Link, useParams } from '@tanstack/react-router'
import { ChevronsUpDown } from 'lucide-react'
import { isOperator, useSession } from '../session/session.ts'
import { useTenant } from '../session/use-tenant.ts'
import { Menu } from '../ui/controls.ts'
import { useWords } from '../words/define-words.ts'
import classes from './tenant-switch.module.css'
import { words } from './words.ts'

export function TenantSwitch() {
  const text = useWords(words)
  const session = useSession()
  const { tenantId } = useParams({ strict: false })
  const tenant = useTenant()
  if (tenantId === undefined && session.tenants.length === 0) return null
  const name = tenantId === undefined ? text.allTenants : tenant.name
  return (
    <Menu position="bottom-start" width={220}>
      <Menu.Target>
        <button
          type="button"
          className={classes.switch}
          aria-label={`${text.switchTenant}: ${name}`}
        >
          <span className={classes.name}>{name}</span>
          <ChevronsUpDown size={14} aria-hidden />
        </button>
      </Menu.Target>
      <Menu.Dropdown>
        {session.tenants.map(({ tenant_id, name: own }) => (
          <Menu.Item
            key={tenant_id}
            renderRoot={(props) => (
              <Link to="/t/$tenantId" params={{ tenantId: tenant_id }} {...props} />
            )}
          >
            {own}
          </Menu.Item>
        ))}
        {isOperator(session) && (
          <Menu.Item component={Link} to="/operator">
            {text.allTenants}
          </Menu.Item>
        )}
      </Menu.Dropdown>
    </Menu>
  )
}
